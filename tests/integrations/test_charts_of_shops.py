"""Charts and reports of real shops: names, times on a clock, due dates, waiting, and the plan before."""

from __future__ import annotations

import io
import json
import re
import xml.etree.ElementTree as ElementTree
from base64 import b64decode
from datetime import datetime, timedelta
from html import unescape
from itertools import combinations, pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from matplotlib.axes import Axes
from matplotlib.colors import to_hex

import l2s_plugin as l2s
from heuristics import Result, dispatch
from integrations.marks import cut, last_time, marks, moment, outcome, ticks
from integrations.plots import GREEN, RED, gantt
from integrations.report import charts as report_charts
from integrations.report import save_report
from l2s_plugin.clock import UNITS, Clock
from l2s_plugin.instance import Instance
from l2s_plugin.schedule import Schedule
from tests.strategies import dated_instances, linear_orders

HOSTILE = "</script><b onclick=x>$\\frac{$ & co"


@pytest.fixture
def shop() -> Instance:
    """Order B can begin at 15 and is due at 60; A is due at 100."""
    instance = Instance.from_jobs(
        [[(0, 30), (1, 45)], [(1, 20), (0, 10)]],
        name="shop",
        job_names=["A-17", "B-02"],
        machine_names=["saw", "drill press"],
        operation_names=["cut", "bore", "bore", "trim"],
    )
    return instance.with_dates(release=[0, 15], due=[100, 60])


@pytest.fixture
def late(shop: Instance) -> Schedule:
    """B waits for A on the drill press: A ends at 75, B at 105, 45 too late."""
    return Schedule.from_linear_order(shop.with_objective("lateness"), [0, 1, 2, 3])


@pytest.fixture
def early(shop: Instance) -> Schedule:
    """B first on the drill press: A waits there and ends at 80, B at 45."""
    return Schedule.from_linear_order(shop.with_objective("lateness"), [0, 2, 1, 3])


def timed(schedule: Schedule, start: str = "2026-11-23T06:00", unit: str = "minutes") -> Schedule:
    instance = schedule.instance.with_details(clock=Clock.of(start, unit))
    return Schedule(instance, schedule.order, schedule.start)


def legend(axes: Axes) -> list[str]:
    found = axes.get_legend()
    assert found is not None
    return [text.get_text() for text in found.get_texts()]


def heading(axes: Axes) -> str:
    return axes.texts[-1].get_text()


# marks


def test_marks_by_job_are_due_dates_and_waiting(late: Schedule, early: Schedule) -> None:
    found = marks(late, "job")
    assert (found.met, found.late) == ([(100, 0)], [(60, 1)])
    assert found.waiting == [(15, 75, 1)]  # not before its earliest start
    found = marks(early, "job")
    assert (found.met, found.late) == ([(100, 0), (60, 1)], [])
    assert found.waiting == [(30, 35, 0)]


def test_marks_by_machine_are_the_ends_of_late_jobs(late: Schedule, early: Schedule) -> None:
    found = marks(late, "machine")
    assert (found.met, found.late, found.waiting) == ([], [(105, 0)], [])
    assert marks(early, "machine").late == []


def test_a_triangle_marks_a_critical_operation_that_its_date_holds(shop: Instance) -> None:
    held = Schedule.from_linear_order(
        shop.with_dates(release=[0, 50], due=[200, 60]).with_objective("lateness"), range(4)
    )
    assert held.start[2] == 75  # the drill press holds it
    assert marks(held, "job").held == []
    first = Schedule.from_linear_order(held.instance.with_dates(release=[0, 80], due=[200, 60]), range(4))
    assert (marks(first, "job").held, marks(first, "machine").held) == ([(80, 1)], [(80, 1)])


@settings(deadline=None, max_examples=60)
@given(st.data())
def test_marks_say_what_a_slow_look_at_the_schedule_says(data: Any) -> None:
    instance = data.draw(dated_instances())
    schedule = Schedule.from_linear_order(instance, data.draw(linear_orders(instance)))
    found = marks(schedule, "job")
    due = {} if instance.due is None else {job: int(date) for job, date in enumerate(instance.due) if date < 2**31 - 1}
    ends = {job: int(schedule.end[instance.job == job].max()) for job in range(instance.n_jobs)}
    assert sorted(found.met) == sorted((date, job) for job, date in due.items() if ends[job] <= date)
    assert sorted(found.late) == sorted((date, job) for job, date in due.items() if ends[job] > date)
    if instance.earliest is None and instance.due is None:
        assert not found.waiting
        return
    waiting = 0
    for job in range(instance.n_jobs):
        own = np.flatnonzero(instance.job == job)
        begin = 0 if instance.earliest is None else int(instance.earliest[own[0]])
        waiting += ends[job] - begin - int(instance.duration[own].sum())
    assert sum(end - start for start, end, _ in found.waiting) == waiting


