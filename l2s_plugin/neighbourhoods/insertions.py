"""The moves of N6 and N7: operations moved out of their block, to its end or beginning, and these two into it."""

from __future__ import annotations

from l2s_plugin.kernels.compile import kernel
from l2s_plugin.kernels.critical_path import block_end
from l2s_plugin.kernels.moves import add_if_feasible


@kernel
def list_insertions(state, moves, inward):
    """Each operation of a block right behind its last and right before its first; with `inward`, these two further in.

    Inward moves stop one place short: next to its own place an operation's move is a swap that is there already.
    """
    path, length = state.path, state.path_length[0]
    count = 0
    first = 0
    while first < length:
        last = block_end(state, first)
        u, v = path[first], path[last]
        if last + 1 < length:
            for i in range(first, last):
                count = add_if_feasible(state, moves, count, path[i], v, True)
            if inward:
                for i in range(first + 1, last - 1):
                    count = add_if_feasible(state, moves, count, path[i], v, False)
        if first > 0:
            # a block of two has one swap, which an inner block offers at its end already
            skip = 1 if last == first + 1 and last + 1 < length else 0
            for i in range(first + 1 + skip, last + 1):
                count = add_if_feasible(state, moves, count, u, path[i], False)
            if inward:
                for i in range(first + 2, last):
                    count = add_if_feasible(state, moves, count, u, path[i], True)
        first = last + 1
    return count
