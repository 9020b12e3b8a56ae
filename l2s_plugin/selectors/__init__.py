"""Selectors: which of the candidate moves to take.

Two kinds, and a host runs whichever it gets:

- *compiled*: a `CompiledSelector` around a scoring function written with `score_kernel`. The whole search loop runs
  without Python, and the function is called once per step for all candidate moves.
- *python*: any object with `select(state, moves, rng) -> int | None`, a row among the admissible moves, or None when
  it wants none of them. `state` is a `StateView`, `moves` a `Moves` tuple, `rng` a numpy generator.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, Protocol

import numpy as np
from numba import types
from numpy.typing import NDArray

from l2s_plugin.instance import Instance
from l2s_plugin.kernels.compile import kernel_pointer
from l2s_plugin.kernels.moves import MOVES_TYPE, Moves
from l2s_plugin.kernels.state import STATE_TYPE
from l2s_plugin.kernels.view import StateView

Parameters = NDArray[np.float32]

# score(state, moves, count, parameters, scores): rate the first `count` moves into `scores`, higher is better;
# -inf refuses a move. Rows that are not admissible may be rated too, they are never taken.
score_kernel = kernel_pointer(types.void(STATE_TYPE, MOVES_TYPE, types.int64, types.float32[::1], types.float64[::1]))


def no_parameters(instance: Instance) -> Parameters:
    """For scoring functions that need none."""
    return np.zeros(1, np.float32)


def per_duration(instance: Instance) -> float:
    """What turns times into mean durations, even where all operations take no time."""
    return 1 / max(float(instance.duration.mean()), 1e-6)


class Selector(Protocol):
    """What a Python selector has to offer; `name` is optional and used in messages and results."""

    def select(self, state: StateView, moves: Moves, rng: np.random.Generator) -> int | None: ...


@dataclass(frozen=True)
class CompiledSelector:
    """A scoring function and how its scores are used."""

    name: str  # for results and messages
    score: Any  # a function compiled with `score_kernel`
    # What `moves.value` holds: the "estimate" of the makespan after the move, cheap; the "exact" makespan; or only the
    # "smallest" estimate of the admissible moves: the others may be given up early, at too low a value but above the
    # smallest, which is all that a rule that takes the smallest needs. "near": estimates that exceed the smallest by
    # more than `margin` may be given up. Moves that were given up may stand as not admissible.
    values: Literal["estimate", "exact", "smallest", "near"] = "estimate"
    sample: bool = False  # False: take the highest score, ties at random. True: sample from softmax(scores).
    forbid_undo: bool = False  # whether local search leaves out the undo of the last move, unless it is told otherwise
    # Called once per run; what it returns is passed to `score` (weights of a policy, scales, ...).
    parameters: Callable[[Instance], Parameters] = no_parameters
    margin: float = 0.0  # in mean durations; see `values`
