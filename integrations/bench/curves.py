"""How the gap of each configuration falls with steps or seconds, as numbers and as a picture."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from integrations.bench.report import gap
from integrations.plots import save, style

if TYPE_CHECKING:
    from matplotlib.axes import Axes

By = Literal["steps", "seconds"]

_POINTS = 200
_BEGIN = {"steps": 1.0, "seconds": 0.01}


class Curve(NamedTuple):
    """Mean gap in percent over all runs of a configuration, at growing numbers of steps or seconds."""

    at: NDArray[np.float64]
    gap: NDArray[np.float64]
    runs: int


def anytime_curves(cells: Iterable[dict[str, Any]], by: By) -> dict[str, Curve]:
    """A curve for every configuration that searches, by label."""
    runs: dict[str, list[dict[str, Any]]] = {}
    for cell in cells:
        if cell["history"] and cell["method"] != "dispatch":
            runs.setdefault(cell["label"], []).append(cell)
    return {label: _mean(members, by) for label, members in runs.items()}


def _mean(members: list[dict[str, Any]], by: By) -> Curve:
    begin = _BEGIN[by]
    end = max(cell[by] for cell in members)
    grid = np.geomspace(begin, max(end, 2 * begin), _POINTS)
    if by == "steps":
        grid = np.unique(grid.round())
    return Curve(grid, np.mean([_gaps(cell, by, grid) for cell in members], axis=0), len(members))


def _gaps(cell: dict[str, Any], by: By, grid: NDArray[np.float64]) -> NDArray[np.float64]:
    """Gap of one run at each point of the grid."""
    points = np.array([entry[1 if by == "steps" else 0] for entry in cell["history"]])
    gaps = np.array([gap(cell, entry[2]) for entry in cell["history"]])
    return gaps[np.maximum(np.searchsorted(points, grid, side="right") - 1, 0)]


def anytime(cells: Iterable[dict[str, Any]], by: By, path: str | Path | None = None) -> Axes:
    """Mean gap of every configuration over steps or seconds (`by`)."""
    with style():
        from matplotlib.figure import Figure

        from integrations.picture import Picture

        axes = Figure(figsize=(10, 5), layout="constrained").add_subplot(axes_class=Picture)
        curves = anytime_curves(cells, by)
        as_they_end = sorted(curves.items(), key=lambda item: -item[1].gap[-1])  # from top to bottom
        for label, curve in as_they_end:
            axes.plot(curve.at, curve.gap, label=f"{label} ({curve.runs} run{'s' * (curve.runs > 1)})")
        axes.set(xscale="log", xlabel=by, ylabel="mean gap to the best known makespan or bound, %")
        axes.set_ylim(bottom=0)
        axes.grid(True, alpha=0.3)
        axes.spines[["top", "right"]].set_visible(False)
        if curves:
            axes.legend(frameon=False, loc="center left", bbox_to_anchor=(1, 0.5))  # beside, never upon the curves
        if path is not None:
            save(axes, path)
    return axes
