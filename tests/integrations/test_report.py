"""The HTML report holds the numbers of its results, whatever their names, and is written whole or not at all."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from dataclasses import replace
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path
from typing import Any

import networkx
import numpy as np
import pytest
from hypothesis import given, settings

import l2s_plugin as l2s
from heuristics import Result, tabu_search
from heuristics.hosts.dispatching import dispatch
from integrations.report import check_report, save_report
from integrations.report.charts import convergence, details, gantt, utilisation
from l2s_plugin.errors import L2SError, MissingExtraError
from l2s_plugin.instance import Instance
from l2s_plugin.schedule import Schedule
from l2s_plugin.stop import steps
from tests.strategies import solutions

HOSTILE = '</script><script>window.hacked = 1</script><img src=x onerror="window.hacked = 1">&amp;'


@pytest.fixture(scope="module")
def result() -> Result:
    return tabu_search(l2s.load("la20"), stop=steps(500), seed=4)


def embedded(path: Path, name: str = "data") -> Any:
    """The JSON of a script element of the page."""
    found = re.findall(rf'<script type="application/json" id="{name}">(.*?)</script>', path.read_text(), re.DOTALL)
    assert len(found) == 1
    return json.loads(found[0])


def renamed(result: Result, name: str) -> Result:
    """The same result, with everything called `name` that can be."""
    schedule = replace(result.schedule, instance=replace(result.instance, name=name))
    return replace(result, schedule=schedule, method=name, selector=name, neighbourhood=name)


def slack(schedule: Schedule) -> list[int]:
    """How much later each operation can start, from longest paths in a graph built here."""
    instance, graph = schedule.instance, networkx.DiGraph()
    graph.add_nodes_from(range(instance.n_operations))
    for row in [*schedule.machine_orders, *np.split(np.arange(instance.n_operations), instance.job_offset[1:-1])]:
        graph.add_edges_from((int(a), int(b)) for a, b in pairwise(row))
    tail = np.zeros(instance.n_operations, int)
    for x in reversed(list(networkx.topological_sort(graph))):
        tail[x] = instance.duration[x] + max((tail[y] for y in graph.successors(x)), default=0)
    return (schedule.makespan - tail - schedule.start).tolist()


def test_the_numbers_are_those_of_the_json_output(result: Result, tmp_path: Path) -> None:
    save_report([result, result], tmp_path / "a.html", command="l2s solve la20")
    data = embedded(tmp_path / "a.html")
    printed = json.loads(result.to_json())
    assert data["command"] == "l2s solve la20"
    assert [{name: shown[name] for name in printed} for shown in data["results"]] == [printed, printed]
    schedule = Schedule.from_dict(result.instance, data["results"][0]["schedule"])
    assert schedule.start.tolist() == result.schedule.start.tolist()


@settings(deadline=None, max_examples=40)
@given(solutions())
def test_every_operation_is_drawn_once_with_its_details(solution: tuple[Instance, Any]) -> None:
    schedule = Schedule.from_order(*solution)
    instance = schedule.instance
    late = slack(schedule)
    expected = sorted(
        [job, x - instance.job_offset[job], machine, start, start + duration, duration, late[x]]
        for x, (job, machine, start, duration) in enumerate(
            zip(
                instance.job.tolist(),
                instance.machine.tolist(),
                schedule.start.tolist(),
                instance.duration.tolist(),
                strict=True,
            )
        )
    )
    assert sorted(details(schedule).tolist()) == expected
    for by, row in (("machine", 2), ("job", 0)):
        figure = gantt(schedule, by)  # type: ignore[arg-type]
        assert len(figure.data) <= 4
        drawn = []
        for trace in figure.data:
            for at, operation in zip(trace.y, trace.customdata or (), strict=False):
                assert at == operation[row]
                drawn.append(list(operation))
            if trace.type == "bar":
                assert list(trace.base) == [operation[3] for operation in trace.customdata]
                assert list(trace.x) == [operation[5] for operation in trace.customdata]
                outlined = trace.marker.line.width > 1
                assert all((operation[6] == 0) == outlined for operation in trace.customdata)
        assert sorted(drawn) == expected


def test_lines_follow_a_critical_path_from_row_to_row(result: Result) -> None:
    schedule = result.schedule
    (line,) = [trace for trace in gantt(schedule, "machine").data if trace.type == "scatter"]
    critical = [x for x, late in enumerate(slack(schedule)) if late == 0]
    ends = {(schedule.end[x], schedule.instance.machine[x]) for x in critical}
    starts = {(schedule.start[x], schedule.instance.machine[x]) for x in critical}
    points = list(zip(line.x, line.y, strict=True))
    assert points[2::3] == [(None, None)] * (len(points) // 3)
    assert points[0::3] == sorted(set(points[0::3]))
    assert set(points[0::3]) <= ends
    assert set(points[1::3]) <= starts


def test_utilisation_counts_the_busy_and_the_idle_moments(result: Result) -> None:
    schedule = result.schedule
    for machine, (busy, idle) in enumerate(utilisation(schedule)):
        moments = np.zeros(schedule.makespan, bool)
        for x in np.flatnonzero(schedule.instance.machine == machine):
            moments[schedule.start[x] : schedule.end[x]] = True
        working = np.flatnonzero(moments)
        assert busy == pytest.approx(moments.mean())
        assert idle == pytest.approx((~moments[working[0] : working[-1]]).sum() / schedule.makespan)


def test_the_curve_goes_down_to_the_makespan_and_lasts_to_the_end(result: Result) -> None:
    curve = convergence(result).data[0]
    assert list(curve.y)[:-1] == [makespan for _, _, makespan in result.history]
    assert (curve.x[-1], curve.y[-1]) == (result.seconds, result.makespan)


@pytest.mark.parametrize(
    ("lower_bound", "levels"),
    [(902, {"optimum 902": 902}), (890, {"lower bound 890": 890, "best known 902": 902})],
)
def test_the_curve_is_drawn_above_the_bounds(result: Result, lower_bound: int, levels: dict[str, int]) -> None:
    _, *lines = convergence(replace(result, lower_bound=lower_bound)).data
    assert {line.name: line.y[0] for line in lines} == levels
    assert all(line.y[0] == line.y[1] for line in lines)


def test_the_page_tells_proofs_from_bounds_that_were_looked_up(result: Result, tmp_path: Path) -> None:
    pages = []
    for source in ("literature", "CP-SAT"):
        save_report([replace(result, lower_bound=result.makespan, bound_source=source)], tmp_path / "page.html")
        pages.append((tmp_path / "page.html").read_text().partition('id="data"')[0])
    looked_up, proven = pages
    assert 'data-field="bound_source">literature<' in looked_up
    assert 'data-field="status">FEASIBLE</span> optimal by the literature' in looked_up
    assert 'data-field="bound_source">CP-SAT<' in proven
    assert 'data-field="status">OPTIMAL</span>' in proven
    assert "by the literature" not in proven


class Tags(HTMLParser):
    """Counts the elements of a page and collects the text of its title."""

    def __init__(self) -> None:
        super().__init__()
        self.count: dict[str, int] = {}
        self.title = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.count[tag] = self.count.get(tag, 0) + 1

    def handle_data(self, data: str) -> None:
        if self.lasttag == "title":
            self.title += data


def tags(path: Path) -> Tags:
    parser = Tags()
    parser.feed(path.read_text())
    return parser


def test_names_from_outside_stay_text(result: Result, tmp_path: Path) -> None:
    save_report([renamed(result, "harmless")], tmp_path / "a.html", command="harmless")
    save_report([renamed(result, HOSTILE)], tmp_path / "b.html", command=HOSTILE)
    harmless, hostile = tags(tmp_path / "a.html"), tags(tmp_path / "b.html")
    assert harmless.count == hostile.count
    assert "img" not in hostile.count
    assert HOSTILE in hostile.title
    data = embedded(tmp_path / "b.html")
    assert (data["command"], data["results"][0]["instance"]) == (HOSTILE, HOSTILE)


def test_a_large_report_is_small_and_has_few_traces(tmp_path: Path) -> None:
    schedule = dispatch(l2s.load("ta71"), "mwkr")
    save_report([Result(schedule=schedule, lower_bound=1, method="dispatch")], tmp_path / "large.html")
    assert (tmp_path / "large.html").stat().st_size < 6_000_000
    for name in ("machine_view-0", "job_view-0"):
        traces = embedded(tmp_path / "large.html", f"{name}-figure")["data"]
        assert len(traces) <= 4
        assert sum(len(trace["x"]) for trace in traces if trace["type"] == "bar") == 2000


def test_plotly_is_inside_once_and_nothing_is_fetched(result: Result, tmp_path: Path) -> None:
    save_report([result] * 3, tmp_path / "a.html")
    text = (tmp_path / "a.html").read_text()
    assert text.count("* plotly.js v") == 1
    assert not re.search(r"<(script|link|img|iframe)[^>]*\b(src|href)=", text)


def test_the_same_results_give_the_same_file(result: Result, tmp_path: Path) -> None:
    for name in ("a.html", "b.html"):
        save_report([result], tmp_path / name, command="again")
    assert (tmp_path / "a.html").read_bytes() == (tmp_path / "b.html").read_bytes()
    assert {path.name for path in tmp_path.iterdir()} == {"a.html", "b.html"}


def test_a_schedule_of_length_zero_and_an_unused_machine_have_a_report(tmp_path: Path) -> None:
    instance = Instance.from_jobs([[(0, 0)]], n_machines=2)
    schedule = Schedule.from_linear_order(instance, [0])
    save_report([Result(schedule=schedule, lower_bound=0, method="dispatch")], tmp_path / "zero.html")
    assert embedded(tmp_path / "zero.html")["results"][0]["utilisation"] == [0, 0]


def test_what_cannot_be_written_is_refused_before_the_work(
    result: Result, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(L2SError, match=r"must end in \.html"):
        check_report(tmp_path / "a.htm")
    with pytest.raises(L2SError, match="no such directory"):
        check_report(tmp_path / "missing" / "a.html")
    with pytest.raises(L2SError, match="at least one result"):
        save_report([], tmp_path / "a.html")
    for package in ("plotly", "jinja2"):
        with monkeypatch.context() as without:
            without.setitem(sys.modules, package, None)
            with pytest.raises(MissingExtraError, match=rf"{package} is not .* 'l2s-plugin\[report\]'"):
                check_report(tmp_path / "a.html")
            with pytest.raises(MissingExtraError):
                save_report([result], tmp_path / "a.html")
    assert not list(tmp_path.iterdir())


def test_plotly_is_loaded_on_first_use_only() -> None:
    code = "import sys, integrations.report; print({'plotly', 'jinja2', 'matplotlib', 'numba'} & {*sys.modules})"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "set()"
