"""Gantt charts show every operation where and when it runs, and are written whole or not at all."""

from __future__ import annotations

import pickle
import re
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from base64 import b64decode
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import matplotlib
import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection, PolyCollection

from heuristics.result import Result
from integrations.plots import anytime, gantt, palette
from l2s_plugin.errors import L2SError, MissingExtraError
from l2s_plugin.instance import Instance
from l2s_plugin.loader import load
from l2s_plugin.schedule import Schedule


@pytest.fixture(scope="module")
def ft06() -> Schedule:
    """All first operations, then all second ones, and so on."""
    instance = load("ft06")
    return Schedule.from_linear_order(instance, np.argsort(np.arange(36) % 6 * 6 + np.arange(36) // 6))


Boxes = set[tuple[int, float, float]]


def boxes(axes: Axes) -> list[Boxes]:
    """Row, start and end of the plain bars, then of the outlined ones."""
    found: list[Boxes] = []
    for collection in (c for c in axes.collections if isinstance(c, PolyCollection)):
        corners = [np.asarray(path.vertices) for path in collection.get_paths()]
        found.append({(round(np.ptp(c[:, 1]) / 2 + c[:, 1].min()), c[:, 0].min(), c[:, 0].max()) for c in corners})
    return found


@pytest.mark.parametrize("by", ["machine", "job"])
def test_every_operation_has_its_bar_and_critical_ones_an_outline(ft06: Schedule, by: str) -> None:
    rows = getattr(ft06.instance, by)
    expected: list[Boxes] = [set(), set()]
    for x in range(36):
        expected[bool(ft06.critical[x])].add((rows[x], ft06.start[x], ft06.end[x]))
    assert all(expected)
    assert boxes(gantt(ft06, by=by)) == expected  # type: ignore[arg-type]


def test_labels_name_the_job_inside_its_bar(ft06: Schedule) -> None:
    labels = {(t.get_position(), t.get_text()) for t in gantt(ft06).texts if t.get_text().isdigit()}
    assert len(labels) > 30
    for (time, machine), job in labels:
        inside = (ft06.start < time) & (time < ft06.end) & (ft06.instance.machine == machine)
        assert ft06.instance.job[inside].tolist() == [int(job)]


def test_labels_are_left_out_where_they_do_not_fit() -> None:
    instance = Instance.from_jobs([[(0, 1000)], [(0, 1)]])
    axes = gantt(Schedule.from_linear_order(instance, [0, 1]))
    assert [t.get_text() for t in axes.texts if t.get_text().isdigit()] == ["0"]


def test_operations_without_duration_are_ticks_and_empty_machines_have_rows() -> None:
    instance = Instance.from_jobs([[(0, 0), (2, 5)], [(2, 0)]], n_machines=4)
    axes = gantt(Schedule.from_linear_order(instance, [0, 1, 2]))
    (ticks,) = [c for c in axes.collections if type(c) is LineCollection]
    assert len(ticks.get_paths()) == 2
    assert [label.get_text() for label in axes.get_yticklabels()] == ["M0", "M1", "M2", "M3"]


def test_a_schedule_of_length_zero_can_be_drawn(tmp_path: Path) -> None:
    instance = Instance.from_jobs([[(0, 0)]])
    gantt(Schedule.from_linear_order(instance, [0]), tmp_path / "zero.png")


def test_files_are_what_their_ending_says(ft06: Schedule, tmp_path: Path) -> None:
    for name, magic in (("a.png", b"\x89PNG"), ("a.PDF", b"%PDF")):
        ft06.gantt(tmp_path / name)
        assert (tmp_path / name).read_bytes().startswith(magic)
    ft06.gantt(str(tmp_path / "a.svg"))
    text = (tmp_path / "a.svg").read_text()
    assert ElementTree.fromstring(text).tag == "{http://www.w3.org/2000/svg}svg"
    assert re.search(r">ft06</text>", text)
    assert {path.name for path in tmp_path.iterdir()} == {
        "a.png",
        "a.PDF",
        "a.svg",
    }  # nothing else is left behind


def test_the_same_schedule_gives_the_same_file(ft06: Schedule, tmp_path: Path) -> None:
    for ending in ("svg", "png", "pdf"):
        files = [tmp_path / f"{k}.{ending}" for k in range(2)]
        for file in files:
            gantt(ft06, file, title="same")
        assert files[0].read_bytes() == files[1].read_bytes()


def test_large_schedules_are_drawn_completely(tmp_path: Path) -> None:
    instance = load("ta71")
    by_index = np.lexsort((instance.job, np.arange(instance.n_operations) - instance.job_offset[instance.job]))
    axes = gantt(Schedule.from_linear_order(instance, by_index), tmp_path / "large.png")
    assert sum(len(c.get_paths()) for c in axes.collections if isinstance(c, PolyCollection)) == 2000


def test_wrong_requests_are_refused(ft06: Schedule, tmp_path: Path) -> None:
    with pytest.raises(L2SError, match='by must be "machine" or "job"'):
        gantt(ft06, by="colour")  # type: ignore[arg-type]
    with pytest.raises(L2SError, match="known endings are png, svg, pdf"):
        gantt(ft06, tmp_path / "a.jpg")
    with pytest.raises(L2SError, match="no such directory"):
        gantt(ft06, tmp_path / "missing" / "a.png")


def test_a_missing_matplotlib_names_the_extra(ft06: Schedule, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'l2s-plugin\[plot\]'"):
        ft06.gantt()


def test_drawing_leaves_matplotlib_as_it_was(ft06: Schedule, tmp_path: Path) -> None:
    before = dict(matplotlib.rcParams)
    gantt(ft06, tmp_path / "a.svg")
    assert dict(matplotlib.rcParams) == before
    code = (
        "import sys, l2s_plugin as l2s\n"
        "l2s.Schedule.from_linear_order(l2s.load('ft06'), range(36)).gantt(sys.argv[1])\n"
        "assert 'matplotlib' in sys.modules and 'matplotlib.pyplot' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", code, str(tmp_path / "b.png")], check=True)


def test_notebooks_show_the_chart(ft06: Schedule) -> None:
    (picture,) = re.findall(r'<img src="data:image/svg\+xml;base64,([^"]+)"', ft06._repr_html_())
    drawing = ElementTree.fromstring(b64decode(picture))
    written = {element.text for element in drawing.iter("{http://www.w3.org/2000/svg}text")}
    assert {"ft06", "M0", "M5"} <= written


@pytest.mark.parametrize("draw", [lambda schedule: schedule.gantt(), lambda schedule: anytime([], "steps")])
def test_notebooks_show_what_drawing_without_a_path_returns(ft06: Schedule, draw: Callable[[Schedule], Axes]) -> None:
    axes = draw(ft06)
    assert axes._repr_png_().startswith(b"\x89PNG")  # type: ignore[attr-defined]
    assert pickle.loads(pickle.dumps(axes.figure)).axes  # figures stay what they are


def test_notebooks_show_the_orders_where_nothing_can_be_drawn(ft06: Schedule, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    rows = re.findall(r"<tr><td>(\d)</td><td>([\d ]+)</td></tr>", ft06._repr_html_())
    assert [machine for machine, _ in rows] == list("012345")
    for (_, jobs), order in zip(rows, ft06.machine_orders, strict=True):
        assert [int(job) for job in jobs.split()] == ft06.instance.job[order].tolist()


def test_notebooks_show_a_result_with_its_numbers_and_names_as_text(ft06: Schedule) -> None:
    schedule = replace(ft06, instance=replace(ft06.instance, name="<b>bold</b>"))
    page = Result(schedule=schedule, lower_bound=50, method="by hand")._repr_html_()
    assert "<b>" not in page
    shown = dict(zip(*(re.findall(rf"<{tag}>(.*?)</{tag}>", page) for tag in ("th", "td")), strict=True))
    assert shown["instance"] == "&lt;b&gt;bold&lt;/b&gt;"
    assert (shown["makespan"], shown["lower_bound"], shown["method"]) == (str(ft06.makespan), "50", "by hand")
    assert "<img src=" in page
    assert re.findall(r"<tr>(.*?)</tr>", page)[0] == "<th>instance</th><td>&lt;b&gt;bold&lt;/b&gt;</td>"  # narrow


@pytest.mark.parametrize(("by", "n_rows"), [("machine", 20), ("job", 100)])
def test_most_bars_of_a_large_schedule_have_room_for_their_number(by: str, n_rows: int) -> None:
    instance = load("ta71")
    by_index = np.lexsort((instance.job, np.arange(instance.n_operations) - instance.job_offset[instance.job]))
    axes = gantt(Schedule.from_linear_order(instance, by_index), by=by)  # type: ignore[arg-type]
    assert sum(text.get_text().isdigit() for text in axes.texts) > 1000
    assert len(axes.get_yticks()) == n_rows


@pytest.mark.parametrize("n", [1, 6, 15, 100])
def test_colours_are_valid_and_different(n: int) -> None:
    colours = palette(n)
    assert colours.shape == (n, 3)
    assert colours.min() >= 0
    assert colours.max() <= 1
    assert len(np.unique(colours.round(3), axis=0)) == n
