"""N4 (Dell'Amico & Trubian 1993): move an operation towards the end or beginning of its block, as far as it goes."""

from __future__ import annotations

from l2s_plugin.kernels.critical_path import block_end
from l2s_plugin.kernels.moves import add_move, is_feasible
from l2s_plugin.neighbourhoods import Neighbourhood, neighbourhood_kernel


@neighbourhood_kernel
def list_moves(state, moves):
    """For each operation the farthest place that is proven feasible, in both directions; adjacent swaps once."""
    path, length = state.path, state.path_length[0]
    count = 0
    first = 0
    while first < length:
        last = block_end(state, first)
        for i in range(first, last + 1):
            for j in range(last, i, -1):
                if is_feasible(state, path[i], path[j], True):
                    count = add_move(moves, count, path[i], path[j], True)
                    break
            for j in range(first, i - 1):
                if is_feasible(state, path[j], path[i], False):
                    count = add_move(moves, count, path[j], path[i], False)
                    break
        first = last + 1
    return count


def create() -> Neighbourhood:
    return Neighbourhood("n4", list_moves)
