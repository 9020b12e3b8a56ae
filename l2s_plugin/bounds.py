"""Lower bounds on the makespan: no schedule of the instance can be shorter."""

from __future__ import annotations

import numpy as np

from l2s_plugin import data
from l2s_plugin.instance import Instance
from l2s_plugin.kernels.one_machine import preemptive_makespan


def lower_bound(instance: Instance) -> int:
    """The best of the bounds below, in O(n log n)."""
    return max(job_bound(instance), machine_bound(instance), preemptive_bound(instance))


def known_bound(instance: Instance) -> int:
    """The bound from the literature where the instance is one of the classic benchmarks, otherwise 0.

    Nobody proves it again here.
    """
    entry = data.known(instance)
    return entry.lower_bound if entry else 0


def job_bound(instance: Instance) -> int:
    """The longest job: its operations follow each other."""
    return int((instance.job_head + instance.duration).max())


def machine_bound(instance: Instance) -> int:
    """The busiest machine: its work, after the shortest head and before the shortest tail on it."""
    by_machine = np.argsort(instance.machine, kind="stable")
    begin = instance.machine_offset[:-1][np.diff(instance.machine_offset) > 0]  # of machines with work
    first, last = (np.minimum.reduceat(x[by_machine], begin) for x in (instance.job_head, instance.job_tail))
    return int((first + np.add.reduceat(instance.duration[by_machine], begin) + last).max())


def preemptive_bound(instance: Instance) -> int:
    """The worst machine, if it could interrupt its operations and all other machines had unlimited capacity.

    Jackson's preemptive schedule of each machine is the best one for its heads and tails (Carlier 1982). The
    bound is never below the other two, and often the optimum where jobs by far outnumber machines.
    """
    head, negative_tail = instance.job_head, -instance.job_tail
    by_head = np.lexsort((head, instance.machine)).astype(np.uint32)
    remaining = np.empty_like(head)
    heap = np.empty_like(by_head)
    return max(
        preemptive_makespan(row, instance.duration, head, negative_tail, remaining, heap)
        for row in np.split(by_head, instance.machine_offset[1:-1])
    )
