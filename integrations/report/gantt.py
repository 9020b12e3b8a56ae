"""The Gantt chart of the report: few traces, however many operations."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from integrations.colours import palette
from integrations.plots import view
from integrations.report.style import INK, QUIET, axis, css, layout
from l2s_plugin.schedule import Schedule

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

By = Literal["machine", "job"]

_MARGIN = {"l": 40, "r": 12, "t": 30, "b": 44}  # pixels; the tools have room above the rows
_BAR = 0.82  # of the height of a row
_CROWDED = 1000  # operations; beyond, numbers in the bars would make zooming slow, and few would fit
_LOWEST_LABELLED_ROW = 20  # pixels

HOVER = (
    "<b>job %{customdata[0]}, operation %{customdata[1]}</b><br>machine %{customdata[2]}<br>"
    "start %{customdata[3]}, end %{customdata[4]}<br>duration %{customdata[5]}<br>slack %{customdata[6]}"
)


def gantt(schedule: Schedule, by: By) -> Figure:
    """Rows are machines and colours are jobs, or the other way round; critical operations are outlined."""
    from plotly.graph_objects import Figure

    instance = schedule.instance
    rows, groups, n_rows, n_groups = view(instance, by)
    colours = palette(n_groups)[groups]
    critical, lasting = schedule.critical, instance.duration > 0
    pale = colours + (1 - colours) * 0.5
    row_height = 34 if n_rows <= 12 else 26 if n_rows <= 40 else 20 if n_rows <= 60 else 16
    crowded = instance.n_operations > _CROWDED
    labels = None if crowded or row_height < _LOWEST_LABELLED_ROW else groups
    outline = 0.7 if crowded else 1.5
    traces = [
        _bars(schedule, rows, labels, pale, np.flatnonzero(lasting & ~critical), {"color": "white", "width": 0.5}),
        _bars(schedule, rows, labels, colours, np.flatnonzero(lasting & critical), {"color": INK, "width": outline}),
        _instants(schedule, rows, colours, np.flatnonzero(~lasting)),
        _changes_of_row(schedule, rows),
    ]
    return Figure([trace for trace in traces if trace is not None], _layout(schedule, by, n_rows, row_height))


def details(schedule: Schedule) -> NDArray[np.int64]:
    """Job, index in the job, machine, start, end, duration and slack of every operation."""
    instance = schedule.instance
    index = np.arange(instance.n_operations) - instance.job_offset[instance.job]
    slack = schedule.lst - schedule.start
    columns = (instance.job, index, instance.machine, schedule.start, schedule.end, instance.duration, slack)
    return np.stack(columns, axis=1).astype(np.int64)


def _bars(
    schedule: Schedule,
    rows: NDArray[Any],
    labels: NDArray[Any] | None,
    colours: NDArray[np.float64],
    some: NDArray[np.intp],
    outline: dict[str, Any],
) -> Any:
    from plotly.graph_objects import Bar

    if not len(some):
        return None
    return Bar(
        orientation="h",
        base=schedule.start[some].tolist(),
        x=schedule.instance.duration[some].tolist(),
        y=rows[some].tolist(),
        width=_BAR,
        marker={"color": css(colours[some]), "line": outline},
        text=None if labels is None else [str(label) for label in labels[some]],
        textposition="inside",
        insidetextanchor="middle",
        textangle=0,
        textfont={"color": INK, "size": 12},
        customdata=details(schedule)[some].tolist(),
        hovertemplate=f"{HOVER}<extra></extra>",
    )


def _instants(schedule: Schedule, rows: NDArray[Any], colours: NDArray[np.float64], some: NDArray[np.intp]) -> Any:
    """Operations that take no time: a bar of no length would not be drawn."""
    from plotly.graph_objects import Scatter

    if not len(some):
        return None
    return Scatter(
        mode="markers",
        x=schedule.start[some].tolist(),
        y=rows[some].tolist(),
        marker={"symbol": "diamond", "size": 9, "color": css(colours[some]), "line": {"color": INK, "width": 1}},
        customdata=details(schedule)[some].tolist(),
        hovertemplate=f"{HOVER}<extra></extra>",
    )


def _changes_of_row(schedule: Schedule, rows: NDArray[Any]) -> Any:
    """One critical path from bar to bar: a line wherever it goes on in another row."""
    from plotly.graph_objects import Scatter

    x: list[int | None] = []
    y: list[int | None] = []
    for before, after in pairwise(schedule.critical_path()):
        if rows[before] != rows[after]:
            x += [int(schedule.end[before]), int(schedule.start[after]), None]
            y += [int(rows[before]), int(rows[after]), None]
    if not x:
        return None
    return Scatter(mode="lines", x=x, y=y, line={"color": INK, "width": 1}, opacity=0.6, hoverinfo="skip")


def _layout(schedule: Schedule, by: By, n_rows: int, row_height: int) -> dict[str, Any]:
    end = max(schedule.makespan, 1)
    step = math.ceil(14 / row_height)
    shown = range(0, n_rows, step)
    marks: dict[str, Any] = {"tickvals": list(shown), "ticktext": [f"{by[0].upper()}{row}" for row in shown]}
    return layout(
        n_rows * row_height + sum(_MARGIN[side] for side in "tb"),
        margin=_MARGIN,
        barmode="overlay",
        bargap=0,
        uniformtext={"minsize": 9, "mode": "hide"},
        dragmode="zoom",
        hovermode="closest",
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
