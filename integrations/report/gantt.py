"""The Gantt chart of the report: few traces, however many operations."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from integrations.colours import BAR, INK, QUIET, css, pale, palette, view
from integrations.report.charts import axis, layout
from l2s_plugin.schedule import Schedule

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

_MARGIN = {"l": 40, "r": 12, "t": 30, "b": 44}  # pixels; the tools have room above the rows
_CROWDED = 1000  # operations; beyond, numbers in the bars would make zooming slow, and few would fit
_LOWEST_LABELLED_ROW = 20  # pixels

HOVER = (
    "<b>job %{customdata[0]}, operation %{customdata[1]}</b><br>machine %{customdata[2]}<br>"
    "start %{customdata[3]}, end %{customdata[4]}<br>duration %{customdata[5]}<br>slack %{customdata[6]}<extra></extra>"
)


def gantt(schedule: Schedule, by: Literal["machine", "job"]) -> Figure:
    """Rows are machines and colours are jobs, or the other way round; critical operations are outlined."""
    from plotly.graph_objects import Bar, Figure, Scatter

    instance = schedule.instance
    rows, groups, n_rows, n_groups = view(instance, by)
    row_height = 34 if n_rows <= 12 else 26 if n_rows <= 40 else 20 if n_rows <= 60 else 16
    crowded = instance.n_operations > _CROWDED
    figure = Figure(layout=_layout(schedule, by, n_rows, row_height))
    colours, known = palette(n_groups)[groups], details(schedule)

    def draw(kind: Any, some: NDArray[np.bool_], marker: dict[str, Any], columns: dict[str, Any], **more: Any) -> None:
        if some.any():
            columns = {"y": rows, "customdata": known, **columns}
            chosen = {name: column[some].tolist() for name, column in columns.items()}
            figure.add_trace(kind(**chosen, marker=marker, hovertemplate=HOVER, **more))

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


def _layout(schedule: Schedule, by: str, n_rows: int, row_height: int) -> dict[str, Any]:
    end = max(schedule.makespan, 1)
    shown = range(0, n_rows, math.ceil(14 / row_height))
    marks: dict[str, Any] = {"tickvals": list(shown), "ticktext": [f"{by[0].upper()}{row}" for row in shown]}
    return layout(
        n_rows * row_height + _MARGIN["t"] + _MARGIN["b"],
        margin=_MARGIN,
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
