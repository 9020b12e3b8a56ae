"""The figures of a report: schedules, how a search converged, how busy the machines are, how gaps fall."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from html import escape
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from heuristics.result import Result
from integrations.cli.terminal import shown as printable
from integrations.marks import GREEN, RED, By, cut, last_time, lasting, marks, moment, names
from integrations.plots import BAR, GRID, INK, QUIET, css, pale, palette, view
from l2s_plugin.data import best_known
from l2s_plugin.instance import NO_DUE_DATE, Instance
from l2s_plugin.objectives import LATENESS
from l2s_plugin.schedule import Schedule

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

    from integrations.bench.report import Curve

ACCENT = "#2563eb"
FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif"
HEIGHT = 340
ANYTIME_HEIGHT = 520
MARGIN = {"l": 48, "r": 16, "t": 8, "b": 44}
_MOST_MARKERS = 30  # beyond, they hide the line
_EARLIEST = 1e-4  # seconds; a logarithmic axis has no zero
_LEGEND = {"orientation": "h", "x": 0, "xanchor": "left", "traceorder": "normal"}
_LEGEND_ABOVE = {
    "showlegend": True,
    "legend": {**_LEGEND, "y": 1.02, "yanchor": "bottom"},
    "margin": {**MARGIN, "t": 40, "l": 56},
}

_GANTT_MARGIN = {"l": 40, "r": 12, "t": 30, "b": 44}  # pixels; the tools have room above the rows
_CROWDED = 1000  # operations; beyond, numbers in the bars would make zooming slow, and few would fit
_LOWEST_LABELLED_ROW = 20  # pixels
_MOST_LETTERS = {"row": 32, "bar": 16}  # of names; longer ones are cut
_MILLISECONDS = {"seconds": 1000, "minutes": 60_000, "hours": 3_600_000, "days": 86_400_000}
_DAY = 86_400_000

_HOVER = (
    "<b>job %{customdata[0]}, operation %{customdata[1]}</b><br>machine %{customdata[2]}<br>"
    "start %{customdata[3]}, end %{customdata[4]}<br>duration %{customdata[5]}<br>slack %{customdata[6]}<extra></extra>"
)


def layout(height: int, **more: Any) -> dict[str, Any]:
    """A plain figure: no title (the page has headings), no box, hover labels in the page's font."""
    font = {"family": FONT, "size": 12, "color": INK}
    return {
        "template": "none",
        "height": height,
        "margin": MARGIN,
        "font": font,
        "paper_bgcolor": "white",
        "plot_bgcolor": "white",
        "modebar": {"bgcolor": "rgba(255,255,255,0.8)", "color": QUIET, "activecolor": INK},
        "hoverlabel": {"align": "left", "bgcolor": "white", "bordercolor": QUIET, "font": {**font, "size": 13}},
        "hovermode": "closest",
        "showlegend": False,
        **more,
    }


def axis(title: str = "", logarithmic: bool = False, **more: Any) -> dict[str, Any]:
    """A quiet axis."""
    if logarithmic:
        more |= {"type": "log", "dtick": 1, "exponentformat": "none", "separatethousands": True}
    return {
        "title": {"text": title + ", logarithmic" * logarithmic, "font": {"color": QUIET, "size": 12}, "standoff": 8},
        "gridcolor": GRID,
        "linecolor": GRID,
        "zeroline": False,
        "tickfont": {"color": QUIET},
        **more,
    }


