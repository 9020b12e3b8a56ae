"""Reports in a real browser, without a network: they load cleanly, answer the mouse, show the numbers of the JSON."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from playwright.sync_api import Browser, Locator, Page

import l2s_plugin as l2s
from heuristics import Result, tabu_search
from heuristics.hosts.dispatching import dispatch
from integrations.cli import l2s as command_line
from integrations.report import save_bench_report, save_report
from l2s_plugin.stop import steps
from tests.browser import chromium
from tests.integrations.test_report import HOSTILE, embedded, renamed, slack

pytestmark = pytest.mark.xdist_group("browser")  # one is enough

PATIENCE = 120_000  # milliseconds; nothing here takes as long, even on a slow machine
PHONE, DESKTOP = 360, 1400


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as browser:
        yield browser


class Visit:
    """A page, and everything it asked for or complained about."""

    def __init__(self, browser: Browser, path: Path, width: int = DESKTOP) -> None:
        self.context = browser.new_context(offline=True, viewport={"width": width, "height": 1000})
        self.page: Page = self.context.new_page()
        self.page.set_default_timeout(PATIENCE)
        self.requests: list[str] = []
        self.complaints: list[str] = []
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.on("console", lambda message: self.complaints.append(message.text))
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.goto(path.as_uri())

    def __enter__(self) -> Visit:
        return self

    def __exit__(self, *_: object) -> None:
        self.context.close()

    def chart(self, name: str) -> Locator:
        """A chart, drawn."""
        chart = self.page.locator(f"#{name}")
        chart.scroll_into_view_if_needed()
        self.page.locator(f"#{name}[aria-busy=false]").wait_for()
        return chart

    def see_everything(self) -> None:
        """Open every view and wait for its charts."""
        for tab in self.page.locator("[role=tab]").all():
            tab.click()
            self.charts_in_view()
        self.charts_in_view()

    def charts_in_view(self) -> None:
        for chart in self.page.locator(".chart:visible").all():
            self.chart(str(chart.get_attribute("id")))


@pytest.fixture(scope="module")
def result() -> Result:
    return tabu_search(l2s.load("ft06"), stop=steps(200), seed=3)


@pytest.fixture(scope="module")
def report(result: Result, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("report") / "ft06.html"
    save_report([result, result], path, command="l2s solve ft06 --seed 3")
    return path


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Any]:
    """The report of a small benchmark and what `--json` printed."""
    path = tmp_path_factory.mktemp("bench") / "bench.html"
    words = ["bench", "ft06", "la:10x5", "--steps", "5,50", "--seeds", "2", "--method", "tabu", "--method", "dispatch"]
    run = CliRunner().invoke(command_line, [*words, "--json", "--report", str(path)])
    assert run.exit_code == 0, run.output
    return path, json.loads(run.stdout)


@pytest.mark.parametrize("width", [PHONE, DESKTOP])
@pytest.mark.parametrize("kind", ["report", "bench"])
def test_pages_load_without_complaints_without_a_network_and_fit_the_screen(
    browser: Browser, kind: str, width: int, request: pytest.FixtureRequest
) -> None:
    found = request.getfixturevalue(kind)
    path = found if kind == "report" else found[0]
    with Visit(browser, path, width) as visit:
        visit.see_everything()
        assert visit.complaints == []
        assert {url.partition(":")[0] for url in visit.requests} <= {"file", "data", "blob"}
        assert [url for url in visit.requests if url.startswith("file:")] == [path.as_uri()]
        assert visit.page.evaluate("document.documentElement.scrollWidth") <= width


def test_a_request_would_be_noticed(browser: Browser, tmp_path: Path) -> None:
    (tmp_path / "bad.html").write_text('<script src="http://example.org/a.js"></script>')
    with Visit(browser, tmp_path / "bad.html") as visit:
        assert visit.requests[1:] == ["http://example.org/a.js"]
        assert visit.complaints


@pytest.mark.parametrize(("view", "row"), [("machine_view-0", "machine"), ("job_view-0", "job")])
def test_hovering_an_operation_shows_it(browser: Browser, report: Path, result: Result, view: str, row: str) -> None:
    schedule = result.schedule
    late = slack(schedule)
    with Visit(browser, report) as visit:
        if row == "job":
            visit.page.get_by_role("tab", name="jobs").first.click()
        chart = visit.chart(view)
        bars = chart.locator(".bars .point path")
        assert bars.count() == 36
        lefts, starts, slacks = [], [], []
        for number in (0, 11, 23, 35):
            bar = bars.nth(number)
            box = bar.bounding_box()
            assert box is not None
            text = hover(visit.page, chart, box)
            job, index, machine, start, end, duration, slack_shown = map(int, re.findall(r"\d+", text))
            x = int(result.instance.job_offset[job]) + index
            assert machine == result.instance.machine[x]
            assert (start, end) == (schedule.start[x], schedule.end[x])
            assert duration == result.instance.duration[x]
            assert slack_shown == late[x]
            lefts.append(box["x"])
            starts.append(start)
            slacks.append(slack_shown)
        assert min(slacks) == 0 < max(slacks)  # critical ones and others
        scale = np.polyfit(starts, lefts, 1)
        assert np.abs(np.polyval(scale, starts) - lefts).max() < 2  # pixels: bars lie where their times are


def hover(page: Page, chart: Locator, box: Any) -> str:
    """What the label says while the mouse is in the middle of a bar."""
    page.mouse.move(5, 5)
    chart.locator(".hoverlayer .hovertext").wait_for(state="detached")
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    label = chart.locator(".hoverlayer .hovertext")
    label.wait_for()
    return " ".join(label.locator("tspan.line").all_text_contents())


def test_dragging_zooms_into_the_schedule(browser: Browser, report: Path, result: Result) -> None:
    with Visit(browser, report) as visit:
        chart = visit.chart("machine_view-0")
        area = chart.locator(".nsewdrag").bounding_box()
        assert area is not None
        end = "document.getElementById('machine_view-0').layout.xaxis.range[1]"
        assert visit.page.evaluate(end) >= result.makespan
        middle = area["y"] + area["height"] / 2
        visit.page.mouse.move(area["x"] + 0.2 * area["width"], middle)
        visit.page.mouse.down()
        visit.page.mouse.move(area["x"] + 0.5 * area["width"], middle, steps=5)
        visit.page.mouse.up()
        visit.page.wait_for_function(f"{end} < {0.6 * result.makespan}")


def test_charts_can_be_saved_as_pictures_and_sent_nowhere(browser: Browser, report: Path) -> None:
    with Visit(browser, report) as visit:
        buttons = visit.chart("machine_view-0").locator(".modebar-btn")
        names = [str(button.get_attribute("data-title")) for button in buttons.all()]
        assert names == ["Zoom", "Pan", "Zoom in", "Zoom out", "Reset axes", "Download plot as a PNG"]
        with visit.page.expect_download() as download:
            buttons.last.click()
        assert Path(download.value.path()).read_bytes().startswith(b"\x89PNG")
        assert visit.complaints == []


def test_the_page_shows_the_numbers_of_the_json(browser: Browser, report: Path, result: Result) -> None:
    printed = json.loads(result.to_json())
    with Visit(browser, report) as visit:
        data = json.loads(visit.page.locator("#data").text_content() or "")
        assert {name: data["results"][0][name] for name in printed} == printed
        section = visit.page.locator("#result-0")
        for field in (
            "makespan",
            "lower_bound",
            "bound_source",
            "upper_bound",
            "status",
            "method",
            "selector",
            "neighbourhood",
            "gear",
        ):
            assert section.locator(f"[data-field={field}]").inner_text() == str(printed[field])
        for field, factor, accuracy in (("gap", 100, 0.006), ("seconds", 1, 0.006), ("time_to_best", 1, 0.006)):
            shown = section.locator(f"[data-field={field}]").inner_text()
            assert float(shown.split()[0]) == pytest.approx(factor * printed[field], abs=accuracy)
        assert int(section.locator("[data-field=steps]").inner_text().replace(",", "")) == printed["steps"]
        assert visit.page.locator("#command").inner_text() == "l2s solve ft06 --seed 3"
        assert visit.page.title() == "2 schedules"


def test_bench_tables_show_the_numbers_of_the_json(browser: Browser, bench: tuple[Path, Any]) -> None:
    path, printed = bench
    assert embedded(path)["table"] == printed["table"]
    shown: dict[tuple[str, str], str] = {}
    with Visit(browser, path) as visit:
        for table in visit.page.locator("table.comparison").all():
            head, *lines = [line.locator("th, td").all_inner_texts() for line in table.locator("tr").all()]
            for line in lines:
                for group, gap in zip(head[1:-3], line[1:-3], strict=True):
                    if gap:
                        shown[line[0], group] = gap
    assert len(shown) == len(printed["table"])
    for row in printed["table"]:
        budget = row.get("budget", "-")
        method = row["method"] if budget == "-" else f"{row['method']} {budget}"
        mean, _, error = shown[method, row["group"]].partition(" ± ")
        assert float(mean) == row["gap %"]
        assert (float(error) if error else None) == row.get("s.e.")


def test_bench_curves_of_each_group_can_be_chosen(browser: Browser, bench: tuple[Path, Any]) -> None:
    with Visit(browser, bench[0]) as visit:
        assert visit.page.locator("select option").all_inner_texts() == ["all groups", "ft-6x6", "la-10x5"]
        visit.page.locator("select").select_option("la-10x5")
        visit.charts_in_view()
        assert visit.page.locator(".chart:visible").get_attribute("aria-label") == "mean gap over steps, la-10x5"


def test_names_from_outside_are_shown_and_not_run(browser: Browser, result: Result, tmp_path: Path) -> None:
    save_report([renamed(result, HOSTILE)], tmp_path / "a.html", command=HOSTILE)
    with Visit(browser, tmp_path / "a.html") as visit:
        visit.see_everything()
        assert visit.page.evaluate("window.hacked") is None
        assert HOSTILE in visit.page.title()
        assert visit.page.locator("#command").inner_text() == HOSTILE
        assert visit.complaints == []


def test_names_in_a_benchmark_are_shown_and_not_run(browser: Browser, bench: tuple[Path, Any], tmp_path: Path) -> None:
    names = {"group": HOSTILE, "label": HOSTILE, "method": HOSTILE, "source": HOSTILE}
    printed = bench[1] | {"command": [HOSTILE]}
    for part in ("table", "cells"):
        printed[part] = [row | {key: name for key, name in names.items() if key in row} for row in printed[part]]
    save_bench_report(printed, tmp_path / "a.html")
    with Visit(browser, tmp_path / "a.html") as visit:
        visit.see_everything()
        assert visit.page.evaluate("window.hacked") is None
        assert HOSTILE in visit.page.title()
        assert visit.page.locator(".legendtext").text_content() == HOSTILE
        assert visit.complaints == []


def test_all_operations_of_a_large_schedule_are_drawn(browser: Browser, tmp_path: Path) -> None:
    schedule = dispatch(l2s.load("ta71"), "mwkr")
    save_report([Result(schedule=schedule, lower_bound=1, method="dispatch")], tmp_path / "large.html")
    with Visit(browser, tmp_path / "large.html") as visit:
        assert visit.chart("machine_view-0").locator(".bars .point").count() == 2000
        assert visit.complaints == []
