"""N7 (Zhang et al. 2007): N6, and the first or last operation of a block moved inside it."""

from __future__ import annotations

from l2s_plugin.kernels.critical_path import block_end
from l2s_plugin.kernels.moves import add_move, is_feasible
from l2s_plugin.neighbourhoods import Neighbourhood, neighbourhood_kernel
from l2s_plugin.neighbourhoods.insertions import add_moves_to_the_beginning, add_moves_to_the_end


@neighbourhood_kernel
def list_moves(state, moves):
    """Inward moves stop one place short: next to its own place an operation's move is a swap of N6."""
    path, length = state.path, state.path_length[0]
    count = 0
    first = 0
    while first < length:
        last = block_end(state, first)
        u, v = path[first], path[last]
        if last + 1 < length:
            count = add_moves_to_the_end(state, moves, count, first, last)
            for i in range(first + 1, last - 1):
                if is_feasible(state, path[i], v, False):
                    count = add_move(moves, count, path[i], v, False)
        if first > 0:
            count = add_moves_to_the_beginning(state, moves, count, first, last)
            for i in range(first + 2, last):
                if is_feasible(state, u, path[i], True):
                    count = add_move(moves, count, u, path[i], True)
        first = last + 1
    return count


def create() -> Neighbourhood:
    return Neighbourhood("n7", list_moves)
