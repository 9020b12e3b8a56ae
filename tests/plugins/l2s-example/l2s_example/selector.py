"""A selector: an object with `select(state, moves, rng)` that returns a row of `moves`, or None."""

from __future__ import annotations

from typing import Any

import numpy as np


class Smallest:
    """Take the move with the smallest value."""

    def select(self, state: Any, moves: Any, rng: Any) -> int | None:
        return int(np.argmin(moves.value)) if len(moves.value) else None
