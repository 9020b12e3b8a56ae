"""N6 (Balas & Vazacopoulos 1998): move an operation of a block right behind its last or right before its first."""

from __future__ import annotations

from l2s_plugin.kernels.critical_path import block_end
from l2s_plugin.neighbourhoods import Neighbourhood, neighbourhood_kernel
from l2s_plugin.neighbourhoods.insertions import add_moves_to_the_beginning, add_moves_to_the_end


@neighbourhood_kernel
def list_moves(state, moves):
    length = state.path_length[0]
    count = 0
    first = 0
    while first < length:
        last = block_end(state, first)
        if last + 1 < length:
            count = add_moves_to_the_end(state, moves, count, first, last)
        if first > 0:
            count = add_moves_to_the_beginning(state, moves, count, first, last)
        first = last + 1
    return count


def create() -> Neighbourhood:
    return Neighbourhood("n6", list_moves)
