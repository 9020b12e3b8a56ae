"""N7 (Zhang et al. 2007): N6, and the first or last operation of a block moved inside it."""

from __future__ import annotations

from l2s_plugin.neighbourhoods import Neighbourhood, neighbourhood_kernel
from l2s_plugin.neighbourhoods.insertions import list_insertions


@neighbourhood_kernel
def list_moves(state, moves):
    return list_insertions(state, moves, True)


def create() -> Neighbourhood:
    return Neighbourhood("n7", list_moves)
