"""A schedule: an order of the operations on every machine, and when each operation starts."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from heapq import heapify, heappop, heappush
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from l2s_plugin.errors import CyclicOrderError, ScheduleError
from l2s_plugin.files import read_text, write_text
from l2s_plugin.instance import NO_DUE_DATE, ByContent, Instance, IntArray, check_instance
from l2s_plugin.objectives import LATENESS
from l2s_plugin.records import parse_json

JSON_FORMAT = "l2s-schedule"
_CYCLE = "the machine orders wait for each other in a cycle"


@dataclass(frozen=True, eq=False, repr=False)
class Schedule(ByContent):
    """Machine orders and start times of one instance.

    Built with one of the `from_...` functions. `order` lists all operations machine by machine, in processing
    order; `machine_orders` is the same, split by machine.
    """

    instance: Instance
    order: IntArray
    start: IntArray

    def __post_init__(self) -> None:
        for field in ("order", "start"):
            array = np.array(getattr(self, field), np.int32)
            array.flags.writeable = False
            object.__setattr__(self, field, array)

    @classmethod
    def from_machine_orders(cls, instance: Instance, orders: Sequence[ArrayLike]) -> Schedule:
        """Start all operations as early as the orders allow; raises `CyclicOrderError` where none can."""
        if len(orders) != instance.n_machines:
            raise ScheduleError(f"{len(orders)} machine orders, expected {instance.n_machines}")
        rows = [_operations(order) for order in orders]
        by_machine = np.split(np.argsort(instance.machine, kind="stable"), instance.machine_offset[1:-1])
        for machine, (row, own) in enumerate(zip(rows, by_machine, strict=True)):
            if not np.array_equal(np.sort(row), own):
                who = f"the order of machine {instance.machine_name(machine)}"
                raise ScheduleError(f"{who} must list its {len(own)} operations once each")
        return cls.from_order(instance, np.concatenate(rows))

    @classmethod
    def from_order(cls, instance: Instance, order: ArrayLike) -> Schedule:
        """Like `from_machine_orders`, with all machines in one flat array that is taken as valid."""
        from l2s_plugin.evaluator import Evaluator

        order = np.asarray(order, np.int32)
        times = Evaluator().evaluate(instance, order[np.newaxis])[0]
        if not times.feasible:
            raise CyclicOrderError(_CYCLE)
        return cls(instance, order, times.est)

    @classmethod
    def from_linear_order(cls, instance: Instance, operations: ArrayLike) -> Schedule:
        """Schedule the operations one after the other, each as early as those before it allow."""
        operations = _operations(operations)
        if not np.array_equal(np.sort(operations), np.arange(instance.n_operations)):
            raise ScheduleError(f"an order must list the {instance.n_operations} operations once each")
        by_machine = np.argsort(instance.machine[operations], kind="stable")
        return cls.from_order(instance, operations[by_machine])

    @classmethod
    def from_starts(cls, instance: Instance, start: ArrayLike) -> Schedule:
        """Keep the start times and read the machine orders off them; raises `ScheduleError` where they cannot be."""
        start = np.asarray(start)
        if start.shape != (instance.n_operations,):
            raise ScheduleError(f"{start.size} start times, expected {instance.n_operations}")
        if not np.issubdtype(start.dtype, np.integer):
            raise ScheduleError(f"start times must be integers, got {start.dtype}")
        if int(start.max()) + int(instance.duration.max()) >= 2**31:
            raise ScheduleError("start times beyond 32 bits")
        for x in np.flatnonzero(start < 0)[:1]:
            raise ScheduleError(f"{instance.describe(x)} starts at {start[x]}, before 0")
        # by machine, then start; equal starts: the shorter first, then in job order (zero durations)
        ids = np.arange(instance.n_operations)
        order = np.lexsort((ids, instance.duration, start, instance.machine))
        for row, owner in ((order, instance.machine), (ids, instance.job)):
            before, after = row[:-1], row[1:]
            end = start[before] + instance.duration[before]
            for k in np.flatnonzero((owner[before] == owner[after]) & (start[after] < end))[:1]:
                late = f"{instance.describe(after[k])} starts at {start[after[k]]}"
                raise ScheduleError(f"{late}, before {instance.describe(before[k])} ends at {end[k]}")
        return cls(instance, order.astype(np.int32), start)

    @property
    def makespan(self) -> int:
        return int(self.end.max())

    @property
    def end(self) -> IntArray:
        return self.start + self.instance.duration

    @property
    def job_end(self) -> IntArray:
        """When each job ends."""
        return self.end[self.instance.job_offset[1:] - 1]

    @property
    def job_lateness(self) -> IntArray | None:
        """End of each job minus its due date, far below 0 for jobs without one; None without due dates."""
        due = self.instance.due
        return None if due is None else np.where(due == NO_DUE_DATE, -NO_DUE_DATE, self.job_end - due)

    @property
    def lateness(self) -> int | None:
        """The largest end of a job minus its due date, negative when all are early; None without due dates."""
        late = self.job_lateness
        return None if late is None else int(late.max())

    @property
    def length(self) -> int:
        """The longest path, which searches minimise: the value of the objective plus `Instance.offset`."""
        return self.value + self.instance.offset

    @property
    def value(self) -> int:
        """What the instance's objective says about the schedule: its makespan or its lateness."""
        lateness = self.lateness if self.instance.objective == LATENESS else None
        return self.makespan if lateness is None else lateness

    @property
    def machine_orders(self) -> list[IntArray]:
        """The operations of each machine in processing order."""
        return np.split(self.order, self.instance.machine_offset[1:-1])

    @property
    def linear_order(self) -> IntArray:
        """All operations in one order that respects jobs and machines: by start, then end."""
        return np.lexsort((self._rank, self.end, self.start)).astype(np.int32)

    @cached_property
    def _rank(self) -> IntArray:
        """A topological rank that settles equal starts and ends of zero-length operations; else the id will do."""
        machine = self.instance.machine[self.order]
        in_order = np.diff(self.start[self.order]) > 0
        if self.instance.duration.all() and (in_order | (np.diff(machine) > 0)).all():
            return np.arange(self.instance.n_operations, dtype=np.int32)
        from l2s_plugin.evaluator import compiled, pack

        operations = compiled.topological_order(pack(self.instance, self.order[np.newaxis]))
        if operations is None:
            raise CyclicOrderError(_CYCLE)
        return np.argsort(operations).astype(np.int32)

    @cached_property
    def lst(self) -> IntArray:
        """Latest start of every operation that keeps the value of the objective and the machine orders."""
        from l2s_plugin.evaluator import Evaluator

        times = Evaluator().evaluate(self.instance, self.order[np.newaxis])[0]
        return times.lst + (self.length - times.length)

    @property
    def critical(self) -> np.ndarray:
        """Whether each operation lies on a critical path: delaying it makes the objective worse."""
        return self.start == self.lst

    def judged_as(self, instance: Instance, who: str = "the schedule") -> Schedule:
        """The same schedule, of an instance that differs in its objective at most."""
        own = self.instance
        if own == instance:
            return self
        if own.due is None or own.with_objective(instance.objective) != instance:
            raise ScheduleError(f"{who} belongs to {own!r}, not to {instance!r}")
        return Schedule(instance, self.order, self.start)

    def critical_paths(self) -> Iterator[list[int]]:
        """Every critical path, first operation first (perhaps exponentially many: take what you need)."""
        critical = {*np.flatnonzero(self.critical).tolist()}
        earliest = self.instance.earliest
        before: dict[int, list[int]] = {  # where a date holds a path, it begins
            x: []
            if earliest is not None and earliest[x] == self.start[x] > 0
            else [p for p in sorted({*self._preds[:, x].tolist()} & critical) if self.end[p] == self.start[x]]
            for x in critical
        }
        ends = self.end[self.instance.job_offset[1:] - 1] + self.instance.after == self.length
        last = {*(self.instance.job_offset[1:] - 1)[ends].tolist()} & critical
        if self.instance.objective != LATENESS:
            last -= {p for preds in before.values() for p in preds}
        stack = [[x] for x in sorted(last, reverse=True)]
        while stack:
            path = stack.pop()
            if before[path[-1]]:
                stack.extend([*path, p] for p in reversed(before[path[-1]]))
            else:
                yield path[::-1]

    @cached_property
    def _preds(self) -> IntArray:
        """The operation before each in its job and the one on its machine; `n_operations` stands for none."""
        preds = np.stack((self.instance.job_pred, np.full_like(self.order, self.instance.n_operations)))
        for row in self.machine_orders:
            preds[1, row[1:]] = row[:-1]
        return preds

    def critical_path(self) -> list[int]:
        """One critical path, first operation first."""
        return next(self.critical_paths())

    def critical_blocks(self) -> list[list[int]]:
        """The blocks of `critical_path`: longest runs of operations next to each other on one machine."""
        blocks: list[list[int]] = []
        for x in self.critical_path():
            if blocks and blocks[-1][-1] == self._preds[1, x]:
                blocks[-1].append(x)
            else:
                blocks.append([x])
        return blocks

    def verify(self) -> None:
        """Check every constraint with code that the search does not share; raises `ScheduleError`."""
        from l2s_plugin.verification import verify

        verify(self.instance, self)

    def to_dict(self) -> dict[str, Any]:
        """The JSON form: instance name, size and names, makespan, machine orders and start times by operation id."""
        given = {name: getattr(self.instance, name) for name in ("job_names", "machine_names", "operation_names")}
        return {
            "format": JSON_FORMAT,
            "version": 1,
            "instance": self.instance.name,
            "n_jobs": self.instance.n_jobs,
            "n_machines": self.instance.n_machines,
            **{name: list(names) for name, names in given.items() if names is not None},
            "makespan": self.makespan,
            **({} if self.lateness is None else {"lateness": self.lateness}),
            "machine_orders": [row.tolist() for row in self.machine_orders],
            "start": self.start.tolist(),
        }

    def save(self, path: str | Path) -> None:
        """Write the JSON form, aside first and then renamed, so that no half-written file is left behind."""
        write_text(path, json.dumps(self.to_dict()) + "\n")

    @classmethod
    def load(cls, instance: Instance, path: str | Path) -> Schedule:
        """Read a schedule of `instance` from the JSON form; raises `ScheduleError` for anything else."""
        check_instance(instance)
        return cls.from_dict(instance, read_schedule_json(path), str(path))

    @classmethod
    def from_dict(cls, instance: Instance, data: dict[str, Any], source: str = "schedule") -> Schedule:
        """The inverse of `to_dict`; what the file claims must hold (`l2s check` says why it does not)."""
        from l2s_plugin.verification import verify_dict

        verify_dict(instance, data, source)
        if data["makespan"] >= 2**31:
            raise ScheduleError(f"{source}: start times beyond 32 bits")
        order = [operation for row in data["machine_orders"] for operation in row]
        return cls(instance, np.array(order), np.array(data["start"]))

    def gantt(self, path: str | Path | None = None, **options: Any) -> Any:
        """Draw the schedule to a file (ending png, svg, ...), or return matplotlib axes without a path."""
        from l2s_plugin.registry import default_registry
        from l2s_plugin.specs import RendererSpec

        ending = Path(path).suffix.lstrip(".").lower() if path is not None else "png"
        return default_registry().load(RendererSpec, ending)(self, path, **options)

    def _repr_html_(self) -> str:
        from l2s_plugin.notebook import schedule_html

        return schedule_html(self)

    def __repr__(self) -> str:
        return f"Schedule({self.instance.name}: makespan {self.makespan})"


