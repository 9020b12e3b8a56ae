"""Moves: take operation u out of its machine order and put it right after v, or v right before u.

u stands before v on their machine; an adjacent swap is the special case v = machine_succ[u]. A backward move is a
forward move in the reversed graph, where predecessors and successors, ends and tails change places: the functions
below are written for the forward case and called with the roles exchanged for the other.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numba
import numpy as np
from numpy.typing import NDArray

from l2s_plugin.kernels.compile import kernel
from l2s_plugin.kernels.state import AFTER, EARLIEST, has_dates, update_times

Int32 = NDArray[np.int32]
Operations = NDArray[np.uint32]

NO_LIMIT = 2**31 - 1
NEVER = 2**30


class Moves(NamedTuple):
    """Candidate moves in rows; only the first `count` rows that a kernel is told of are valid.

    `u`, `v` are operations of one machine, u before v; `forward` is 1 where u goes right after v, 0 where v goes
    right before u. `value` is the makespan the move leads to, estimated or exact. `admissible` is 1 where the
    host allows the move (not tabu, or good enough). `idle` says for how many steps the move has been allowed again
    since what it brings back was changed: negative while that is forbidden, `NEVER` when it brings nothing back, and in
    hosts without a memory always `NEVER`. `returns` says how often what it brings back has been changed so far.
    """

    u: Operations
    v: Operations
    forward: Int32
    value: Int32
    admissible: Int32
    idle: Int32
    returns: Int32

    def rows(self, rows: Any) -> Moves:
        """Some of the moves, as Python code selects them."""
        return Moves._make(column[rows] for column in self)


def new_moves(capacity: int) -> Moves:
    """Room for `capacity` moves."""
    return Moves._make(np.zeros(capacity, np.uint32 if name in "uv" else np.int32) for name in Moves._fields)


MOVES_TYPE = numba.typeof(new_moves(1))


@kernel
def add_move(moves, count, u, v, forward):
    """Append a move, if there is room; returns the new count."""
    if count < moves.u.shape[0]:
        moves.u[count] = u
        moves.v[count] = v
        moves.forward[count] = forward
        count += 1
    return count


@kernel
def is_feasible(state, u, v, forward):
    """Whether the move certainly keeps the graph acyclic, O(1).

    u may go behind v unless a path leads from u's job successor s to v (Balas & Vazacopoulos 1998, prop. 2.2).
    Such a path would make tail[s] >= duration[s] + tail[v], end[s] <= start of v, and s stand before v in the
    linear order: one of the three broken is proof enough, also with zero durations. False means "not proven".
    """
    end, tail, duration, position = state.end, state.tail, state.duration, state.position
    if forward:
        s = state.job_succ[u]
        if s == v:
            return False
        return tail[s] < duration[s] + tail[v] or end[s] > end[v] - duration[v] or position[s] > position[v]
    s = state.job_pred[v]
    if s == u:
        return False
    if s == state.order.shape[0]:
        return True
    return end[s] < duration[s] + end[u] or tail[s] > tail[u] - duration[u] or position[s] < position[u]


@kernel
def add_if_feasible(state, moves, count, u, v, forward):
    """Append a move that certainly keeps the graph acyclic; returns the new count."""
    if is_feasible(state, u, v, forward):
        count = add_move(moves, count, u, v, forward)
    return count


@kernel
def _paths(u, v, dates, job_pred, job_succ, machine_pred, machine_succ, end, tail, duration, times, limit):
    """Longest path through u and through one of the operations it is moved past, with old values for all others.

    Given up, with one of the two above `limit`, as soon as that is certain. Exact when no head or tail it reads
    changes: always for adjacent operations (Taillard 1994); a lower bound is not guaranteed for longer insertions
    (Balas & Vazacopoulos 1998).
    """
    length = max(tail[job_succ[dates + u]], tail[machine_succ[v]]) + duration[u]
    last = end[machine_pred[u]]
    x = u
    k = 0
    while x != v:
        x = machine_succ[x]
        last = max(end[job_pred[dates + x]], last) + duration[x]
        if last + length > limit:
            return last + length, last + length
        times[k] = last
        k += 1
    own = max(end[job_pred[dates + u]], last) + length
    others = np.int32(0)
    while k > 0:
        k -= 1
        others = max(others, times[k] + max(tail[job_succ[dates + x]], length))
        if max(own, others) > limit:
            break
        length = max(tail[job_succ[dates + x]], length) + duration[x]
        x = machine_pred[x]
    return own, others


@kernel
def paths(state, u, v, forward, limit=NO_LIMIT):
    """Estimated longest paths of the neighbour: through the operation that goes elsewhere, and through one of those it
    is moved past, in time proportional to their number."""
    dates = np.uint64(state.job_pred.shape[0] - state.machine_pred.shape[0])  # where they are looked at, if any
    if forward:
        return _paths(
            u, v, dates, state.job_pred, state.job_succ, state.machine_pred, state.machine_succ,
            state.end, state.tail, state.duration, state.times, limit,
        )  # fmt: skip
    return _paths(
        v, u, dates, state.job_succ, state.job_pred, state.machine_succ, state.machine_pred,
        state.tail, state.end, state.duration, state.times, limit,
    )  # fmt: skip


@kernel
def estimate(state, u, v, forward, limit=NO_LIMIT):
    """Estimated makespan of the neighbour: the longer of the two `paths`.

    An estimate above `limit` may be given up early: what is returned is then too low, but above `limit`.
    """
    own, others = paths(state, u, v, forward, limit)
    return max(own, others)


@kernel
def _relink(u, v, machine_pred, machine_succ):
    """Take u out and put it right after v."""
    before, after = machine_pred[u], machine_succ[u]
    machine_succ[before] = after
    machine_pred[after] = before
    after = machine_succ[v]
    machine_succ[v] = u
    machine_pred[u] = v
    machine_succ[u] = after
    machine_pred[after] = u
    none = machine_pred.shape[0] - 1
    machine_pred[none] = none
    machine_succ[none] = none


@kernel
def _reorder(u, v, job_pred, machine_pred, order, position, window, step):
    """Put u and what follows from it behind v in the linear order, which runs by `step`: -1 in the reversed graph.

    Only the window between the two is touched. Returns False, and changes nothing, when v itself follows from u:
    the move would close a cycle.
    """
    first, last = np.int64(position[u]), np.int64(position[v])
    position[u] = -1  # marks what has to go behind v; "none" has position n, never marked
    delayed = 1
    window[0] = u
    i = first
    while i != last:
        i += step
        x = order[i]
        if position[job_pred[x]] < 0 or position[machine_pred[x]] < 0:
            if x == v:
                for k in range(delayed):
                    position[window[k]] = -1 - position[window[k]]
                position[u] = first
                return False
            position[x] = -1 - i
            window[delayed] = x
            delayed += 1
    place = first
    i = first
    while i != last:
        i += step
        x = order[i]
        if position[x] >= 0:
            order[place] = x
            position[x] = place
            place += step
    for k in range(delayed):
        order[place] = window[k]
        position[window[k]] = place
        place += step
    return True


@kernel
def _shift(state, u, v, job_pred, machine_pred, machine_succ, step):
    """`relink` for the forward case."""
    back = machine_succ[u]
    _relink(u, v, machine_pred, machine_succ)
    if _reorder(u, v, job_pred, machine_pred, state.order, state.position, state.window, step):
        return True
    _relink(u, back, machine_succ, machine_pred)
    return False


@kernel
def relink(state, u, v, forward):
    """Change machine order and linear order, not the times; False (and nothing changed) if it closes a cycle."""
    if forward:
        return _shift(state, u, v, state.job_pred, state.machine_pred, state.machine_succ, 1)
    return _shift(state, v, u, state.job_succ, state.machine_succ, state.machine_pred, -1)


@kernel
def apply(state, u, v, forward):
    """Make the move and bring ends, tails and makespan up to date; False (and nothing changed) on a cycle."""
    first, last = state.position[u], state.position[v]
    if not relink(state, u, v, forward):
        return False
    update_times(state, first, last)
    return True


@kernel
def exact_value(state, u, v, forward):
    """Makespan after the move, without making it; -1 if it would close a cycle."""
    order, position, saved = state.order, state.position, state.saved
    first, last = position[u], position[v]
    for i in range(first, last + 1):
        saved[i] = order[i]
    back = state.machine_succ[u] if forward else state.machine_pred[v]
    if not relink(state, u, v, forward):
        return -1
    duration, end, times = state.duration, state.end, state.times
    dated, size = has_dates(state), position.shape[0]
    earliest, after = EARLIEST * size, AFTER * size
    for i in range(first, order.shape[0]):
        x = order[i]
        before, other = state.job_pred[x], state.machine_pred[x]
        # operations before the window keep their ends; "none" has the last position and ends at 0
        a = times[before] if first <= position[before] < order.shape[0] else end[before]
        b = times[other] if first <= position[other] < order.shape[0] else end[other]
        begin = max(a, b)
        if dated:
            begin = max(begin, duration[earliest + x])
        times[x] = begin + duration[x]
    makespan = 0
    for x in state.job_last:
        last_end = times[x] if position[x] >= first else end[x]
        makespan = max(makespan, last_end + duration[after + x] if dated else last_end)
    if forward:
        _relink(u, back, state.machine_succ, state.machine_pred)
    else:
        _relink(v, back, state.machine_pred, state.machine_succ)
    for i in range(first, last + 1):
        order[i] = saved[i]
        position[saved[i]] = i
    return makespan


@kernel
def list_neighbours(moves, count, order, place, orders):
    """Fill the rows of `orders` with the machine orders after each move; `order` are those of now, machine by machine,
    with every operation at its `place`."""
    for row in range(count):
        for i in range(order.shape[0]):
            orders[row, i] = order[i]
        first, last = place[moves.u[row]], place[moves.v[row]]
        if moves.forward[row]:
            for i in range(first, last):
                orders[row, i] = order[i + 1]
            orders[row, last] = order[first]
        else:
            for i in range(first, last):
                orders[row, i + 1] = order[i]
            orders[row, first] = order[last]


@kernel
def exact_values(state, u, v, forward, count, values):
    """Fill `values` with the exact makespan after each move."""
    for row in range(count):
        values[row] = exact_value(state, u[row], v[row], forward[row])
