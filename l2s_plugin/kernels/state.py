"""The state of a search: a schedule as links and as one linear order, with heads and tails kept up to date.

Every array over operations has one entry more than there are operations: the last one, `n`, stands for "none", with
duration, end and tail 0, so that no kernel needs to ask whether a neighbour exists. Operations are stored as uint32:
for a signed index numba tests for negative values, which halves the speed of the innermost loops.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numba
import numpy as np
from numpy.typing import NDArray

from l2s_plugin.instance import Instance
from l2s_plugin.kernels.compile import kernel

Int32 = NDArray[np.int32]
Operations = NDArray[np.uint32]

LONG_AGO = -(2**30)
EARLIEST, AFTER, FIXED = 1, 2, 3  # what State.duration holds behind the durations
HALT = 3  # place in State.progress: not 0 once the run is over, for kernels that take long to look at


class State(NamedTuple):
    """One schedule of one instance, as the kernels see it.

    `end[x]` is the earliest end of operation x, `tail[x]` the longest path from its start to the end of the
    schedule; `end[x] - duration[x] + tail[x]` is the longest path through x, and equals `makespan[0]` exactly
    when x is critical. With due dates paths go on after the last operation of a job (`Instance.after`), and
    `makespan[0]` is the largest lateness, plus `Instance.offset`.

    Where the instance has dates or keeps machine orders (`has_dates`), some arrays go on behind their `size`, that of
    the others. `duration[EARLIEST * size + x]` is the time before which x cannot start, at least
    `duration[AFTER * size + x]` follows its end, and `duration[FIXED * size + x]` is 1 where the order of its machine
    is to be kept. `end[size + x]` is the end of its job predecessor, or its date if that is later, and
    `tail[size + x]` likewise what follows it; `job_pred[size + x]` and `job_succ[size + x]` are `size + x`, so that
    estimates read them as if they were neighbours in the job. Fields of their own and questions in the loops would make
    searches without dates slower, by up to a third.
    """

    duration: Int32
    machine: Int32
    job_pred: Operations
    job_succ: Operations
    job_last: Operations  # last operation of each job
    machine_pred: Operations
    machine_succ: Operations
    end: Int32
    tail: Int32
    order: Operations  # the operations in one topological order
    position: Int32  # of each operation in `order`; n for "none"
    path: Operations  # a critical path, path_length[0] operations
    path_length: Int32  # and two flags, which the neighbourhoods look at: `critical_path._open_ends`
    makespan: Int32
    progress: NDArray[np.int64]  # of the search: its step, the makespan of its incumbent, the step that found it; HALT
    moved: NDArray[np.int64]  # the step in which each operation was moved last; LONG_AGO if in none
    best_position: Int32  # of each operation in the linear order of the incumbent
    drawn_to: Int32  # the same of the schedule that the search is drawn to; all 0 without one
    times: Int32  # room for one number per operation, for kernels' own use
    window: Operations  # room for as many operations, likewise
    saved: Operations  # and again
    rng: NDArray[np.uint64]


def new_state(instance: Instance, seed: int) -> State:
    """A state without a schedule: call `set_order` next."""
    n = instance.n_operations

    def times(values: Int32 | int = 0) -> Int32:
        return np.append(np.broadcast_to(values, n), 0).astype(np.int32)

    def operations(values: Int32 | int = 0) -> Operations:
        return np.append(np.broadcast_to(values, n), n).astype(np.uint32)

    duration = times(instance.duration)
    if instance.has_dates or instance.kept:
        fixed = np.zeros(n, np.int32)
        fixed[[x for order in instance.kept for x in order]] = 1
        duration = np.concatenate((duration, times(instance.head), times(instance.tail), times(fixed)))
    size = n + 1
    beyond = np.arange(size, 2 * size if len(duration) > size else size, dtype=np.uint32)

    def with_room(values: Any) -> Any:
        return np.append(values, beyond).astype(values.dtype)

    return State(
        duration=duration,
        machine=times(instance.machine),
        job_pred=with_room(operations(instance.job_pred)),
        job_succ=with_room(operations(instance.job_succ)),
        job_last=(instance.job_offset[1:] - 1).astype(np.uint32),
        machine_pred=operations(),
        machine_succ=operations(),
        end=with_room(times()),
        tail=with_room(times()),
        order=np.zeros(n, np.uint32),
        position=times(),
        path=operations(),
        path_length=np.zeros(3, np.int32),
        makespan=np.zeros(1, np.int32),
        progress=np.zeros(4, np.int64),
        moved=np.full(n + 1, LONG_AGO, np.int64),
        best_position=times(),
        drawn_to=times(),
        times=times(),
        window=np.zeros(max(n, instance.n_machines) + 1, np.uint32),
        saved=operations(),
        rng=np.array([seed], np.uint64),
    )


_sample = new_state(Instance.from_jobs([[(0, 1)]]), 0)
STATE_TYPE = numba.typeof(_sample)


@kernel
def set_order(state, order):
    """Take over a schedule given as a linear order of all operations that respects the jobs; evaluate it."""
    n = state.order.shape[0]
    last = state.window  # the last operation seen on each machine
    last[:] = n
    state.position[n] = n
    for i in range(n):
        x = order[i]
        state.order[i] = x
        state.position[x] = i
        before = last[state.machine[x]]
        state.machine_pred[x] = before
        state.machine_succ[before] = x
        state.machine_succ[x] = n
        last[state.machine[x]] = x
    state.machine_pred[n] = n
    state.machine_succ[n] = n
    update_times(state, 0, n - 1)


@kernel
def has_dates(state):
    """Whether there are dates, or kept machine orders, to look at."""
    return state.duration.shape[0] > state.position.shape[0]


@numba.njit(inline="always")  # a call with a state copies its 22 arrays, and costs a twentieth of a step
def update_times(state, first, last):
    """Recompute the ends from position `first` of the linear order on, the tails from `last` down, and the makespan."""
    if has_dates(state):
        _update_with_dates(state, first, last)
    else:
        update_ends(state, first)
        update_tails(state, last)


@kernel
def update_ends(state, start):
    """Recompute the ends of all operations from position `start` of the linear order on, and the makespan."""
    duration, job_pred, machine_pred = state.duration, state.job_pred, state.machine_pred
    end, order = state.end, state.order
    for i in range(np.uint64(order.shape[0] - start)):  # unsigned: as in `update_tails`
        x = order[np.uint64(start) + i]
        end[x] = max(end[job_pred[x]], end[machine_pred[x]]) + duration[x]
    makespan = 0
    for x in state.job_last:
        makespan = max(makespan, end[x])
    state.makespan[0] = makespan


@kernel
def update_tails(state, start):
    """Recompute the tails of all operations from position `start` of the linear order down to the first."""
    duration, job_succ, machine_succ = state.duration, state.job_succ, state.machine_succ
    tail, order = state.tail, state.order
    last = np.uint64(start)  # unsigned: counting down with a sign takes half as long again
    for i in range(np.uint64(start + 1)):
        x = order[last - i]
        tail[x] = max(tail[job_succ[x]], tail[machine_succ[x]]) + duration[x]


@kernel
def _update_with_dates(state, first, last):
    """`update_times` with dates."""
    duration, order, end, tail = state.duration, state.order, state.end, state.tail
    size = state.position.shape[0]
    earliest, after = EARLIEST * size, AFTER * size
    for i in range(first, order.shape[0]):
        x = order[i]
        end[size + x] = max(end[state.job_pred[x]], duration[earliest + x])
        end[x] = max(end[size + x], end[state.machine_pred[x]]) + duration[x]
    makespan = 0
    for x in state.job_last:
        makespan = max(makespan, end[x] + duration[after + x])
    state.makespan[0] = makespan
    for i in range(last, -1, -1):
        x = order[i]
        tail[size + x] = max(tail[state.job_succ[x]], duration[after + x])
        tail[x] = max(tail[size + x], tail[state.machine_succ[x]]) + duration[x]
