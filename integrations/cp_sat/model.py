"""The job shop as a CP-SAT model: an interval per operation, no overlap on a machine, the makespan minimised."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import pairwise
from typing import Any

import numpy as np

from integrations.cp_sat import backend
from l2s_plugin.instance import Instance, IntArray
from l2s_plugin.schedule import Schedule


class JobShopModel:
    """CP-SAT's view of an instance, and the way from a `Schedule` to a hint and from a solution to a `Schedule`.

    Parameters
    ----------
    instance
        What to schedule.
    horizon
        No schedule longer than this is looked for: the incumbent's makespan.
    lower_bound
        No schedule can be shorter than this.
    kept_orders
        Machines whose order is fixed, with the order.
    out_of_time
        Asked while the model is built, which takes seconds beyond 100,000 operations; a `TimeoutError` when it says so.

    Attributes
    ----------
    model
        The `CpModel`, to which constraints can be added.
    start
        A variable per operation, by its id.
    makespan
        The variable that is minimised.
    """

    def __init__(
        self,
        instance: Instance,
        horizon: int,
        lower_bound: int = 0,
        kept_orders: Mapping[int, IntArray] | None = None,
        out_of_time: Callable[[], bool] = lambda: False,
    ) -> None:
        self.instance = instance
        self.model: Any = backend.load().CpModel()
        self._out_of_time = out_of_time
        latest = horizon - instance.job_tail - instance.duration
        self.makespan: Any = self._variable(lower_bound, horizon, "makespan")
        self.start: list[Any] = []
        intervals: list[Any] = []
        rows = zip(instance.job_head.tolist(), latest.tolist(), instance.duration.tolist(), strict=True)
        for operation, (first, last, duration) in enumerate(rows):
            self._look_at_the_clock(operation)
            start = self._variable(first, last, f"start{operation}")
            self.start.append(start)
            intervals.append(self.model.new_fixed_size_interval_var(start, duration, f"operation{operation}"))
        for row in instance.split_by_job(np.arange(instance.n_operations)):
            self._look_at_the_clock()
            self._chain(row)
            final = int(row[-1])
            self.model.add(self.makespan >= self.start[final] + int(instance.duration[final]))
        kept_orders = kept_orders or {}
        by_machine = np.argsort(instance.machine, kind="stable")
        for machine, row in enumerate(np.split(by_machine, instance.machine_offset[1:-1])):
            self._look_at_the_clock()
            if machine in kept_orders:
                self._chain(kept_orders[machine])
            elif len(row) > 1:
                self.model.add_no_overlap([intervals[operation] for operation in row.tolist()])
        self.model.minimize(self.makespan)

    def _look_at_the_clock(self, count: int = 0) -> None:
        if count % 256 == 0 and self._out_of_time():
            raise TimeoutError("no time left to build the model")

    def _variable(self, first: int, last: int, name: str) -> Any:
        """A variable; one without any value makes the model infeasible, where CP-SAT would call it invalid."""
        if first > last:
            self.model.add_bool_or([])
        return self.model.new_int_var(first, max(first, last), name)

    def _chain(self, operations: IntArray) -> None:
        """One after the other."""
        for before, after in pairwise(operations.tolist()):
            self.model.add(self.start[after] >= self.start[before] + int(self.instance.duration[before]))

    def hint(self, schedule: Schedule) -> None:
        """Tell CP-SAT a schedule: every variable, or it would call the hint incomplete; replaces earlier hints."""
        self.model.clear_hints()
        for operation, (variable, value) in enumerate(zip(self.start, schedule.start.tolist(), strict=True)):
            self._look_at_the_clock(operation)
            self.model.add_hint(variable, value)
        self.model.add_hint(self.makespan, schedule.makespan)

    def schedule(self, value: Callable[[Any], int]) -> Schedule:
        """The schedule behind a solution (`value` of a solver or of a callback), with the times that CP-SAT found."""
        return Schedule.from_starts(self.instance, [value(variable) for variable in self.start])
