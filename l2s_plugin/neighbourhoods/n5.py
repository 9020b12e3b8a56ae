"""N5 (Nowicki & Smutnicki 1996; paper, section 3): swap the first and the last pair of each block."""

from __future__ import annotations

from l2s_plugin.kernels.critical_path import block_end
from l2s_plugin.kernels.moves import add_if_feasible
from l2s_plugin.neighbourhoods import Neighbourhood, neighbourhood_kernel


@neighbourhood_kernel
def list_moves(state, moves):
    """Only the last pair of the first block, only the first pair of the last, one swap in a block of two.

    Swapping neighbours on a critical path never closes a cycle, unless they belong to the same job; with durations
    of 0 it may, and only what is proven feasible is offered.
    """
    path, length = state.path, state.path_length[0]
    count = 0
    first = 0
    while first < length:
        last = block_end(state, first)
        if last > first:
            if first > 0:
                count = add_if_feasible(state, moves, count, path[first], path[first + 1], True)
            if last + 1 < length and (first == 0 or last > first + 1):
                count = add_if_feasible(state, moves, count, path[last - 1], path[last], True)
        first = last + 1
    return count


def create() -> Neighbourhood:
    return Neighbourhood("n5", list_moves)
