"""The job shop, and parts of it, as CP-SAT models: intervals, no overlap on a machine, the longest path minimised.

A part is a time window of an incumbent, or some of its machines, to be ordered anew while the rest keeps its orders.
Only what is shorter than the incumbent is a solution: CP-SAT finds it, or proves that the part is not to blame.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from integrations.libraries import ortools
from l2s_plugin.instance import Instance
from l2s_plugin.schedule import Schedule

Values = Callable[[Any], int]  # the value of a variable in a solution


class _Model:
    """Sorted operations; none starts before `earliest`, and at least `tail` lies between its end and the makespan."""

    def __init__(
        self,
        instance: Instance,
        operations: NDArray[Any],
        earliest: NDArray[Any],
        tail: NDArray[Any],
        lower_bound: int,
        horizon: int,
        out_of_time: Callable[[], bool] = lambda: False,
    ) -> None:
        self.instance = instance
        self.model: Any = ortools().CpModel()
        self.makespan: Any = self._variable(lower_bound, horizon, "makespan")
        self.start: list[Any] = []
        self._out_of_time = out_of_time
        job, duration = instance.job[operations], instance.duration[operations].astype(np.int64)
        follows = np.append(False, job[1:] == job[:-1])
        after = np.where(np.append(follows[1:], False), np.append((duration + tail)[1:], 0), -1)
        columns = (operations, instance.machine[operations], duration, earliest, horizon - tail - duration, tail)
        rows = zip(*(column.tolist() for column in (*columns, follows, tail > after)), strict=True)
        on_machine: dict[int, list[Any]] = {}
        for operation, machine, length, first, last, rest, chained, decides in rows:
            self._look_at_the_clock(operation)
            start = self._variable(first, last, f"start{operation}")
            interval = self.model.new_fixed_size_interval_var(start, length, f"operation{operation}")
            on_machine.setdefault(machine, []).append(interval)
            if chained:
                self.model.add(start >= self.start[-1] + int(instance.duration[operation - 1]))
            if decides:  # elsewhere the next operation of the job says as much
                self.model.add(self.makespan >= start + length + rest)
            self.start.append(start)
        for intervals in on_machine.values():
            self._look_at_the_clock()
            if len(intervals) > 1:
                self.model.add_no_overlap(intervals)
        start_of = dict(zip(operations.tolist(), self.start, strict=True)) if instance.kept else {}
        for order in instance.kept:
            for before, behind in pairwise([x for x in order if x in start_of]):
                self.model.add(start_of[behind] >= start_of[before] + int(instance.duration[before]))
        self.model.minimize(self.makespan)

    def _look_at_the_clock(self, count: int = 0) -> None:
        if count % 256 == 0 and self._out_of_time():
            raise TimeoutError("no time left to build the model")

    def _variable(self, first: int, last: int, name: str) -> Any:
        """A variable; one without any value makes the model infeasible, where CP-SAT would call it invalid."""
        if first > last:
            self.model.add_bool_or([])
        return self.model.new_int_var(first, max(first, last), name)


class JobShopModel(_Model):
    """CP-SAT's view of an instance, and the way from a `Schedule` to a hint and from a solution to a `Schedule`.

    `model` is the `CpModel`, to which constraints can be added, `start` has a variable per operation, by its id, and
    `makespan` is the variable that is minimised: the longest path (see `Instance.offset`).

    Parameters
    ----------
    horizon, lower_bound
        No schedule longer than this is looked for (the incumbent's length), and none can be shorter than that.
    out_of_time
        Asked while the model is built, which takes seconds beyond 100,000 operations; a `TimeoutError` when it says so.
    """

    def __init__(
        self,
        instance: Instance,
        horizon: int,
        lower_bound: int = 0,
        out_of_time: Callable[[], bool] = lambda: False,
    ) -> None:
        operations = np.arange(instance.n_operations)
        super().__init__(instance, operations, instance.head, instance.tail, lower_bound, horizon, out_of_time)

    def hint(self, schedule: Schedule) -> None:
        """Tell CP-SAT a schedule: every variable, or it would call the hint incomplete; replaces earlier hints."""
        self.model.clear_hints()
        for operation, (variable, value) in enumerate(zip(self.start, schedule.start.tolist(), strict=True)):
            self._look_at_the_clock(operation)
            self.model.add_hint(variable, value)
        self.model.add_hint(self.makespan, schedule.length)

    def schedule(self, value: Values) -> Schedule:
        """The schedule behind a solution (`value` of a solver or of a callback), with the times that CP-SAT found."""
        return Schedule.from_starts(self.instance, [value(variable) for variable in self.start])


class Machines(JobShopModel):
    """Order the given machines anew; the others keep the order they have in `schedule`."""

    def __init__(self, schedule: Schedule, machines: Iterable[int], lower_bound: int = 0) -> None:
        super().__init__(schedule.instance, schedule.length - 1, lower_bound)
        for machine in {*range(self.instance.n_machines)} - {*machines}:
            for before, behind in pairwise(schedule.machine_orders[machine].tolist()):
                self.model.add(self.start[behind] >= self.start[before] + int(self.instance.duration[before]))


class Window(_Model):
    """Order the operations anew that stand at the places `first` to `last` of the linear order of `schedule`.

    What comes before is a closed past, what comes after a closed future: all that matters of them is when each job and
    machine becomes ready, and how long the schedule goes on after each. So the model has the window's operations only,
    however large the instance. `schedule` has to start everything as early as its orders allow. A `hopeless` window has
    no solution, and no model.
    """

    def __init__(self, schedule: Schedule, first: int, last: int, lower_bound: int = 0) -> None:
        instance, linear = schedule.instance, schedule.linear_order
        self.past, self.operations, self.future = linear[:first], np.sort(linear[first:last]), linear[last:]
        horizon, remaining = schedule.length - 1, schedule.length - schedule.lst
        earliest, tail = (
            instance.head[self.operations].astype(np.int64),
            instance.tail[self.operations].astype(np.int64),
        )
        for owner, count in ((instance.job, instance.n_jobs), (instance.machine, instance.n_machines)):
            ready = _largest(owner, count, self.past, schedule.end)
            after = _largest(owner, count, self.future, remaining)
            inside = owner[self.operations]
            earliest, tail = np.maximum(earliest, ready[inside]), np.maximum(tail, after[inside])
            # the longest path that never enters the window: no order of the window makes it shorter
            lower_bound = max(lower_bound, int(np.delete(ready + after, inside).max(initial=0)))
        if instance.has_dates:
            due = schedule.end[self.past] + instance.tail[self.past]
            dated = instance.head[self.future] + remaining[self.future]
            lower_bound = max(lower_bound, int(due.max(initial=0)), int(dated.max(initial=0)))
        no_room = earliest + instance.duration[self.operations] + tail > horizon
        self.hopeless = lower_bound > horizon or bool(no_room.any())
        if not self.hopeless:
            super().__init__(instance, self.operations, earliest, tail, lower_bound, horizon)

    def schedule(self, value: Values) -> Schedule:
        """The whole schedule behind a solution of the window."""
        ids, start = self.operations, np.array([value(variable) for variable in self.start])
        by_time = ids[np.lexsort((ids, self.instance.duration[ids], start))]
        return Schedule.from_linear_order(self.instance, np.concatenate((self.past, by_time, self.future)))


def _largest(owner: NDArray[Any], count: int, operations: NDArray[Any], times: NDArray[Any]) -> NDArray[np.int64]:
    """The largest time among the given operations of each job or machine; 0 where there are none."""
    largest = np.zeros(count, np.int64)
    np.maximum.at(largest, owner[operations], times[operations])
    return largest


def random_window(instance: Instance, size: int, rng: np.random.Generator) -> tuple[int, int]:
    """Places of `size` operations in a row; the ends of the schedule are as likely as any other place."""
    n = instance.n_operations
    size = min(size, n)
    first = int(np.clip(rng.integers(-size // 2, n - size // 2), 0, n - size))
    return first, first + size
