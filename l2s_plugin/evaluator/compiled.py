"""The critical-path method, compiled: one topological pass forward, one pass backward, O(operations).

A batch is spread over threads in ranges of solutions. Each range has its own workspace, and every solution is
computed in that workspace alone, so the answers do not depend on the number of threads.
"""

from __future__ import annotations

import os
import threading
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from l2s_plugin.errors import ScheduleError
from l2s_plugin.evaluator.batch import Batch, Int32, Operations
from l2s_plugin.kernels.compile import kernel

_UNSEEN = 2**32 - 1
_NEVER = 2**30  # more than any operation ever waits for
_OPERATIONS_PER_TASK = 16_000  # about 100 us of work; less is done sooner than another thread is woken
_TASKS_PER_THREAD = 4  # cores are seldom equally free


class SolutionTimes(NamedTuple):
    """Of one solution, or of several: then `est` and `lst` one after the other, the rest an entry per solution."""

    est: Any
    lst: Any
    makespan: Any
    feasible: Any
    length: Any  # of the longest path: the makespan, or the largest lateness plus `Instance.offset`


class Workspace(NamedTuple):
    """One solution while it is being evaluated; the entry n, the number of operations, stands for none."""

    duration: Int32
    start: Int32
    tail: Int32
    waiting: Int32  # unfinished predecessors
    job_succ: Operations
    machine_succ: Operations
    queue: Operations  # becomes a topological order


def new_times(batch: Batch) -> SolutionTimes:
    """Room for the answers to a batch."""
    n, count = len(batch.order), len(batch.which)
    per_solution = np.empty(count, np.int32), np.empty(count, np.bool_), np.empty(count, np.int32)
    return SolutionTimes(np.empty(n, np.int32), np.empty(n, np.int32), *per_solution)


def new_workspace(n: int) -> Workspace:
    """Room for one solution of up to n operations."""
    kinds: list[Any] = [np.int32] * 4 + [np.uint32] * 3
    return Workspace(*(np.empty(n + 1, kind) for kind in kinds))


@kernel
def link(batch: Batch, solution: int, work: Workspace) -> bool:
    """Take one solution into the workspace: durations, dates, successors, number of predecessors.

    Returns whether every operation is listed once, machine by machine. Nothing is read or written out of bounds,
    whatever the order.
    """
    duration, waiting, job_succ, machine_succ = work.duration, work.waiting, work.job_succ, work.machine_succ
    order, machine = batch.order, batch.machine
    at = batch.offset[solution]
    n = batch.offset[solution + 1] - at
    base = batch.operation_offset[batch.which[solution]]
    dated = batch.earliest.shape[0] > 0
    for x in range(n):
        work.start[x] = batch.earliest[base + x] if dated else 0
        work.tail[x] = batch.after[base + x] if dated else 0
        duration[x] = batch.duration[base + x]
        job_succ[x] = batch.job_succ[base + x]
        machine_succ[x] = _UNSEEN
        waiting[x] = 1  # for its machine predecessor, which all but the first on each machine have
    for x in range(1, n):
        waiting[x] += batch.job_succ[base + x - 1] != n
    before, current = np.uint32(n), np.int32(-1)
    for p in range(n):
        x = order[np.uint64(at + p)]  # an unsigned index needs no test for negative values
        if x >= n or machine_succ[x] != _UNSEEN or x == before:
            return False
        own = machine[np.uint64(base + x)]
        if own != current:
            if own < current:
                return False
            machine_succ[before] = n
            before, current = np.uint32(n), own
            waiting[x] -= 1
        machine_succ[before] = x  # the entry of "none" takes what nobody reads
        before = x
    machine_succ[before] = n
    return True


@kernel
def forward(n: int, work: Workspace) -> np.int64:
    """Earliest starts by Kahn's algorithm; `queue` becomes a topological order, `start[n]` the makespan.

    Returns the number of operations placed, which is less than n exactly when the orders contain a cycle. A
    successor is always written behind the queue and counted only when it waits for nothing more: whether it
    does is close to a coin toss, and a branch on it would be mispredicted half of the time.
    """
    duration, start, waiting, queue = work.duration, work.start, work.waiting, work.queue
    job_succ, machine_succ = work.job_succ, work.machine_succ
    count = np.uint64(0)  # unsigned, and numbers kept in 32 bits: a quarter faster
    for x in range(n):
        queue[count] = x
        count += np.uint64(waiting[x] == 0)
    start[n] = 0
    waiting[n] = _NEVER
    placed = np.uint64(0)
    while placed < count:
        x = queue[placed]
        placed += np.uint64(1)
        end = np.int32(start[x] + duration[x])
        y, z = job_succ[x], machine_succ[x]
        start[y] = max(start[y], end)
        start[z] = max(start[z], end)
        left = np.int32(waiting[y] - np.int32(1))
        waiting[y] = left
        queue[count] = y
        count += np.uint64(left == 0)
        left = np.int32(waiting[z] - np.int32(1))
        waiting[z] = left
        queue[count] = z
        count += np.uint64(left == 0)
    return np.int64(placed)


