"""The hand-made rules, all compiled.

In local search the rules of the paper leave out the undo of the last move, as the environment of its authors does
(without that, `greedy` goes back and forth between two schedules).
"""

from __future__ import annotations

from functools import partial

import numpy as np

from l2s_plugin.errors import L2SError
from l2s_plugin.instance import Instance
from l2s_plugin.selectors import CompiledSelector, Parameters, per_duration, score_kernel


@score_kernel
def _smallest_value(state, moves, count, parameters, scores):
    for row in range(count):
        scores[row] = -moves.value[row]


@score_kernel
def _best_improving(state, moves, count, parameters, scores):
    for row in range(count):
        scores[row] = -moves.value[row] if moves.value[row] < state.makespan[0] else -np.inf


@score_kernel
def _first_improving(state, moves, count, parameters, scores):
    for row in range(count):
        scores[row] = -row if moves.value[row] < state.makespan[0] else -np.inf


@score_kernel
def _indifferent(state, moves, count, parameters, scores):
    for row in range(count):
        scores[row] = 0.0


@score_kernel
def _boltzmann(state, moves, count, parameters, scores):
    for row in range(count):
        scores[row] = (state.makespan[0] - moves.value[row]) * parameters[0]


_exact = partial(CompiledSelector, values="exact", forbid_undo=True)

# The factories of the rules; GD, BI and FI as in appendix D of the paper.
estimate = partial(CompiledSelector, "estimate", _smallest_value, values="smallest")
greedy = partial(_exact, "greedy", _smallest_value)
best_improvement = partial(_exact, "best-improvement", _best_improving)
first_improvement = partial(_exact, "first-improvement", _first_improving)
random = partial(CompiledSelector, "random", _indifferent, sample=True)


def boltzmann(temperature: str | float = 0.5) -> CompiledSelector:
    """Sample moves by their estimate: exp(-(estimate - makespan) / (temperature * mean duration))."""
    try:
        scale = float(temperature)
    except ValueError:
        scale = 0.0
    if not 0 < scale < np.inf:
        raise L2SError(f"boltzmann needs a positive temperature, as in boltzmann:0.5, got {temperature!r}")

    def parameters(instance: Instance) -> Parameters:
        return np.array([per_duration(instance) / scale], np.float32)

    name = "boltzmann" if scale == 0.5 else f"boltzmann:{scale:g}"
    return CompiledSelector(name, _boltzmann, sample=True, forbid_undo=True, parameters=parameters)