def gantt(schedule: Schedule, by: By, end: int | None = None) -> Figure:
    """Rows are machines and colours are jobs, or the other way round; critical operations are outlined.

    The time axis goes to `end`, or as far as the schedule needs it.
    Names, times on a clock and marks are those of `integrations.plots.gantt`.
    """
    from plotly.graph_objects import Bar, Figure, Scatter

    instance = schedule.instance
    rows, groups, n_rows, n_groups = view(instance, by)
    row_height = 34 if n_rows <= 12 else 26 if n_rows <= 40 else 20 if n_rows <= 60 else 16
    crowded = instance.n_operations > _CROWDED
    end = last_time(schedule, by) if end is None else end
    figure = Figure(layout=_gantt_layout(schedule, by, n_rows, row_height, end))
    colours, known = palette(n_groups)[groups], details(schedule)

    def draw(kind: Any, some: NDArray[np.bool_], marker: dict[str, Any], columns: dict[str, Any], **more: Any) -> None:
        if some.any():
            columns = {"y": rows, "customdata": known, **columns}
            chosen = {name: column[some].tolist() for name, column in columns.items()}
            figure.add_trace(kind(**chosen, marker=marker, **more))

    starts = np.array(on_axis(instance, schedule.start.tolist()))
    scale = 1 if instance.clock is None else _MILLISECONDS[instance.clock.unit]  # the length of bars between dates
    bars: dict[str, Any] = {"base": starts, "x": instance.duration.astype(np.int64) * scale}
    if not crowded and row_height >= _LOWEST_LABELLED_ROW:
        bars["text"] = np.array(labels(instance, "job" if by == "machine" else "machine", "bar"))[groups]
    points: dict[str, Any] = {"x": starts}
    hover = {"hovertemplate": _HOVER}
    if is_dressed(instance):
        hover = {"hovertemplate": "%{hovertext}<extra></extra>"}
        bars["hovertext"] = points["hovertext"] = np.array(descriptions(schedule))
    look = {"orientation": "h", "width": BAR, "textposition": "inside", "insidetextanchor": "middle", "textangle": 0}
    look |= hover
    look["textfont"] = {"color": INK, "size": 12}
    outline = {"color": INK, "width": 0.7 if crowded else 1.5}
    long = instance.duration > 0
    plain, critical = long & ~schedule.critical, long & schedule.critical
    draw(Bar, plain, {"color": css(pale(colours[plain])), "line": {"color": "white", "width": 0.5}}, bars, **look)
    draw(Bar, critical, {"color": css(colours[critical]), "line": outline}, bars, **look)
    # a bar of no length would not be drawn
    diamonds = {"symbol": "diamond", "size": 9, "color": css(colours[~long]), "line": {"color": INK, "width": 1}}
    draw(Scatter, ~long, diamonds, points, mode="markers", **hover)
    x, y = _changes_of_row(schedule, rows)
    if x:
        line = {"color": INK, "width": 1}
        figure.add_scatter(mode="lines", x=on_axis(instance, x), y=y, line=line, opacity=0.6, hoverinfo="skip")
    _add_marks(figure, schedule, by)
    return figure


def _add_marks(figure: Figure, schedule: Schedule, by: By) -> None:
    """A trace for each kind of mark that there is, named after it."""
    found, half = marks(schedule, by), 0.5 if by == "job" else BAR / 2
    upright = {
        kind: [((at, row - half), (at, row + half)) for at, row in places]
        for kind, places in (("met", found.met), ("late", found.late))
    }
    waiting = [((start, row), (end, row)) for start, end, row in found.waiting]
    for name, lines, line in (
        ("waiting", waiting, {"color": QUIET, "width": 1}),
        ("met", upright["met"], {"color": GREEN, "width": 3}),
        ("late", upright["late"], {"color": RED, "width": 3 if by == "job" else 5}),
    ):
        if lines:
            points = [point for pair in lines for point in (*pair, (None, None))]
            x, y = on_axis(schedule.instance, [at for at, _ in points]), [row for _, row in points]
            figure.add_scatter(name=name, mode="lines", x=x, y=y, line=line, hoverinfo="skip")
    if found.held:
        figure.add_scatter(
            name="held",
            mode="markers",
            x=on_axis(schedule.instance, [at for at, _ in found.held]),
            y=[row - BAR / 2 for _, row in found.held],
            marker={"symbol": "triangle-down", "size": 8, "color": INK},
            hoverinfo="skip",
        )


def is_dressed(instance: Instance) -> bool:
    """Whether there is more to say than numbers."""
    given = (instance.job_names, instance.machine_names, instance.operation_names, instance.clock, instance.due)
    return any(each is not None for each in given)


def labels(instance: Instance, kind: By, place: str) -> list[str]:
    """What to write beside rows, or into bars: names where there are any, cut, and as plotly wants text."""
    named = names(instance, kind)
    if named is not None:
        return [as_text(cut(name, _MOST_LETTERS[place])) for name in named]
    count = instance.n_jobs if kind == "job" else instance.n_machines
    return [f"{kind[0].upper() * (place == 'row')}{number}" for number in range(count)]


def as_text(text: str) -> str:
    """Plotly reads tags in texts, but would show &quot;."""
    return escape(text, quote=False)


def on_axis(instance: Instance, times: Sequence[int | None]) -> list[Any]:
    """Times as the axis wants them: dates, where there is a clock."""
    if instance.clock is None:
        return list(times)
    clock = instance.clock
    return [None if time is None else clock.at(time).replace(tzinfo=None).isoformat() for time in times]


