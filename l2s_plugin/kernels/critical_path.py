"""Critical paths and their blocks."""

from __future__ import annotations

from l2s_plugin.kernels.compile import kernel
from l2s_plugin.kernels.random import integer
from l2s_plugin.kernels.state import AFTER, EARLIEST, FIXED, has_dates


@kernel
def find_critical_path(state):
    """Fill `state.path` with one critical path, first operation first, ties at random; returns its length."""
    if has_dates(state):
        return _find_dated_path(state)
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
    return _turn_around(state, length)


@kernel
def _turn_around(state, length):
    path = state.path
    for i in range(length // 2):
        path[i], path[length - 1 - i] = path[length - 1 - i], path[i]
    state.path_length[0] = length
    return length


@kernel
def _find_dated_path(state):
    """The same with dates: a path begins where nothing could make it shorter, at 0 or at the date of an operation."""
    end, duration, path, size = state.end, state.duration, state.path, state.position.shape[0]
    x = state.job_last[0]
    ties = 0
    for candidate in state.job_last:
        if end[candidate] + duration[AFTER * size + candidate] == state.makespan[0]:
            ties += 1
            if ties == 1 or integer(state.rng, ties) == 0:
                x = candidate
    length = 0
    while True:
        path[length] = x
        length += 1
        start = end[x] - duration[x]
        if start == duration[EARLIEST * size + x]:
            return _turn_around(state, length)
        before, other = state.machine_pred[x], state.job_pred[x]
        if end[before] != start or (end[other] == start and integer(state.rng, 2) == 0):
            before = other
        x = before


@kernel
def begins_open(state, first, last):
    """Whether the first block has an operation that could start before the one whose date holds the path.

    If so, the path may become shorter when that one goes to the beginning; without dates, nothing is gained there.
    """
    return _sooner(state, first, last, state.path[first], EARLIEST)


@kernel
def ends_open(state, first, last):
    """Whether the last block has an operation after which less follows than after its last, likewise."""
    return _sooner(state, first, last, state.path[last], AFTER)


@kernel
def _sooner(state, first, last, x, kind):
    """Whether the date of one of the block is before that of x."""
    dates = kind * state.position.shape[0]
    least = state.duration[dates + x]
    for i in range(first, last + 1):
        least = min(least, state.duration[dates + state.path[i]])
    return least < state.duration[dates + x]


@kernel
def block_end(state, first):
    """Where the critical block that begins at place `first` of the path ends (the place of its last operation).

    A block is a longest run of operations that follow each other directly on one machine; where the order of the
    machine is to be kept, a single operation.
    """
    last = first
    if has_dates(state) and state.duration[FIXED * state.position.shape[0] + state.path[first]]:
        return last
    while last + 1 < state.path_length[0] and state.machine_succ[state.path[last]] == state.path[last + 1]:
        last += 1
    return last
