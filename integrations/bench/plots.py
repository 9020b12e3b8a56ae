"""How the gap falls with steps or seconds."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from integrations.plots import save, style


def anytime(cells: Iterable[dict[str, Any]], by: str, path: str | Path | None = None) -> Any:
    """Mean gap of every configuration over steps or seconds (`by`)."""
    column = 1 if by == "steps" else 0
    runs: dict[str, list[dict[str, Any]]] = {}
    for cell in cells:
        if cell["history"] and cell["method"] != "dispatch":
            runs.setdefault(cell["label"], []).append(cell)
    with style():
        from matplotlib.figure import Figure

        axes = Figure(figsize=(8, 5), layout="constrained").subplots()
        for label, members in runs.items():
            end = max(cell["steps"] if by == "steps" else cell["seconds"] for cell in members)
            grid = np.geomspace(1 if by == "steps" else 0.01, max(end, 2 if by == "steps" else 0.02), 200)
            curves = [_curve(cell, column, grid) for cell in members]
            axes.plot(grid, np.mean(curves, axis=0), label=f"{label} ({len(members)} runs)")
        axes.set(xscale="log", xlabel=by, ylabel="mean gap to the best known makespan, %")
        axes.set_ylim(bottom=0)
        axes.grid(True, alpha=0.3)
        axes.spines[["top", "right"]].set_visible(False)
        axes.legend(frameon=False)
        if path is not None:
            save(axes, path)
    return axes


def _curve(cell: dict[str, Any], column: int, grid: np.ndarray) -> np.ndarray:
    """Gap of one run at each point of the grid."""
    reference = cell["upper_bound"] or cell["lower_bound"]
    points = np.array([entry[column] for entry in cell["history"]])
    gaps = np.array([100 * (entry[2] / reference - 1) for entry in cell["history"]])
    return gaps[np.maximum(np.searchsorted(points, grid, side="right") - 1, 0)]