def descriptions(schedule: Schedule) -> list[str]:
    """What hovering says about each operation, where there is more to say than numbers."""
    instance, lateness = schedule.instance, schedule.job_lateness
    texts = []
    for x, (job, _, machine, start, end, duration, slack) in enumerate(details(schedule).tolist()):
        lines = [
            f"<b>{as_text(printable(instance.describe(x)))}</b>",
            as_text(printable(f"machine {instance.machine_name(machine)}")),
            f"start {moment(instance, start)}, end {moment(instance, end)}",
            f"duration {lasting(instance, duration)}",
            f"slack {lasting(instance, slack)}",
        ]
        if instance.due is not None and lateness is not None and instance.due[job] != NO_DUE_DATE:
            due = f"due {moment(instance, int(instance.due[job]))}"
            lines.append(f"job {due}, {punctuality(instance, int(lateness[job]))}")
        texts.append("<br>".join(lines))
    return texts


def punctuality(instance: Instance, lateness: int) -> str:
    """How late or early a job is, in words."""
    if lateness == 0:
        return "on time"
    return f"{lasting(instance, abs(lateness))} {'late' if lateness > 0 else 'early'}"


def details(schedule: Schedule) -> NDArray[np.int64]:
    """Job, index in the job, machine, start, end, duration and slack of every operation."""
    instance = schedule.instance
    index = np.arange(instance.n_operations) - instance.job_offset[instance.job]
    slack = schedule.lst - schedule.start
    columns = (instance.job, index, instance.machine, schedule.start, schedule.end, instance.duration, slack)
    return np.stack(columns, axis=1).astype(np.int64)


def _changes_of_row(schedule: Schedule, rows: NDArray[Any]) -> tuple[list[int | None], list[int | None]]:
    """One critical path from bar to bar: a line wherever it goes on in another row."""
    x: list[int | None] = []
    y: list[int | None] = []
    for before, after in pairwise(schedule.critical_path()):
        if rows[before] != rows[after]:
            x += [int(schedule.end[before]), int(schedule.start[after]), None]
            y += [int(rows[before]), int(rows[after]), None]
    return x, y


def _gantt_layout(schedule: Schedule, by: By, n_rows: int, row_height: int, end: int) -> dict[str, Any]:
    instance = schedule.instance
    shown = range(0, n_rows, math.ceil(14 / row_height))
    text = labels(instance, by, "row")
    rows: dict[str, Any] = {"tickvals": list(shown), "ticktext": [text[row] for row in shown]}
    if names(instance, by):
        rows["automargin"] = True
    makespan = on_axis(instance, [schedule.makespan])[0]
    return layout(
        n_rows * row_height + _GANTT_MARGIN["t"] + _GANTT_MARGIN["b"],
        margin=_GANTT_MARGIN,
        barmode="overlay",
        bargap=0,
        uniformtext={"minsize": 9, "mode": "hide"},
        dragmode="zoom",
        xaxis=_time_axis(instance, end),
        yaxis=axis(range=[n_rows - 0.5, -0.5], showgrid=False, tickfont={"color": INK, "size": 11}, **rows),
        shapes=[
            {
                "type": "line", "xref": "x", "yref": "paper", "layer": "below",
                "x0": makespan, "x1": makespan, "y0": 0, "y1": 1,
                "line": {"color": QUIET, "width": 1, "dash": "dash"},
            }
        ],
    )  # fmt: skip


def _time_axis(instance: Instance, end: int) -> dict[str, Any]:
    if instance.clock is None:
        return axis("time", range=[-0.005 * end, 1.005 * end])
    first, last = (clock_time.replace(tzinfo=None) for clock_time in (instance.clock.start, instance.clock.at(end)))
    margin = 0.005 * (last - first)
    formats = [
        {"dtickrange": [None, 60_000], "value": "%H:%M:%S\n%a %-d %b"},
        {"dtickrange": [60_000, _DAY - 1], "value": "%H:%M\n%a %-d %b"},
        {"dtickrange": [_DAY - 1, None], "value": "%a %-d %b\n%Y"},
    ]
    around = [(first - margin).isoformat(), (last + margin).isoformat()]
    return axis(type="date", range=around, tickformatstops=formats, hoverformat="%Y-%m-%d %H:%M")