def test_an_instance_without_dates_has_no_marks() -> None:
    schedule = Schedule.from_linear_order(Instance.from_jobs([[(0, 3)], [(0, 2)]]), [0, 1])
    for by in ("machine", "job"):
        assert not marks(schedule, by).meanings(by)  # type: ignore[arg-type]


# texts


def test_long_names_are_cut_in_the_middle() -> None:
    assert (cut("shaft-1041", 10), cut("a-very-long-name-17", 10)) == ("shaft-1041", "a-ver…e-17")


def test_the_objective_comes_first_with_its_unit(late: Schedule, early: Schedule) -> None:
    assert outcome(late) == "largest lateness 45, 1 of 2 jobs late    makespan 105"
    assert outcome(timed(early)) == "largest lateness -15 minutes, none of 2 jobs late    makespan 80 minutes"
    shortest = Schedule(late.instance.with_objective("makespan"), late.order, late.start)
    assert outcome(shortest) == "makespan 105    largest lateness 45, 1 of 2 jobs late"


def test_times_are_numbers_without_a_clock(late: Schedule) -> None:
    assert moment(late.instance, 90) == "90"
    assert moment(timed(late).instance, 90) == "2026-11-23 07:30"


def test_days_are_named_once_and_on_two_lines() -> None:
    at, labels = ticks(Clock.of("2026-11-23T06:00"), 15750)
    assert labels[:2] == ["Tue\n24 Nov", "Wed\n25 Nov"]
    assert at[:2] == [18 * 60, 42 * 60]
    at, labels = ticks(Clock.of("2026-11-23T22:00"), 300)
    assert labels[:3] == ["22:00\nMon 23 Nov", "22:30", "23:00"]
    assert "00:00\nTue 24 Nov" in labels
    assert ticks(Clock.of("2026-11-23", "days"), 3000)[1][0] == "14 Jun\n2027"


@given(
    st.datetimes(datetime(1990, 1, 1), datetime(2090, 1, 1)).map(lambda moment: moment.replace(microsecond=0)),
    st.sampled_from(UNITS),
    st.integers(1, 10**5),
)
def test_ticks_are_few_whole_and_inside(start: datetime, unit: str, end: int) -> None:
    at, labels = ticks(Clock(start, unit), end)
    assert len(at) == len(labels) <= 13
    assert all(0 <= each <= end for each in at)
    assert len({round(b - a, 6) for a, b in pairwise(at)}) <= 1
    for each, label in zip(at, labels, strict=True):
        moment = start + each * timedelta(**{unit: 1})
        first = label.split("\n")[0]
        if ":" in first:
            assert f"{moment + timedelta(microseconds=500):%H:%M}" == first[:5]


@pytest.mark.parametrize(("by", "end"), [("machine", 105), ("job", 105)])
def test_the_time_axis_reaches_due_dates_that_are_near(late: Schedule, by: Any, end: int) -> None:
    assert last_time(late, by) == end
    near = Schedule(late.instance.with_details(due=[120, 60]), late.order, late.start)
    assert last_time(near, by) == (121 if by == "job" else 105)
    far = Schedule(late.instance.with_details(due=[1000, 60]), late.order, late.start)
    assert last_time(far, by) == 105


# pictures


@pytest.mark.parametrize(
    ("by", "rows", "bars"), [("machine", ["saw", "drill press"], "A-17"), ("job", ["A-17", "B-02"], "saw")]
)
def test_charts_write_names(late: Schedule, by: Any, rows: list[str], bars: str) -> None:
    axes = gantt(late, by=by)
    assert [label.get_text() for label in axes.get_yticklabels()] == rows
    assert bars in {text.get_text() for text in axes.texts}
    colour = {"machine": "job", "job": "machine"}[by]
    assert legend(axes)[0] == f"colour and name: {colour}"


def test_the_legend_explains_every_mark_that_there_is(late: Schedule, early: Schedule) -> None:
    first = ["critical: a delay here increases the largest lateness"]
    waiting = "waiting, from the earliest start on"
    assert legend(gantt(late, by="job"))[1:] == [*first, "due date, met", "due date, missed", waiting]
    assert legend(gantt(early, by="job"))[1:] == [*first, "due date, met", waiting, "held by its earliest start"]
    assert legend(gantt(late, by="machine"))[1:] == [*first, "end of a late job"]
    assert heading(gantt(late)) == "2 jobs × 2 machines    largest lateness 45, 1 of 2 jobs late    makespan 105"


