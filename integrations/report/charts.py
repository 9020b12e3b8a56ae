"""The figures of a report: schedules, how a search converged, how busy the machines are, how gaps fall."""

from __future__ import annotations

import math
from collections.abc import Mapping
from html import escape
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from heuristics.result import Result
from integrations.plots import BAR, GRID, INK, QUIET, css, pale, palette, view
from l2s_plugin.data import best_known
from l2s_plugin.schedule import Schedule

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

    from integrations.bench.report import Curve

ACCENT = "#2563eb"
GOOD = "#059669"
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


def gantt(schedule: Schedule, by: Literal["machine", "job"]) -> Figure:
    """Rows are machines and colours are jobs, or the other way round; critical operations are outlined."""
    from plotly.graph_objects import Bar, Figure, Scatter

    instance = schedule.instance
    rows, groups, n_rows, n_groups = view(instance, by)
    row_height = 34 if n_rows <= 12 else 26 if n_rows <= 40 else 20 if n_rows <= 60 else 16
    crowded = instance.n_operations > _CROWDED
    figure = Figure(layout=_gantt_layout(schedule, by, n_rows, row_height))
    colours, known = palette(n_groups)[groups], details(schedule)

    def draw(kind: Any, some: NDArray[np.bool_], marker: dict[str, Any], columns: dict[str, Any], **more: Any) -> None:
        if some.any():
            columns = {"y": rows, "customdata": known, **columns}
            chosen = {name: column[some].tolist() for name, column in columns.items()}
            figure.add_trace(kind(**chosen, marker=marker, hovertemplate=_HOVER, **more))

    bars: dict[str, Any] = {"base": schedule.start, "x": instance.duration}
    if not crowded and row_height >= _LOWEST_LABELLED_ROW:
        bars["text"] = groups.astype(str)
    look = {"orientation": "h", "width": BAR, "textposition": "inside", "insidetextanchor": "middle", "textangle": 0}
    look["textfont"] = {"color": INK, "size": 12}
    outline = {"color": INK, "width": 0.7 if crowded else 1.5}
    lasting = instance.duration > 0
    plain, critical = lasting & ~schedule.critical, lasting & schedule.critical
    draw(Bar, plain, {"color": css(pale(colours[plain])), "line": {"color": "white", "width": 0.5}}, bars, **look)
    draw(Bar, critical, {"color": css(colours[critical]), "line": outline}, bars, **look)
    # a bar of no length would not be drawn
    diamonds = {"symbol": "diamond", "size": 9, "color": css(colours[~lasting]), "line": {"color": INK, "width": 1}}
    draw(Scatter, ~lasting, diamonds, {"x": schedule.start}, mode="markers")
    x, y = _changes_of_row(schedule, rows)
    if x:
        figure.add_scatter(mode="lines", x=x, y=y, line={"color": INK, "width": 1}, opacity=0.6, hoverinfo="skip")
    return figure


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


def _gantt_layout(schedule: Schedule, by: str, n_rows: int, row_height: int) -> dict[str, Any]:
    end = max(schedule.makespan, 1)
    shown = range(0, n_rows, math.ceil(14 / row_height))
    marks: dict[str, Any] = {"tickvals": list(shown), "ticktext": [f"{by[0].upper()}{row}" for row in shown]}
    return layout(
        n_rows * row_height + _GANTT_MARGIN["t"] + _GANTT_MARGIN["b"],
        margin=_GANTT_MARGIN,
        barmode="overlay",
        bargap=0,
        uniformtext={"minsize": 9, "mode": "hide"},
        dragmode="zoom",
        xaxis=axis("time", range=[-0.005 * end, 1.005 * end]),
        yaxis=axis(range=[n_rows - 0.5, -0.5], showgrid=False, tickfont={"color": INK, "size": 11}, **marks),
        shapes=[
            {
                "type": "line", "xref": "x", "yref": "paper", "layer": "below",
                "x0": schedule.makespan, "x1": schedule.makespan, "y0": 0, "y1": 1,
                "line": {"color": QUIET, "width": 1, "dash": "dash"},
            }
        ],
    )  # fmt: skip


def convergence(result: Result) -> Figure:
    """The incumbent's makespan over time, the lower bound, and the best known makespan; the optimum where they meet."""
    from plotly.graph_objects import Figure, Scatter

    improvements = result.history or [(result.seconds, result.steps, result.makespan)]
    points = [*improvements, (result.seconds, result.steps, result.makespan)]
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
            hovertemplate="makespan %{y}<br>%{x:.3g} s, step %{customdata:,}<extra></extra>",
        )
    )
    known = best_known(result.instance)
    if known == result.lower_bound:
        levels = [("optimum", known, GOOD, "dash")]
    else:
        levels = [("lower bound", result.lower_bound, GOOD, "dash")]
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
    return figure.update_layout(layout(HEIGHT, xaxis=times, yaxis=axis(tickformat="d"), **_LEGEND_ABOVE))


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
    names = [str(machine) for machine in range(schedule.instance.n_machines)]
    bars = [
        Bar(
            name=name,
            x=names,
            y=shares[:, column].round(2).tolist(),
            marker={"color": colour},
            hovertemplate=f"machine %{{x}}: {name} %{{y:.1f}} %<extra></extra>",
        )
        for column, (name, colour) in enumerate([("busy", ACCENT), ("idle between operations", "#cbd5e1")])
    ]
    machines = axis("machine", type="category", showgrid=False)
    share = axis("% of the makespan", range=[0, 100])
    return Figure(bars, layout(HEIGHT, barmode="stack", bargap=0.25, xaxis=machines, yaxis=share, **_LEGEND_ABOVE))


def anytime(curves: Mapping[str, Curve], by: str) -> Figure:
    """Mean gap of every configuration over steps or seconds."""
    from plotly.graph_objects import Figure

    figure = Figure()
    for (label, curve), colour in zip(curves.items(), css(palette(len(curves), lightness=0.6)), strict=True):
        name = escape(label, quote=False)  # plotly reads tags in names, but would show &quot;
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