def respecting(instance: Instance, operations: NDArray[Any]) -> NDArray[Any]:
    """A linear order that respects the jobs, changed where kept machine orders ask for it, and nowhere else."""
    if not instance.kept:
        return operations
    follower = {x: [x + 1] for x in range(instance.n_operations)}
    for x in instance.job_offset[1:] - 1:
        follower[int(x)] = []
    for order in instance.kept:
        for before, behind in pairwise(order):
            follower[before].append(behind)
    waiting = np.zeros(instance.n_operations, np.int64)
    for others in follower.values():
        np.add.at(waiting, others, 1)
    place = np.argsort(operations)
    free = [(int(place[x]), x) for x in np.flatnonzero(waiting == 0).tolist()]
    heapify(free)
    found = []
    while free:
        found.append(heappop(free)[1])
        for x in follower[found[-1]]:
            waiting[x] -= 1
            if not waiting[x]:
                heappush(free, (int(place[x]), x))
    if len(found) < instance.n_operations:
        raise CyclicOrderError("kept machine orders and jobs wait for each other in a cycle")
    return np.array(found, operations.dtype)


def read_schedule_json(path: str | Path) -> dict[str, Any]:
    """Read a schedule file without judging its numbers."""
    data = parse_json(read_text(path, ScheduleError), str(path), ScheduleError)
    if not isinstance(data, dict) or data.get("format") != JSON_FORMAT:
        raise ScheduleError(f'{path}: not a schedule, expected an object with "format": "{JSON_FORMAT}"')
    return data


def _operations(values: ArrayLike) -> NDArray[np.int64]:
    """Operation ids as an array; what is no whole number is refused, not rounded."""
    try:
        array = np.asarray(values)
    except ValueError as error:  # rows of different lengths
        raise ScheduleError(f"machine orders must hold operation ids: {error}") from error
    if array.size and not np.issubdtype(array.dtype, np.integer):
        raise ScheduleError(f"machine orders must hold operation ids, got {array.dtype}")
    return array.ravel().astype(np.int64)
