"""What all figures of a report have in common."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

INK = "#1f2937"
QUIET = "#6b7280"
GRID = "#e5e7eb"
ACCENT = "#2563eb"
GOOD = "#059669"
FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif"


def layout(height: int, **more: Any) -> dict[str, Any]:
    """A plain figure: no title (the page has headings), no box, hover labels in the page's font."""
    return {
        "template": "none",
        "height": height,
        "margin": {"l": 48, "r": 16, "t": 8, "b": 44},
        "font": {"family": FONT, "size": 12, "color": INK},
        "paper_bgcolor": "white",
        "plot_bgcolor": "white",
        "modebar": {"bgcolor": "rgba(255,255,255,0.8)", "color": QUIET, "activecolor": INK},
        "hoverlabel": {
            "align": "left",
            "bgcolor": "white",
            "bordercolor": QUIET,
            "font": {"family": FONT, "size": 13, "color": INK},
        },
        "showlegend": False,
        **more,
    }


def axis(title: str = "", **more: Any) -> dict[str, Any]:
    """A quiet axis."""
    return {
        "title": {"text": title, "font": {"color": QUIET, "size": 12}, "standoff": 8},
        "gridcolor": GRID,
        "linecolor": GRID,
        "zeroline": False,
        "tickfont": {"color": QUIET},
        **more,
    }


LEGEND_ABOVE = {
    "showlegend": True,
    "legend": {"orientation": "h", "x": 0, "xanchor": "left", "y": 1.02, "yanchor": "bottom", "traceorder": "normal"},
}
LEGEND_BELOW = {
    "showlegend": True,
    "legend": {"orientation": "h", "x": 0, "xanchor": "left", "y": -0.16, "yanchor": "top"},
}


def css(colours: NDArray[np.float64]) -> list[str]:
    """RGB rows in [0, 1] as a browser wants them."""
    return [f"#{bytes(row).hex()}" for row in (colours * 255).round().astype(np.uint8)]
