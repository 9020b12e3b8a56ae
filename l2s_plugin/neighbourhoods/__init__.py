"""Neighbourhoods: which moves a state offers, all from the blocks of one critical path.

A neighbourhood is an object with a `kernel`: `list_moves(state, moves) -> count`, compiled with `neighbourhood_kernel`.
It reads the critical path in `state.path[:state.path_length[0]]`, appends with `add_move` and must offer
only moves that keep the schedule feasible (`is_feasible`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from numba import types

from l2s_plugin.kernels.compile import kernel_pointer
from l2s_plugin.kernels.moves import MOVES_TYPE
from l2s_plugin.kernels.state import STATE_TYPE

neighbourhood_kernel = kernel_pointer(types.int64(STATE_TYPE, MOVES_TYPE))


@dataclass(frozen=True)
class Neighbourhood:
    """A compiled neighbourhood under its name."""

    name: str
    kernel: Any
