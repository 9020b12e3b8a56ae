"""What a host knows about a move beside the graph, as numbers that a policy may add to its scores."""

from __future__ import annotations

import numpy as np

from l2s_plugin.kernels.compile import kernel

N_HINTS = 4
_SPANS = (4.0, 16.0, 64.0)  # steps


@kernel
def fill_hints(gain, per_duration, idle, hints):
    """Fill hints (4): by how much the move promises to lower the makespan, in mean durations; and how recently what it
    brings back was changed, exp(-idle / span) for a short, a middle and a long span."""
    hints[0] = gain * per_duration
    for k in range(3):
        hints[k + 1] = np.exp(-max(idle, 0) / _SPANS[k])


@kernel
def fill_all_hints(gains, per_duration, idle, hints):
    """The hints (M, 4) of several moves."""
    for row in range(hints.shape[0]):
        fill_hints(gains[row], per_duration, idle[row], hints[row])


@kernel
def add_hints(moves, count, makespan, weights, scores):
    """Add the weighted hints to the scores; the first weight is per time unit."""
    for row in range(count):
        idle = max(moves.idle[row], 0)
        score = weights[0] * (makespan - moves.value[row])
        for k in range(3):
            score += weights[k + 1] * np.exp(-idle / _SPANS[k])
        scores[row] += score
