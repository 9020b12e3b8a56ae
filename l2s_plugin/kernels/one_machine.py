"""One machine on its own: the preemptive schedule that gives the strongest quick lower bound."""

from __future__ import annotations

from l2s_plugin.kernels.compile import kernel
from l2s_plugin.kernels.heap import pop, push


@kernel
def preemptive_makespan(by_head, duration, head, negative_tail, remaining, heap):
    """Makespan of Jackson's preemptive schedule of some operations of one machine, O(n log n).

    At every moment the machine works on the available operation with the longest tail. `by_head` lists the
    operations by increasing `head`; `remaining` (over all operations) and `heap` are work space. Tails come
    negated, as the keys of the heap.
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
