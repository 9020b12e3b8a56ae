"""N1 (van Laarhoven, Aarts & Lenstra 1992): swap any two operations next to each other in a block."""

from __future__ import annotations

from l2s_plugin.kernels.moves import add_move, is_feasible
from l2s_plugin.neighbourhoods import Neighbourhood, neighbourhood_kernel


@neighbourhood_kernel
def list_moves(state, moves):
    """Swapping neighbours on a critical path may close a cycle where durations are 0: offer what is proven not to."""
    path, length = state.path, state.path_length[0]
    count = 0
    for i in range(length - 1):
        u, v = path[i], path[i + 1]
        if state.machine_succ[u] == v and is_feasible(state, u, v, True):
            count = add_move(moves, count, u, v, True)
    return count


def create() -> Neighbourhood:
    return Neighbourhood("example-adjacent", list_moves)
