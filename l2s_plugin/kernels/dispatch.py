"""The two ways in which dispatching rules build a schedule from a priority per operation, smallest first.

Both take O(n log n), and insertion the search for a gap on top. Equal priorities are settled by a random
number drawn for each operation in advance. `order` receives the operations machine by machine; the piece of a
machine begins at its `machine_offset`. The arguments after `order` are work space.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from l2s_plugin.kernels.compile import kernel
from l2s_plugin.kernels.heap import pop, push
from l2s_plugin.kernels.random import next_uint64


class Shop(NamedTuple):
    """An instance as these kernels see it; after the last of a job, `job_succ` is n."""

    duration: NDArray[np.int32]
    machine: NDArray[np.int32]
    job_offset: NDArray[np.uint32]
    job_succ: NDArray[np.uint32]
    machine_offset: NDArray[np.int32]
    earliest: NDArray[np.int32]  # none starts before


@kernel
def draw_ties(rng, tie):
    """Draw the numbers that settle equal priorities."""
    for x in range(tie.shape[0]):
        tie[x] = next_uint64(rng)


@kernel
def dispatch_by_insertion(shop, priority, tie, order, start, ready, size, heap):
    """Put the most urgent of all jobs' next operations into the earliest gap that fits; repeat.

    No operation placed earlier is moved. Fills `order`, `start` in the same sequence, and `ready`: when the
    operation before it in the job ends.
    """
    duration, machine, job_offset, job_succ, machine_offset, earliest = shop
    n = duration.shape[0]
    waiting = 0
    for j in range(job_offset.shape[0] - 1):
        push(heap, 0, waiting, job_offset[j], priority, tie)
        waiting += 1
    for x in range(n):
        ready[x] = earliest[x]
    size[:] = 0
    while waiting > 0:
        x = pop(heap, 0, waiting, priority, tie)
        waiting -= 1
        m = machine[x]
        first = machine_offset[m]
        stop = first + size[m]
        time = ready[x]

        # The first operation on the machine that x could come before: it starts at that time or later. One of
        # duration 0 at that very time stays before x, which may have waited for it through other machines.
        low, high = first, stop
        while low < high:
            middle = (low + high) >> 1
            y = order[middle]
            if start[middle] < time or start[middle] + duration[y] == time:
                low = middle + 1
            else:
                high = middle
        place = low
        if place > first:
            time = max(time, start[place - 1] + duration[order[place - 1]])
        while place < stop and start[place] < time + duration[x]:
            time = start[place] + duration[order[place]]
            place += 1

        for i in range(stop, place, -1):
            order[i] = order[i - 1]
            start[i] = start[i - 1]
        order[place] = x
        start[place] = time
        size[m] += 1
        following = job_succ[x]
        if following < n:
            ready[following] = max(ready[following], time + duration[x])
            push(heap, 0, waiting, following, priority, tie)
            waiting += 1


@kernel
def dispatch_without_delay(
    shop, priority, first_come, tie, order, end, size, started, busy, touched, queue, running, ready, coming
):
    """Follow the clock: an idle machine that operations wait for starts the most urgent of them.

    Everything that ends or comes at one moment has done so before machines choose: an operation comes when the one
    before it in its job has ended, but not before its date. With `first_come`, its priority becomes the time at which
    it begins to wait. Fills `order`.
    """
    duration, machine, job_offset, job_succ, machine_offset, earliest = shop
    n = duration.shape[0]
    size[:] = 0  # operations waiting for the machine, in its piece of `queue`
    started[:] = 0
    busy[:] = False
    n_running = 0
    n_touched = 0
    n_coming = 0
    for j in range(job_offset.shape[0] - 1):
        x = job_offset[j]
        ready[x] = earliest[x]
        push(coming, 0, n_coming, x, ready, tie)
        n_coming += 1

    time = ready[coming[0]]
    while n_touched > 0 or n_running > 0 or n_coming > 0:
        while n_coming > 0 and ready[coming[0]] == time:
            x = pop(coming, 0, n_coming, ready, tie)
            n_coming -= 1
            m = machine[x]
            if first_come:
                priority[x] = time
            push(queue, machine_offset[m], size[m], x, priority, tie)
            size[m] += 1
            touched[n_touched] = m
            n_touched += 1
        for i in range(n_touched):
            m = touched[i]
            if busy[m] or size[m] == 0:
                continue
            x = pop(queue, machine_offset[m], size[m], priority, tie)
            size[m] -= 1
            order[machine_offset[m] + started[m]] = x
            started[m] += 1
            busy[m] = True
            end[x] = time + duration[x]
            push(running, 0, n_running, x, end, tie)
            n_running += 1

        n_touched = 0
        if n_running > 0 and (n_coming == 0 or end[running[0]] <= ready[coming[0]]):
            time = end[running[0]]
        elif n_coming > 0:
            time = ready[coming[0]]
        while n_running > 0 and end[running[0]] == time:
            x = pop(running, 0, n_running, end, tie)
            n_running -= 1
            busy[machine[x]] = False
            touched[n_touched] = machine[x]
            n_touched += 1
            following = job_succ[x]
            if following < n:
                ready[following] = max(time, earliest[following])
                push(coming, 0, n_coming, following, ready, tie)
                n_coming += 1
