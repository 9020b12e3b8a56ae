"""N1 (van Laarhoven, Aarts & Lenstra 1992): swap any two neighbours inside a critical block."""

from __future__ import annotations

from l2s_plugin.kernels.moves import add_if_feasible
from l2s_plugin.neighbourhoods import Neighbourhood, neighbourhood_kernel


@neighbourhood_kernel
def list_moves(state, moves):
    path = state.path
    count = 0
    for i in range(state.path_length[0] - 1):
        u, v = path[i], path[i + 1]
        if state.machine_succ[u] == v:
            count = add_if_feasible(state, moves, count, u, v, True)
    return count


def create() -> Neighbourhood:
    return Neighbourhood("n1", list_moves)
