"""The neighbourhoods of the literature; each is compiled when it is first asked for."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

from l2s_plugin.kernels.compile import kernel
from l2s_plugin.kernels.critical_path import block_end, is_kept
from l2s_plugin.kernels.moves import add_if_feasible, add_move, is_feasible
from l2s_plugin.neighbourhoods import Neighbourhood, neighbourhood_kernel


def neighbourhood(list_moves: Callable[..., Any]) -> Callable[[], Neighbourhood]:
    """Turn a function that lists moves into the factory of the neighbourhood of that name."""
    return cache(lambda: Neighbourhood(list_moves.__name__, neighbourhood_kernel(list_moves)))


@neighbourhood
def n1(state, moves):
    """Swap any two neighbours inside a critical block (van Laarhoven, Aarts & Lenstra 1992)."""
    path, length = state.path, state.path_length[0]
    count = 0
    for i in range(length - 1):
        u, v = path[i], path[i + 1]
        if state.machine_succ[u] == v and not is_kept(state, u):
            count = add_if_feasible(state, moves, count, u, v, True)
    return count


@neighbourhood
def n4(state, moves):
    """Move an operation towards the end or beginning of its block (Dell'Amico & Trubian 1993).

    For each operation the farthest place that is proven feasible, in both directions; adjacent swaps once.
    """
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


@neighbourhood
def n5(state, moves):
    """Swap the first and the last pair of each block (Nowicki & Smutnicki 1996; paper, section 3).

    Only the last pair of the first block, only the first pair of the last, unless dates hold the path there; one swap
    in a block of two. Swapping neighbours on a critical path never closes a cycle, unless they belong to the same job;
    with durations of 0 it may, and only what is proven feasible is offered.
    """
    path, length = state.path, state.path_length[0]
    begins_open, ends_open = state.path_length[1] > 0, state.path_length[2] > 0
    count = 0
    first = 0
    while first < length:
        last = block_end(state, first)
        if last > first:
            opens = first > 0 or begins_open
            if opens:
                count = add_if_feasible(state, moves, count, path[first], path[first + 1], True)
            closes = last + 1 < length or ends_open
            if closes and (not opens or last > first + 1):
                count = add_if_feasible(state, moves, count, path[last - 1], path[last], True)
        first = last + 1
    return count


@neighbourhood
def n6(state, moves):
    """Move an operation right behind the last or before the first of its block (Balas & Vazacopoulos 1998)."""
    return _insertions(state, moves, False)


@neighbourhood
def n7(state, moves):
    """N6, and the first or last operation of a block moved inside it (Zhang et al. 2007)."""
    return _insertions(state, moves, True)


@kernel
def _insertions(state, moves, inward):
    """Each operation of a block right behind its last and right before its first; with `inward`, these two further in.

    Inward moves stop one place short: next to its own place an operation's move is a swap that is there already.
    """
    path, length = state.path, state.path_length[0]
    begins_open, ends_open = state.path_length[1] > 0, state.path_length[2] > 0
    count = 0
    first = 0
    while first < length:
        last = block_end(state, first)
        u, v = path[first], path[last]
        closes = last + 1 < length or ends_open
        if closes:
            for i in range(first, last):
                count = add_if_feasible(state, moves, count, path[i], v, True)
            if inward:
                for i in range(first + 1, last - 1):
                    count = add_if_feasible(state, moves, count, path[i], v, False)
        if first > 0 or begins_open:
            # a block of two has one swap, which an inner block offers at its end already
            skip = 1 if last == first + 1 and closes else 0
            for i in range(first + 1 + skip, last + 1):
                count = add_if_feasible(state, moves, count, u, path[i], False)
            if inward:
                for i in range(first + 2, last):
                    count = add_if_feasible(state, moves, count, u, path[i], True)
        first = last + 1
    return count
