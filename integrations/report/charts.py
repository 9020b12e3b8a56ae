"""What all figures have in common, and the smaller ones: how a search converged, how busy the machines are, gaps."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np

from heuristics.result import Result
from integrations.colours import GRID, INK, QUIET, css, palette
from l2s_plugin.data import best_known
from l2s_plugin.schedule import Schedule

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

    from integrations.bench.curves import Curve

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
