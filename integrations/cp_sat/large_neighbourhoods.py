"""Parts of the incumbent for CP-SAT to schedule anew while the rest keeps its orders: a time window, or some machines.

Both are models in which only what is shorter than the incumbent is a solution: CP-SAT finds something better, or proves
that the part is not to blame.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from integrations.cp_sat import backend
from integrations.cp_sat.attempt import Values
from integrations.cp_sat.model import JobShopModel
from l2s_plugin.instance import Instance
from l2s_plugin.schedule import Schedule

Times = NDArray[np.integer[Any]]


class Machines(JobShopModel):
    """Order the given machines anew; the others keep the order they have in `schedule`."""

    def __init__(self, schedule: Schedule, machines: Iterable[int], lower_bound: int = 0) -> None:
        free = set(machines)
        kept = {machine: row for machine, row in enumerate(schedule.machine_orders) if machine not in free}
        super().__init__(schedule.instance, schedule.makespan - 1, lower_bound, kept_orders=kept)


class Window:
    """Order the operations anew that stand at the places `first` to `last` of the linear order of `schedule`.

    What comes before is a closed past, what comes after a closed future: all that matters of them is when each job and
    machine becomes ready, and how long the schedule goes on after each. So the model has the window's operations only,
    however large the instance. `schedule` has to start everything as early as its orders allow.
    """

    def __init__(self, schedule: Schedule, first: int, last: int, lower_bound: int = 0) -> None:
        instance = schedule.instance
        linear = schedule.linear_order
        self.instance = instance
        self.past, self.operations, self.future = linear[:first], linear[first:last], linear[last:]
        end, remaining = schedule.end, schedule.makespan - schedule.lst
        owners = ((instance.job, instance.n_jobs), (instance.machine, instance.n_machines))
        ready = [_largest(owner, count, self.past, end) for owner, count in owners]
        after = [_largest(owner, count, self.future, remaining) for owner, count in owners]
        untouched = [np.bincount(owner[self.operations], minlength=count) == 0 for owner, count in owners]
        # the longest path that never enters the window: no order of the window makes it shorter
        self.bypass = max(int(((r + a) * u).max()) for r, a, u in zip(ready, after, untouched, strict=True))
        horizon, lower_bound = schedule.makespan - 1, max(lower_bound, self.bypass)
        job, machine = instance.job[self.operations], instance.machine[self.operations]
        earliest = np.maximum(ready[0][job], ready[1][machine])
        tail = np.maximum(after[0][job], after[1][machine])
        latest = horizon - tail - instance.duration[self.operations]
        self.hopeless = lower_bound > horizon or bool((latest < earliest).any())
        if not self.hopeless:
            self._build(earliest, latest, tail, lower_bound, horizon)

    def _build(self, earliest: Times, latest: Times, tail: Times, lower_bound: int, horizon: int) -> None:
        instance = self.instance
        self.model: Any = backend.load().CpModel()
        makespan = self.model.new_int_var(lower_bound, horizon, "makespan")
        self.start: dict[int, Any] = {}
        on_machine: dict[int, list[Any]] = {}
        rows = zip(self.operations.tolist(), earliest.tolist(), latest.tolist(), tail.tolist(), strict=True)
        for operation, first, last, rest in rows:  # in an order that respects the jobs
            duration = int(instance.duration[operation])
            start = self.model.new_int_var(first, last, f"start{operation}")
            interval = self.model.new_fixed_size_interval_var(start, duration, f"operation{operation}")
            on_machine.setdefault(int(instance.machine[operation]), []).append(interval)
            before = self.start.get(int(instance.job_pred[operation]))
            if before is not None:
                self.model.add(start >= before + int(instance.duration[operation - 1]))
            self.model.add(makespan >= start + duration + rest)
            self.start[operation] = start
        for intervals in on_machine.values():
            if len(intervals) > 1:
                self.model.add_no_overlap(intervals)
        self.model.minimize(makespan)

    def schedule(self, value: Values) -> Schedule:
        """The whole schedule behind a solution of the window."""
        ids = np.sort(self.operations)
        start = np.array([value(self.start[operation]) for operation in ids.tolist()])
        by_time = ids[np.lexsort((ids, self.instance.duration[ids], start))]
        return Schedule.from_linear_order(self.instance, np.concatenate((self.past, by_time, self.future)))


def _largest(owner: NDArray[Any], count: int, operations: NDArray[Any], times: NDArray[Any]) -> Times:
    """The largest time among the given operations of each job or machine; 0 where there are none."""
    largest: Times = np.zeros(count, np.int64)
    np.maximum.at(largest, owner[operations], times[operations])
    return largest


def random_window(instance: Instance, size: int, rng: np.random.Generator) -> tuple[int, int]:
    """Places of `size` operations in a row; the ends of the schedule are as likely as any other place."""
    n = instance.n_operations
    size = min(size, n)
    first = int(np.clip(rng.integers(-size // 2, n - size // 2), 0, n - size))
    return first, first + size
