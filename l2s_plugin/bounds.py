"""Lower bounds on the makespan: no schedule of the instance can be shorter.

The *head* of an operation is the work of its job before it, its *tail* the work of its job after it.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

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
    return int(np.add.reduceat(instance.duration, instance.job_offset[:-1]).max())


def machine_bound(instance: Instance) -> int:
    """The busiest machine: its work, after the shortest head and before the shortest tail on it."""
    head, tail = _heads_and_tails(instance)
    used = np.unique(instance.machine)
    load = np.bincount(instance.machine, weights=instance.duration, minlength=instance.n_machines)
    first, last = (np.full(instance.n_machines, np.iinfo(np.int32).max) for _ in range(2))
    np.minimum.at(first, instance.machine, head)
    np.minimum.at(last, instance.machine, tail)
    return int((first + load + last)[used].max())


def preemptive_bound(instance: Instance) -> int:
    """The worst machine, if it could interrupt its operations and all other machines had unlimited capacity.

    Jackson's preemptive schedule of each machine is the best one for its heads and tails (Carlier 1982). The
    bound is never below the other two, and often the optimum where jobs by far outnumber machines.
    """
    head, tail = _heads_and_tails(instance)
    negative_tail = -tail
    by_head = np.lexsort((head, instance.machine)).astype(np.uint32)
    remaining = np.empty_like(head)
    heap = np.empty_like(by_head)
    return max(
        preemptive_makespan(row, instance.duration, head, negative_tail, remaining, heap)
        for row in np.split(by_head, instance.machine_offset[1:-1])
    )


def _heads_and_tails(instance: Instance) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    finished = np.cumsum(instance.duration, dtype=np.int32)  # in the order of ids, over all jobs
    lengths = np.diff(instance.job_offset)
    before_job = np.repeat(np.append(0, finished[instance.job_offset[1:-1] - 1]), lengths)
    after_job = np.repeat(finished[instance.job_offset[1:] - 1], lengths)
    head = finished - instance.duration - before_job
    tail = after_job - finished
    return head.astype(np.int32), tail.astype(np.int32)
