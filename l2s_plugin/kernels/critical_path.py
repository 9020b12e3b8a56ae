"""Critical paths and their blocks."""

from __future__ import annotations

from l2s_plugin.kernels.compile import kernel
from l2s_plugin.kernels.random import integer


@kernel
def find_critical_path(state):
    """Fill `state.path` with one critical path, first operation first, ties at random; returns its length."""
    end, duration, path = state.end, state.duration, state.path
    makespan = state.makespan[0]
    x = state.job_last[0]
    ties = 0
    for candidate in state.job_last:
        if end[candidate] == makespan:
            ties += 1
            if ties == 1 or integer(state.rng, ties) == 0:
                x = candidate
    path[0] = x
    length = 1
    start = end[x] - duration[x]
    while start > 0:
        before, other = state.machine_pred[x], state.job_pred[x]
        if end[before] != start or (end[other] == start and before != other and integer(state.rng, 2) == 0):
            before = other
        x = before
        path[length] = x
        length += 1
        start = end[x] - duration[x]
    for i in range(length // 2):
        path[i], path[length - 1 - i] = path[length - 1 - i], path[i]
    state.path_length[0] = length
    return length


@kernel
def block_end(state, first):
    """Where the critical block that begins at place `first` of the path ends (the place of its last operation).

    A block is a longest run of operations that follow each other directly on one machine.
    """
    last = first
    while last + 1 < state.path_length[0] and state.machine_succ[state.path[last]] == state.path[last + 1]:
        last += 1
    return last