@kernel
def backward(n: int, work: Workspace) -> None:
    """Longest path from the start of each operation to the end, against the topological order."""
    duration, tail, queue = work.duration, work.tail, work.queue
    job_succ, machine_succ = work.job_succ, work.machine_succ
    tail[n] = 0
    for i in range(n - 1, -1, -1):
        x = queue[i]
        tail[x] = max(tail[x], max(tail[job_succ[x]], tail[machine_succ[x]])) + duration[x]


@kernel
def evaluate_range(batch: Batch, times: SolutionTimes, work: Workspace, first: int, last: int) -> int:
    """Evaluate the solutions `first` up to, not including, `last`; returns the first that is none, or -1."""
    start, tail = work.start, work.tail
    for solution in range(first, last):
        at = batch.offset[solution]
        n = batch.offset[solution + 1] - at
        if not link(batch, solution, work):
            return solution
        feasible = forward(n, work) == n
        times.feasible[solution] = feasible
        if feasible:
            backward(n, work)
            length = start[n]
            times.makespan[solution] = length
            if batch.earliest.shape[0] > 0:
                for x in range(n):
                    length = max(length, start[x] + tail[x])
            times.length[solution] = length
            for x in range(n):
                times.est[at + x] = start[x]
                times.lst[at + x] = length - tail[x]
        else:
            times.makespan[solution] = times.length[solution] = -1
            for x in range(n):
                times.est[at + x] = -1
                times.lst[at + x] = -1
    return -1


@kernel
def _evaluate_arrays(batch: Any, times: Any, work: Any, first: int, last: int) -> int:
    """`evaluate_range` for plain tuples, which numba recognises in a third of the time of named ones."""
    return evaluate_range(Batch(*batch), SolutionTimes(*times), Workspace(*work), first, last)


@kernel
def check_range(batch: Batch, work: Workspace, first: int, last: int) -> int:
    """The first solution that does not list its operations as it should, or -1."""
    for solution in range(first, last):
        if not link(batch, solution, work):
            return solution
    return -1


def evaluate(batch: Batch, threads: int = 1) -> SolutionTimes:
    """Evaluate a batch on up to `threads` threads; fewer where the work is not worth waking them."""
    times = new_times(batch)
    count = len(batch.which)
    tasks = min(threads * _TASKS_PER_THREAD, count, 1 + len(batch.order) // _OPERATIONS_PER_TASK)
    if threads == 1 or tasks <= 1:
        wrong = [_evaluate_part(batch, times, 0, count)]
    else:
        share = np.linspace(0, len(batch.order), tasks + 1)[1:-1]
        cuts = [0, *np.searchsorted(batch.offset, share).tolist(), count]
        submit = _pool(threads).submit
        futures = [submit(_evaluate_part, batch, times, first, last) for first, last in pairwise(cuts)]
        wrong = [future.result() for future in futures]
    for solution in wrong:
        if solution >= 0:
            raise _explain(batch, solution)
    return times


def check(batch: Batch) -> None:
    """Raise `ScheduleError` unless every solution lists all operations once, machine by machine."""
    solution = check_range(batch, _workspace(batch), 0, len(batch.which))
    if solution >= 0:
        raise _explain(batch, solution)


def topological_order(batch: Batch) -> Operations | None:
    """The operations of a single solution in an order that respects jobs and machines; None if there is a cycle."""
    n, work = len(batch.order), _workspace(batch)
    if not link(batch, 0, work):
        raise _explain(batch, 0)
    return work.queue[:n].copy() if forward(n, work) == n else None


def _explain(batch: Batch, solution: int) -> ScheduleError:
    """What is wrong with the order of a solution, for people."""
    order = batch.order[batch.offset[solution] : batch.offset[solution + 1]].view(np.int32).tolist()
    base = batch.operation_offset[batch.which[solution]]
    machine = batch.machine[base : base + len(order)]
    for place, (operation, expected) in enumerate(zip(order, np.sort(machine), strict=True)):
        if not 0 <= operation < len(order):
            reason = f"no operation has this number, expected 0 to {len(order) - 1}"
        elif machine[operation] != expected:
            reason = f"it belongs to machine {machine[operation]}, expected an operation of machine {expected}"
        elif operation in order[:place]:
            reason = "it is listed twice"
        else:
            continue
        break
    return ScheduleError(f"solution {solution}: position {place} of the order holds operation {operation}: {reason}")


def _evaluate_part(batch: Batch, times: SolutionTimes, first: int, last: int) -> int:
    return int(_evaluate_arrays(tuple(batch), tuple(times), tuple(_workspace(batch)), first, last))


_thread = threading.local()


def _workspace(batch: Batch) -> Workspace:
    """The workspace of this thread, kept for the next call."""
    sizes = batch.operation_offset
    n = int(sizes[1]) if len(sizes) == 2 else int(np.diff(sizes).max(initial=0))
    if not hasattr(_thread, "work") or len(_thread.work.queue) <= n:
        _thread.work = new_workspace(n)
    work: Workspace = _thread.work
    return work


@cache
def _pool(threads: int) -> ThreadPoolExecutor:
    return ThreadPoolExecutor(threads, thread_name_prefix="l2s-evaluator")


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_pool.cache_clear)  # threads do not survive a fork