def test_due_dates_stand_in_the_row_of_their_job(late: Schedule) -> None:
    lines = {}
    for collection in gantt(late, by="job").collections:
        colour = to_hex(collection.get_edgecolor()[0]) if len(collection.get_edgecolor()) else ""  # type: ignore[arg-type]
        if colour in (GREEN, RED):
            (path,) = collection.get_paths()
            lines[colour] = np.asarray(path.vertices).tolist()
    assert lines == {GREEN: [[100, -0.5], [100, 0.5]], RED: [[60, 0.5], [60, 1.5]]}


def test_a_clock_writes_days_and_hours_under_the_chart(late: Schedule) -> None:
    axes = gantt(timed(late))
    labels = [label.get_text() for label in axes.get_xticklabels()]
    assert labels[0] == "06:00\nMon 23 Nov"
    assert "07:00" in labels
    assert (axes.get_xlabel(), gantt(late).get_xlabel()) == ("", "time")


def extents(axes: Axes) -> list[tuple[str, Any]]:
    """Where every text of a picture stands, in pixels."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.text import Text

    figure: Any = axes.get_figure()
    canvas = FigureCanvasAgg(figure)
    canvas.draw()
    texts = [text for text in figure.findobj(Text) if text.get_visible() and text.get_text().strip()]
    return [(text.get_text(), text.get_window_extent(canvas.get_renderer())) for text in texts]


@pytest.mark.parametrize("by", ["machine", "job"])
def test_twenty_orders_over_two_weeks_are_legible(by: Any) -> None:
    """No two texts overlap, none is outside, and most bars have their whole name."""
    table = Path(__file__).parents[2] / "examples" / "workshop.csv"
    instance = l2s.load(table).with_objective("lateness").with_details(clock=Clock.of("2026-11-23T06:00"))
    schedule = dispatch(instance, "edd")
    axes = gantt(schedule, by=by)
    places = extents(axes)
    width, height = axes.get_figure().canvas.get_width_height()  # type: ignore[union-attr]
    for text, box in places:
        assert 0 <= box.x0 <= box.x1 <= width, text
        assert 0 <= box.y0 <= box.y1 <= height, text
    for (text, box), (other, there) in combinations(places, 2):
        apart = box.x1 - 1 <= there.x0 or there.x1 - 1 <= box.x0 or box.y1 - 1 <= there.y0 or there.y1 - 1 <= box.y0
        assert apart, (text, other)
    names = instance.job_names if by == "machine" else instance.machine_names
    assert sum(text in names for text, _ in places) > 0.5 * instance.n_operations


def test_names_are_no_formulas_and_no_markup(late: Schedule, tmp_path: Path) -> None:
    instance = late.instance.with_details(job_names=[HOSTILE, "B"], machine_names=["a\nb", "$x$"])
    schedule = Schedule(instance, late.order, late.start)
    schedule.gantt(tmp_path / "a.svg")
    written = {each.text for each in ElementTree.parse(tmp_path / "a.svg").iter("{http://www.w3.org/2000/svg}text")}
    assert "$x$" in written
    assert any("frac" in (text or "") for text in written)
    save_report([Result(schedule, 0, "by hand")], tmp_path / "a.html")
    page = (tmp_path / "a.html").read_text()
    assert HOSTILE not in page
    assert "<b onclick" not in page


def test_notebooks_show_names_and_lateness(late: Schedule) -> None:
    page = Result(late, 10, "by hand")._repr_html_()
    (picture,) = re.findall(r'<img src="data:image/svg\+xml;base64,([^"]+)"', page)
    drawing = ElementTree.parse(io.BytesIO(b64decode(picture)))
    assert {"saw", "drill press"} <= {each.text for each in drawing.iter("{http://www.w3.org/2000/svg}text")}
    shown = dict(zip(*(re.findall(rf"<{tag}>(.*?)</{tag}>", page) for tag in ("th", "td")), strict=True))
    assert (shown["objective"], shown["value"], shown["lateness"], shown["late_jobs"]) == ("lateness", "45", "45", "1")


# reports


def result_of(schedule: Schedule) -> Result:
    return Result(schedule, -20, "by hand", bound_source="one-machine", history=[(0.1, 0, schedule.value)])


def table(page: str, name: str) -> list[list[str]]:
    """The texts of a table, header first."""
    (found,) = re.findall(rf'<table class="{name}">(.*?)</table>', page, re.DOTALL)
    rows = re.findall(r"<tr.*?>(.*?)</tr>", found, re.DOTALL)
    return [[unescape(cell) for cell in re.findall(r"<t[hd].*?>(.*?)</t[hd]>", row)] for row in rows]


def test_a_report_lists_orders_the_latest_first(late: Schedule, tmp_path: Path) -> None:
    save_report([result_of(timed(late))], tmp_path / "a.html")
    page = (tmp_path / "a.html").read_text()
    assert "<h1>shop: largest lateness 45</h1>" in page
    assert table(page, "orders") == [
        ["job", "due", "end", "late"],
        ["B-02", "2026-11-23 07:00", "2026-11-23 07:45", "45 minutes late"],
        ["A-17", "2026-11-23 07:40", "2026-11-23 07:15", "25 minutes early"],
    ]
    figures = dict(re.findall(r'<dd data-field="(\w+)">(.*?)</dd>', page))
    assert (figures["value"], figures["late_jobs"], figures["makespan"]) == ("45", "1", "105")


def test_jobs_that_are_never_due_are_listed_last_and_reports_without_dates_list_none(
    late: Schedule, tmp_path: Path
) -> None:
    some = Schedule(late.instance.with_details(due=[None, 105]), late.order, late.start)
    save_report([result_of(some)], tmp_path / "a.html")
    assert table((tmp_path / "a.html").read_text(), "orders")[1:] == [
        ["B-02", "105", "105", "on time"],
        ["A-17", "", "75", ""],
    ]
    plain = Schedule(late.instance.with_objective("makespan").with_details(due=None), late.order, late.start)
    save_report([Result(plain, 0, "by hand")], tmp_path / "b.html")
    assert 'class="orders"' not in (tmp_path / "b.html").read_text()


def test_a_report_shows_the_plan_before_and_what_changed(late: Schedule, early: Schedule, tmp_path: Path) -> None:
    changes = [
        {"job": "B-02", "step": 1, "operation": "bore", "machine": "drill press", "from": 15, "to": 75, "by": 60},
        {"job": "A-17", "step": 2, "operation": "bore", "machine": "drill press", "from": 35, "to": 30, "by": -5},
    ]
    said = ["the drill press was down"]
    save_report([result_of(timed(late))], tmp_path / "a.html", notes=said, before=timed(early), changes=changes)
    page = (tmp_path / "a.html").read_text()
    assert '<p class="note">the drill press was down</p>' in page
    assert table(page, "changes") == [
        ["job", "step", "operation", "machine", "from", "to", "by"],
        ["B-02", "1", "bore", "drill press", "2026-11-23 06:15", "2026-11-23 07:15", "+60 minutes"],
        ["A-17", "2", "bore", "drill press", "2026-11-23 06:35", "2026-11-23 06:30", "-5 minutes"],
    ]
    assert table(page, "orders")[:2] == [
        ["job", "due", "end", "late", "before"],
        ["B-02", "2026-11-23 07:00", "2026-11-23 07:45", "45 minutes late", "15 minutes early"],
    ]
    figures = {
        name: json.loads(figure)
        for name, figure in re.findall(
            r'<script type="application/json" id="(\w+-0)-figure">(.*?)</script>', page, re.DOTALL
        )
    }
    for by in ("machine", "job"):  # the same times under one another
        new, old = figures[f"{by}_view-0"], figures[f"{by}_before-0"]
        assert new["layout"]["xaxis"]["range"] == old["layout"]["xaxis"]["range"]
        assert new["data"] != old["data"]
    save_report([result_of(late)], tmp_path / "b.html", before=early, changes=[])
    assert '<p class="hint">Nothing.</p>' in (tmp_path / "b.html").read_text()


def test_charts_of_reports_have_names_marks_and_dates(late: Schedule) -> None:
    figure = report_charts.gantt(timed(late), "job")
    assert list(figure.layout.yaxis.ticktext) == ["A-17", "B-02"]
    assert figure.layout.xaxis.type == "date"
    marked = {trace.name: (list(trace.x), list(trace.y)) for trace in figure.data if trace.name}
    assert marked["met"] == (["2026-11-23T07:40:00"] * 2 + [None], [-0.5, 0.5, None])
    assert marked["late"] == (["2026-11-23T07:00:00"] * 2 + [None], [0.5, 1.5, None])
    assert marked["waiting"][0][:2] == ["2026-11-23T06:15:00", "2026-11-23T07:15:00"]
    hover = [text for trace in figure.data for text in trace.hovertext or ()]
    assert (
        "<b>step 1 (bore) of job B-02</b><br>machine drill press<br>start 2026-11-23 07:15, end 2026-11-23 07:35<br>"
        "duration 20 minutes<br>slack 0 minutes<br>job due 2026-11-23 07:00, 45 minutes late"
    ) in hover


def test_the_curve_of_a_report_is_that_of_the_objective(late: Schedule) -> None:
    curve, bound = report_charts.convergence(result_of(late)).data
    assert (list(curve.y), list(bound.y)) == ([45, 45], [-20, -20])
