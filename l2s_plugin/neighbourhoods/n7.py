"""N7 (Zhang et al. 2007): N6, and the first or last operation of a block moved inside it."""

from __future__ import annotations

from l2s_plugin.kernels.critical_path import block_end
from l2s_plugin.kernels.moves import add_move, is_feasible
from l2s_plugin.neighbourhoods import Neighbourhood, neighbourhood_kernel


@neighbourhood_kernel
def list_moves(state, moves):
    path, length = state.path, state.path_length[0]
    count = 0
    first = 0
    while first < length:
        last = block_end(state, first)
        u, v = path[first], path[last]
        if last + 1 < length:
            for i in range(first, last):
                if is_feasible(state, path[i], v, True):
                    count = add_move(moves, count, path[i], v, True)
            for i in range(first + 1, last - 1):  # the last operation inwards; next to its place is the swap above
                if is_feasible(state, path[i], v, False):
                    count = add_move(moves, count, path[i], v, False)
        if first > 0:
            skip = 1 if last == first + 1 and last + 1 < length else 0  # a block of two has one swap
            for i in range(first + 1 + skip, last + 1):
                if is_feasible(state, u, path[i], False):
                    count = add_move(moves, count, u, path[i], False)
            for i in range(first + 2, last):  # the first operation inwards
                if is_feasible(state, u, path[i], True):
                    count = add_move(moves, count, u, path[i], True)
        first = last + 1
    return count


def create() -> Neighbourhood:
    return Neighbourhood("n7", list_moves)
