"""The smaller figures: how a search converged, how busy the machines are, gaps over time."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape
from typing import TYPE_CHECKING

import numpy as np

from heuristics.result import Result
from integrations.colours import palette
from integrations.report.style import ACCENT, GOOD, LEGEND_ABOVE, LEGEND_BELOW, QUIET, axis, css, layout
from l2s_plugin.data import best_known
from l2s_plugin.schedule import Schedule

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

    from integrations.bench.curves import Curve

HEIGHT = 340
ANYTIME_HEIGHT = 520
_MOST_MARKERS = 30  # beyond, they hide the line
_EARLIEST = 1e-4  # seconds; a logarithmic axis has no zero


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
    wide = max(seconds) > 100 * min(seconds)
    times = axis("seconds, logarithmic", type="log", dtick=1, exponentformat="none") if wide else axis("seconds")
    figure.update_layout(layout(HEIGHT, xaxis=times, yaxis=axis(tickformat="d"), **LEGEND_ABOVE))
    figure.update_layout(margin={"t": 40, "l": 56}, hovermode="closest")
    return figure


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
    share = axis("% of the makespan", range=[0, 100])
    figure = Figure(bars, layout(HEIGHT, barmode="stack", bargap=0.25, yaxis=share, **LEGEND_ABOVE))
    return figure.update_layout(xaxis=axis("machine", type="category", showgrid=False), margin={"t": 40, "l": 56})


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
    figure.update_layout(layout(ANYTIME_HEIGHT, hovermode="closest", **LEGEND_BELOW))
    gap = axis("mean gap to the best known makespan or bound, %", rangemode="tozero")
    return figure.update_layout(
        xaxis=axis(f"{by}, logarithmic", type="log", dtick=1, exponentformat="none", separatethousands=True), yaxis=gap
    )
