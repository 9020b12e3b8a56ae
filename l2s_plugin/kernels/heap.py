"""A binary heap of operations in a piece of an array: smallest key first; equal keys: smallest `tie` first.

Several heaps can share one array; each begins at its own `base`, and its owner keeps its size.
"""

from __future__ import annotations

from l2s_plugin.kernels.compile import kernel


@kernel
def push(heap, base, size, x, key, tie):
    """Add operation `x` to the heap of `size` operations at `base`; the heap then holds one more."""
    child = size
    while child > 0:
        parent = (child - 1) >> 1
        p = heap[base + parent]
        if key[p] < key[x] or (key[p] == key[x] and tie[p] <= tie[x]):
            break
        heap[base + child] = p
        child = parent
    heap[base + child] = x


@kernel
def pop(heap, base, size, key, tie):
    """Take the first operation out of the heap of `size` > 0 operations at `base`."""
    first = heap[base]
    x = heap[base + size - 1]  # to be put in its place, from the root down
    parent = 0
    child = 1
    while child < size - 1:
        c = heap[base + child]
        if child + 1 < size - 1:
            other = heap[base + child + 1]
            if key[other] < key[c] or (key[other] == key[c] and tie[other] < tie[c]):
                c = other
                child += 1
        if key[x] < key[c] or (key[x] == key[c] and tie[x] <= tie[c]):
            break
        heap[base + parent] = c
        parent = child
        child = 2 * child + 1
    heap[base + parent] = x
    return first
