"""Critical paths and their blocks."""

from __future__ import annotations

import numba

from l2s_plugin.kernels.compile import kernel
from l2s_plugin.kernels.random import integer
from l2s_plugin.kernels.state import AFTER, EARLIEST, FIXED, has_dates


@kernel
def find_critical_path(state):
    """Fill `state.path` with one critical path, first operation first, ties at random; returns its length."""
    return find_path(state)


@numba.njit(inline="always")  # as `update_times`
def find_path(state):
    """The same for callers in kernels."""
    if has_dates(state):
        return _find_dated_path(state)
    return _find_plain_path(state)


@kernel
def _find_plain_path(state):
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
    _turn_around(path, length)
    state.path_length[0] = length
    return length


@kernel
def _turn_around(path, length):
    for i in range(length // 2):
        path[i], path[length - 1 - i] = path[length - 1 - i], path[i]


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
            break
        before, other = state.machine_pred[x], state.job_pred[x]
        if end[before] != start or (end[other] == start and integer(state.rng, 2) == 0):
            before = other
        x = before
    _turn_around(path, length)
    state.path_length[0] = length
    _open_ends(state, length)
    return length


@kernel
def _open_ends(state, length):
    """Note whether the first block is open at its beginning and the last at its end, in `path_length[1]` and `[2]`.

    Open means that an operation of the block could start before the first one, whose date holds the path, or that less
    follows it than the last one: the path may become shorter when it takes that place. Without dates, it cannot.
    """
    duration, path, size = state.duration, state.path, state.position.shape[0]
    state.path_length[1] = state.path_length[2] = 0
    first, last = 0, block_end(state, 0)
    for i in range(last + 1):
        if duration[EARLIEST * size + path[i]] < duration[EARLIEST * size + path[0]]:
            state.path_length[1] = 1
    while last + 1 < length:
        first, last = last + 1, block_end(state, last + 1)
    for i in range(first, length):
        if duration[AFTER * size + path[i]] < duration[AFTER * size + path[length - 1]]:
            state.path_length[2] = 1


@kernel
def is_kept(state, x):
    """Whether the order of the machine of x is to be kept."""
    return has_dates(state) and state.duration[FIXED * state.position.shape[0] + x] != 0


@kernel
def block_end(state, first):
    """Where the critical block that begins at place `first` of the path ends (the place of its last operation).

    A block is a longest run of operations that follow each other directly on one machine; where the order of the
    machine is to be kept, a single operation.
    """
    last = first
    if is_kept(state, state.path[first]):
        return last
    while last + 1 < state.path_length[0] and state.machine_succ[state.path[last]] == state.path[last + 1]:
        last += 1
    return last