def convergence(result: Result) -> Figure:
    """The incumbent's value over time, the lower bound, and the best known makespan; the optimum where they meet."""
    from plotly.graph_objects import Figure, Scatter

    objective = "largest lateness" if result.objective == LATENESS else "makespan"
    improvements = result.history or [(result.seconds, result.steps, result.value)]
    points = [*improvements, (result.seconds, result.steps, result.value)]
    seconds = [max(entry[0], _EARLIEST) for entry in points]
    figure = Figure(
        Scatter(
            name="incumbent",
            x=seconds,
            y=[entry[2] for entry in points],
            mode="lines" if len(points) > _MOST_MARKERS else "lines+markers",
            line={"color": ACCENT, "width": 2, "shape": "hv"},
            marker={"size": 5},
            customdata=[entry[1] for entry in points],
            hovertemplate=objective + " %{y}<br>%{x:.3g} s, step %{customdata:,}<extra></extra>",
        )
    )
    known = best_known(result.instance) if result.objective != LATENESS else None
    if known == result.lower_bound:
        levels = [("optimum", known, GREEN, "dash")]
    else:
        levels = [("lower bound", result.lower_bound, GREEN, "dash")]
        levels += [("best known", known, QUIET, "dot")] if known is not None else []
    for name, level, colour, dash in levels:
        figure.add_scatter(
            name=f"{name} {level}",
            x=[min(seconds), max(seconds)],
            y=[level, level],
            mode="lines",
            line={"color": colour, "width": 2, "dash": dash},
            hovertemplate=f"{name} {level}<extra></extra>",
        )
    times = axis("seconds", logarithmic=max(seconds) > 100 * min(seconds))
    return figure.update_layout(layout(HEIGHT, xaxis=times, yaxis=axis(objective, tickformat="d"), **_LEGEND_ABOVE))


def utilisation(schedule: Schedule) -> np.ndarray:
    """Share of the makespan in which each machine is busy, and in which it waits between two operations."""
    instance = schedule.instance
    shares = np.zeros((instance.n_machines, 2))
    for machine, order in enumerate(schedule.machine_orders):
        if len(order):
            busy = int(instance.duration[order].sum())
            shares[machine] = busy, int(schedule.end[order].max() - schedule.start[order].min()) - busy
    return shares / max(schedule.makespan, 1)


def machine_utilisation(schedule: Schedule) -> Figure:
    """A column per machine: busy, and idle between its first and its last operation."""
    from plotly.graph_objects import Bar, Figure

    shares = 100 * utilisation(schedule)
    instance = schedule.instance
    numbers = [str(machine) for machine in range(instance.n_machines)]
    called = [as_text(name) for name in names(instance, "machine") or numbers]
    bars = [
        Bar(
            name=name,
            x=numbers,
            customdata=called,
            y=shares[:, column].round(2).tolist(),
            marker={"color": colour},
            hovertemplate=f"machine %{{customdata}}: {name} %{{y:.1f}} %<extra></extra>",
        )
        for column, (name, colour) in enumerate([("busy", ACCENT), ("idle between operations", "#cbd5e1")])
    ]
    machines = axis("machine", type="category", showgrid=False)
    if names(instance, "machine"):
        machines |= {"tickvals": numbers, "ticktext": labels(instance, "machine", "bar"), "automargin": True}
    share = axis("% of the makespan", range=[0, 100])
    return Figure(bars, layout(HEIGHT, barmode="stack", bargap=0.25, xaxis=machines, yaxis=share, **_LEGEND_ABOVE))


def anytime(curves: Mapping[str, Curve], by: str) -> Figure:
    """Mean gap of every configuration over steps or seconds."""
    from plotly.graph_objects import Figure

    figure = Figure()
    for (label, curve), colour in zip(curves.items(), css(palette(len(curves), lightness=0.6)), strict=True):
        name = as_text(label)
        figure.add_scatter(
            name=name,
            x=[float(f"{x:.4g}") for x in curve.at],
            y=curve.gap.round(3).tolist(),
            mode="lines",
            line={"width": 2, "color": colour, "shape": "hv"},
            hovertemplate=f"%{{y:.2f}} % at %{{x:,.3~r}} {by}<br>{name}, {curve.runs} runs<extra></extra>",
        )
    gap = axis("mean gap to the best known makespan or bound, %", rangemode="tozero")
    legend = {**_LEGEND, "y": -0.16, "yanchor": "top"}
    return figure.update_layout(
        layout(ANYTIME_HEIGHT, showlegend=True, legend=legend, xaxis=axis(by, logarithmic=True), yaxis=gap)
    )
