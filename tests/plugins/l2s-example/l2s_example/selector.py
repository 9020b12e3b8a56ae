"""Two selectors: one in Python, and one compiled, which runs at the speed of the built-in rules."""

from __future__ import annotations

import numpy as np

from l2s_plugin import Instance
from l2s_plugin.kernels.moves import Moves
from l2s_plugin.kernels.view import StateView
from l2s_plugin.selectors import CompiledSelector, score_kernel


class Smallest:
    """Take the move with the smallest estimate; the search has left out the moves it does not allow."""

    name = "example-smallest"

    def select(self, state: StateView, moves: Moves, rng: np.random.Generator) -> int | None:
        return int(np.argmin(moves.value))


@score_kernel
def smallest_and_short(state, moves, count, parameters, scores):
    """The smaller the estimate the better, and of equal ones the move of the shorter operation."""
    for row in range(count):
        moved = moves.u[row] if moves.forward[row] else moves.v[row]
        scores[row] = -moves.value[row] - parameters[0] * state.duration[moved]


def compiled(weight: str | float = 0.01) -> CompiledSelector:
    """`example-compiled`, or with another weight `example-compiled:0.5`."""
    weights = np.array([float(weight)], np.float32)

    def parameters(instance: Instance) -> np.ndarray:
        return weights

    return CompiledSelector("example-compiled", smallest_and_short, parameters=parameters)
