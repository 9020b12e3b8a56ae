"""The insertions that N6 and N7 share: an operation moved out of its block, to the end or to the beginning."""

from __future__ import annotations

from l2s_plugin.kernels.compile import kernel
from l2s_plugin.kernels.moves import add_move, is_feasible


@kernel
def add_moves_to_the_end(state, moves, count, first, last):
    """Each operation of the block right behind its last; returns the new count."""
    path = state.path
    for i in range(first, last):
        if is_feasible(state, path[i], path[last], True):
            count = add_move(moves, count, path[i], path[last], True)
    return count


@kernel
def add_moves_to_the_beginning(state, moves, count, first, last):
    """Each operation of the block right before its first; returns the new count."""
    path = state.path
    # a block of two has one swap, which an inner block offers at its end already
    skip = 1 if last == first + 1 and last + 1 < state.path_length[0] else 0
    for i in range(first + 1 + skip, last + 1):
        if is_feasible(state, path[first], path[i], False):
            count = add_move(moves, count, path[first], path[i], False)
    return count
