"""The picture of a training run."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from l2s_plugin.errors import missing_extra
from l2s_plugin.files import write_bytes

_QUIET = "#6b7280"
_MANY = 200  # batches; then their dots are small


def save_training_curve(rows: Sequence[Mapping[str, Any]], path: str | Path) -> Path:
    """Validation gap and improvement per batch, from the lines of `metrics.jsonl`."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise missing_extra("matplotlib", "plot") from None
    figure = Figure(figsize=(8, 4.5), layout="constrained")
    left, right = figure.subplots(1, 2)
    checked = [row for row in rows if "validation" in row]
    left.plot([row["batch"] for row in checked], [row["validation"] for row in checked], ".-")
    left.set(xlabel="batch", ylabel="% above the lower bound", title="Validation")
    sizes, marker = dict.fromkeys(row["size"] for row in rows), 2 if len(rows) > _MANY else 6
    for size in sizes:
        own = [row for row in rows if row["size"] == size]
        right.plot(
            [row["batch"] for row in own], [row["improvement"] for row in own], ".", markersize=marker, label=size
        )
    right.set(xlabel="batch", ylabel="% below the first schedule", title="Training batches")
    if len(sizes) > 1:
        right.legend(frameon=False)
    for axes in (left, right):
        axes.spines[["top", "right"]].set_visible(False)
        axes.tick_params(colors=_QUIET)
        axes.grid(alpha=0.3)
        axes.xaxis.get_major_locator().set_params(integer=True)
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", dpi=150)
    write_bytes(path, buffer.getvalue())
    return Path(path)
