"""Lower bounds on the longest path: no schedule of the instance has a shorter one.

That is the makespan, or the largest lateness plus `Instance.offset`.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from l2s_plugin import data
from l2s_plugin.instance import Instance, IntArray
from l2s_plugin.kernels.compile import kernel
from l2s_plugin.kernels.heap import pop, push

Operations = NDArray[np.uint32]


def lower_bound(instance: Instance) -> int:
    """The worst machine, if it could interrupt its operations and all others had unlimited capacity, in O(n log n).

    Jackson's preemptive schedule of each machine is the best one for its heads and tails (Carlier 1982). The bound is
    never below the longest job and the work of the busiest machine, and often the optimum where jobs by far outnumber
    machines.
    """
    head, negative_tail = instance.head, -instance.tail
    by_head = np.lexsort((head, instance.machine)).astype(np.uint32)
    room = np.empty_like(head), np.empty_like(by_head)
    rows = np.split(by_head, instance.machine_offset[1:-1])
    return int(max(preemptive_makespan(row, instance.duration, head, negative_tail, *room) for row in rows))


def known_bound(instance: Instance) -> int:
    """The bound from the literature where the instance is one of the classic benchmarks, otherwise 0.

    Nobody proves it again here.
    """
    entry = data.known(instance)
    return entry.lower_bound if entry else 0


@kernel
def preemptive_makespan(
    by_head: Operations,
    duration: IntArray,
    head: IntArray,
    negative_tail: IntArray,
    remaining: IntArray,
    heap: Operations,
) -> int:
    """Makespan of Jackson's preemptive schedule of some operations of one machine, O(n log n).

    At every moment the machine works on the available operation with the longest tail. `by_head` lists the operations
    by increasing `head`; `remaining` (over all operations) and `heap` are work space. Tails come negated, as keys of
    the heap.
    """
    n = by_head.shape[0]
    for x in by_head:
        remaining[x] = duration[x]
    makespan = 0
    time = 0
    released = 0  # how many of `by_head` have become available
    waiting = 0  # how many of them are in the heap
    while released < n or waiting > 0:
        if waiting == 0:
            time = max(time, head[by_head[released]])
        while released < n and head[by_head[released]] <= time:
            push(heap, 0, waiting, by_head[released], negative_tail, negative_tail)
            waiting += 1
            released += 1
        x = heap[0]
        finish = time + remaining[x]
        if released < n and head[by_head[released]] < finish:
            # interrupted by an arrival, though perhaps only to go on
            remaining[x] = finish - head[by_head[released]]
            time = head[by_head[released]]
        else:
            pop(heap, 0, waiting, negative_tail, negative_tail)
            waiting -= 1
            time = finish
            makespan = max(makespan, finish - negative_tail[x])
    return makespan
