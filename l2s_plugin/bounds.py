"""Lower bounds on the makespan: no schedule of the instance can be shorter."""

from __future__ import annotations

import numpy as np

from l2s_plugin import data
from l2s_plugin.instance import Instance
from l2s_plugin.kernels.one_machine import preemptive_makespan


def lower_bound(instance: Instance) -> int:
    """The worst machine, if it could interrupt its operations and all others had unlimited capacity, in O(n log n).

    Jackson's preemptive schedule of each machine is the best one for its heads and tails (Carlier 1982). The bound is
    never below the longest job and the work of the busiest machine, and often the optimum where jobs by far outnumber
    machines.
    """
    head, negative_tail = instance.job_head, -instance.job_tail
    by_head = np.lexsort((head, instance.machine)).astype(np.uint32)
    remaining = np.empty_like(head)
    heap = np.empty_like(by_head)
    return max(
        int(preemptive_makespan(row, instance.duration, head, negative_tail, remaining, heap))
        for row in np.split(by_head, instance.machine_offset[1:-1])
    )


def known_bound(instance: Instance) -> int:
    """The bound from the literature where the instance is one of the classic benchmarks, otherwise 0.

    Nobody proves it again here.
    """
    entry = data.known(instance)
    return entry.lower_bound if entry else 0
