"""How the gap falls with steps or seconds, as a picture."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from integrations.bench.curves import By, anytime_curves
from integrations.plots import save, style

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def anytime(cells: Iterable[dict[str, Any]], by: By, path: str | Path | None = None) -> Axes:
    """Mean gap of every configuration over steps or seconds (`by`)."""
    with style():
        from matplotlib.figure import Figure

        from integrations.picture import Picture

        axes = Figure(figsize=(10, 5), layout="constrained").add_subplot(axes_class=Picture)
        curves = anytime_curves(cells, by)
        for label, curve in sorted(
            curves.items(), key=lambda item: -item[1].gap[-1]
        ):  # as they end, from top to bottom
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
