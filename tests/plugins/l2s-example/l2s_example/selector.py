"""A selector: an object with `select(state, moves, rng)` that returns a row of `moves`, or None."""

from __future__ import annotations

from typing import Any

import numpy as np


class Smallest:
    """Take the admissible move with the smallest value."""

    name = "example-smallest"

    def select(self, state: Any, moves: Any, rng: np.random.Generator) -> int | None:
        rows = np.flatnonzero(moves.admissible)
        return int(rows[np.argmin(moves.value[rows])]) if len(rows) else None
