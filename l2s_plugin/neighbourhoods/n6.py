"""N6 (Balas & Vazacopoulos 1998): move an operation of a block right behind its last or right before its first."""

from __future__ import annotations

from l2s_plugin.neighbourhoods import Neighbourhood, neighbourhood_kernel
from l2s_plugin.neighbourhoods.insertions import list_insertions


@neighbourhood_kernel
def list_moves(state, moves):
    return list_insertions(state, moves, False)


def create() -> Neighbourhood:
    return Neighbourhood("n6", list_moves)
