"""A job-shop instance: which operations exist, how long they take, on which machine, and what their dates are."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from operator import index
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from l2s_plugin.errors import InstanceError, unknown_name, whole_number
from l2s_plugin.objectives import LATENESS, MAKESPAN, OBJECTIVES

if TYPE_CHECKING:
    from l2s_plugin.clock import Clock

IntArray = NDArray[np.int32]

# est, tail and their sums stay exact in int32 below this
MAX_TOTAL_DURATION = 2**30 - 1
NO_DUE_DATE = 2**31 - 1  # in `Instance.due`: of a job that is never late
_MOST_IDLE = 10_000  # machines without work: each costs memory


@dataclass(frozen=True, eq=False, repr=False)
class ByContent:
    """Dataclasses with arrays: equal where all fields that are compared are equal.

    Pickles hold the fields alone, not what was derived from them; what comes back is checked and read-only again.
    """

    def _content(self) -> tuple[Any, ...]:
        values = (getattr(self, each.name) for each in fields(self) if each.compare)
        return tuple(value.tobytes() if isinstance(value, np.ndarray) else value for value in values)

    def __eq__(self, other: object) -> bool:
        return self._content() == other._content() if isinstance(other, type(self)) else NotImplemented

    def __hash__(self) -> int:
        return hash(self._content())

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), tuple(getattr(self, each.name) for each in fields(self))


@dataclass(frozen=True, eq=False, repr=False)
class Instance(ByContent):
    """Operations as flat arrays, the operations of a job contiguous and in processing order.

    Jobs may differ in length, skip machines or visit one several times; durations may be 0. Instances with the same
    operations, dates and objective are equal, whatever their names and bounds.

    All dates keep the longest-path structure. An earliest start is a path that leads to the operation. A due date is a
    path that leads on from the end of its job: `offset` minus the due date, so that the longest path is the largest
    lateness, plus `offset`. That is what kernels, bounds and models compute, for both objectives.

    Parameters
    ----------
    duration, machine
        One entry per operation; the position is the operation's id.
    job_offset
        Job `j` owns the operations `job_offset[j]` up to, not including, `job_offset[j + 1]`.
    n_machines
        Number of machines, numbered from 0; some may stay unused.
    name, source
        How to call the instance and where it came from (for messages and results).
    lower_bound, upper_bound
        What its source says about the optimal makespan: kept and shown, but no search believes it.
    earliest
        Per operation, the time before which it cannot start; None where all can start at 0. `with_dates` makes it from
        release dates of jobs and the times from which machines are available.
    due
        Per job, the time by which it should end, None or `NO_DUE_DATE` for no such time.
    objective
        What to minimise: `makespan`, or `lateness`, the largest end of a job minus its due date (negative when all are
        early).
    kept
        Whole machine orders that no schedule may change, each as a tuple of operations.
    job_names, machine_names, operation_names
        What people call them; numbers where there are none.
    clock
        What the times mean on a clock, for tables, charts and reports.
    """

    duration: IntArray
    machine: IntArray
    job_offset: IntArray
    n_machines: int
    name: str = field(default="instance", compare=False)
    source: str = field(default="", compare=False)
    lower_bound: int | None = field(default=None, compare=False)
    upper_bound: int | None = field(default=None, compare=False)
    earliest: IntArray | None = None
    due: IntArray | None = None
    objective: str = MAKESPAN
    kept: tuple[tuple[int, ...], ...] = ()
    job_names: tuple[str, ...] | None = field(default=None, compare=False)
    machine_names: tuple[str, ...] | None = field(default=None, compare=False)
    operation_names: tuple[str, ...] | None = field(default=None, compare=False)
    clock: Clock | None = field(default=None, compare=False)

    def __post_init__(self) -> None:
        for name in ("duration", "machine", "job_offset"):
            object.__setattr__(self, name, _frozen_int32(getattr(self, name), name))
        object.__setattr__(self, "n_machines", whole_number("n_machines", self.n_machines))
        n = self.n_operations
        if n == 0:
            raise InstanceError("an instance needs at least one operation")
        if len(self.machine) != n:
            raise InstanceError(f"{n} durations but {len(self.machine)} machines, expected one of each per operation")
        if self.job_offset[:1].tolist() != [0] or self.job_offset[-1] != n:
            raise InstanceError(f"job_offset must run from 0 to {n}")
        for job in np.flatnonzero(np.diff(self.job_offset) < 1)[:1]:
            raise InstanceError(f"job {job} has no operations")
        for operation in np.flatnonzero(self.duration < 0)[:1]:
            raise InstanceError(f"{self.describe(operation)} has negative duration {self.duration[operation]}")
        for operation in np.flatnonzero((self.machine < 0) | (self.machine >= self.n_machines))[:1]:
            found = f"{self.describe(operation)} is on machine {self.machine[operation]}"
            raise InstanceError(f"{found}, expected 0 to {self.n_machines - 1}")
        if self.n_machines > n + _MOST_IDLE:
            raise InstanceError(f"{self.n_machines} machines for {n} operations, expected at most {n + _MOST_IDLE}")
        total = int(self.duration.sum(dtype=np.int64))
        if total > MAX_TOTAL_DURATION:
            raise InstanceError(f"total duration {total} is too large, at most {MAX_TOTAL_DURATION}")
        self._check_names()
        self._check_dates(total)
        self._check_kept()

    def _check_names(self) -> None:
        for field_, count in (
            ("job_names", self.n_jobs),
            ("machine_names", self.n_machines),
            ("operation_names", self.n_operations),
        ):
            names = getattr(self, field_)
            if names is None:
                continue
            names = tuple(names)
            object.__setattr__(self, field_, names)
            if len(names) != count or not all(isinstance(name, str) for name in names):
                raise InstanceError(f"{field_}: {len(names)} given, expected {count} texts")
            if field_ != "operation_names" and (len({*names}) < count or "" in names):
                wrong = next(name for k, name in enumerate(names) if not name or name in names[:k])
                raise InstanceError(f"{field_}: {wrong!r} stands for more than one, or for none")

    def _check_dates(self, total: int) -> None:
        earliest = self.earliest
        if earliest is not None:
            earliest = _frozen_int32(earliest, "earliest")
            if len(earliest) != self.n_operations:
                raise InstanceError(f"{len(earliest)} earliest starts, expected {self.n_operations}")
            for operation in np.flatnonzero(earliest < 0)[:1]:
                raise InstanceError(f"{self.describe(operation)} can start at {earliest[operation]}, before 0")
            object.__setattr__(self, "earliest", earliest if earliest.any() else None)
        horizon = total + (int(earliest.max()) if earliest is not None else 0)
        if horizon > MAX_TOTAL_DURATION:
            raise InstanceError(f"a schedule may end at {horizon}, expected at most {MAX_TOTAL_DURATION}")
        if self.due is not None:
            given: Any = [NO_DUE_DATE if date is None else date for date in self.due]
            due = _frozen_int32(given, "due")
            if len(due) != self.n_jobs:
                raise InstanceError(f"{len(due)} due dates, expected {self.n_jobs}")
            object.__setattr__(self, "due", due if (due != NO_DUE_DATE).any() else None)
        if self.objective not in OBJECTIVES:
            raise unknown_name("objective", str(self.objective), OBJECTIVES)
        if self.due is not None:
            reach = horizon + self._reference - int(self.due.min())
            if reach > MAX_TOTAL_DURATION:
                raise InstanceError(f"due dates and durations spread over {reach}, at most {MAX_TOTAL_DURATION}")
        elif self.objective == LATENESS:
            raise InstanceError(f"{self.name}: no job has a due date, which the objective lateness needs")

    def _check_kept(self) -> None:
        kept = tuple(tuple(int(x) for x in order) for order in self.kept)
        object.__setattr__(self, "kept", kept)
        for order in kept:
            machine = int(self.machine[order[0]]) if order and 0 <= order[0] < self.n_operations else -1
            if sorted(order) != np.flatnonzero(self.machine == machine).tolist():
                raise InstanceError("a kept order must list all operations of one machine, once each")

    @classmethod
    def from_jobs(
        cls, jobs: Iterable[Sequence[tuple[int, int]]], n_machines: int | None = None, **details: Any
    ) -> Instance:
        """Build an instance from one sequence of (machine, duration) pairs per job.

        >>> Instance.from_jobs([[(0, 3), (1, 2)], [(1, 4)]], name="tiny")
        Instance(tiny: 2 jobs, 2 machines, 3 operations)
        """
        rows = [_pairs(number, job) for number, job in enumerate(jobs)]
        machine, duration = ([pair[k] for row in rows for pair in row] for k in (0, 1))
        if n_machines is None:
            n_machines = 1 + max(machine, default=-1)
        return cls(duration, machine, np.cumsum([0, *map(len, rows)]), n_machines, **details)  # type: ignore[arg-type]

    @classmethod
    def from_matrices(cls, duration: NDArray[Any], machine: NDArray[Any], **details: Any) -> Instance:
        """Build an instance from matrices of jobs x machines, a row per job."""
        offsets: Any = np.arange(0, duration.size + 1, duration.shape[1])
        return cls(duration.ravel(), machine.ravel(), offsets, duration.shape[1], **details)

    @property
    def n_operations(self) -> int:
        return len(self.duration)

    @property
    def n_jobs(self) -> int:
        return len(self.job_offset) - 1

    @cached_property
    def job(self) -> IntArray:
        """Job of every operation."""
        return _frozen_int32(np.repeat(np.arange(self.n_jobs), np.diff(self.job_offset)), "job")

    @cached_property
    def job_pred(self) -> IntArray:
        """Operation before each in its job; `n_operations` stands for none."""
        pred = np.arange(-1, self.n_operations - 1)
        pred[self.job_offset[:-1]] = self.n_operations
        return _frozen_int32(pred, "job_pred")

    @cached_property
    def job_succ(self) -> IntArray:
        """Operation after each in its job; `n_operations` stands for none."""
        succ = np.arange(1, self.n_operations + 1)
        succ[self.job_offset[1:] - 1] = self.n_operations
        return _frozen_int32(succ, "job_succ")

    @cached_property
    def job_head(self) -> IntArray:
        """The work of its job before each operation."""
        done = np.cumsum(self.duration) - self.duration
        return _frozen_int32(done - done[self.job_offset[:-1]][self.job], "job_head")

    @cached_property
    def job_tail(self) -> IntArray:
        """The work of its job after each operation."""
        end = self.job_head + self.duration
        return _frozen_int32(end[self.job_offset[1:] - 1][self.job] - end, "job_tail")

    @cached_property
    def machine_offset(self) -> IntArray:
        """Where each machine's operations begin in an array that lists them machine by machine."""
        counts = np.bincount(self.machine, minlength=self.n_machines)
        return _frozen_int32(np.concatenate(([0], np.cumsum(counts))), "machine_offset")

    @property
    def has_dates(self) -> bool:
        """Whether times depend on more than durations and orders."""
        return self.earliest is not None or self.objective == LATENESS

    @cached_property
    def _reference(self) -> int:
        """A time from which due dates are seen: so late that jobs without one never decide."""
        assert self.due is not None
        given = self.due[self.due != NO_DUE_DATE]
        latest = int(given.max())
        if len(given) == self.n_jobs:
            return latest
        earliest = 0 if self.earliest is None else int(self.earliest.max())
        return max(latest, 0) + int(self.duration.sum(dtype=np.int64)) + earliest

    @property
    def offset(self) -> int:
        """The longest path of a schedule minus the value of its objective."""
        return self._reference if self.objective == LATENESS else 0

    @cached_property
    def after(self) -> IntArray:
        """The path that leads on from the end of each job: the later it is due, the shorter."""
        if self.objective == MAKESPAN:
            return _frozen_int32(np.zeros(self.n_jobs, np.int32), "after")
        return _frozen_int32(np.where(self.due == NO_DUE_DATE, 0, self._reference - self.due), "after")  # type: ignore[operator]

    @cached_property
    def head(self) -> IntArray:
        """The longest path to each operation that machines have no part in: earliest starts, and work of its job."""
        if self.earliest is None:
            return self.job_head
        by_job = self.job.astype(np.int64) * 2**32  # keeps the running maximum within jobs
        delay = np.maximum.accumulate(self.earliest - self.job_head + by_job) - by_job
        return _frozen_int32(self.job_head + np.maximum(delay, 0), "head")

    @cached_property
    def tail(self) -> IntArray:
        """The longest path from the end of each operation on, likewise: work of its job, and its due date."""
        return (
            self.job_tail if self.objective == MAKESPAN else _frozen_int32(self.job_tail + self.after[self.job], "tail")
        )

    @property
    def is_rectangular(self) -> bool:
        """Whether every job visits every machine exactly once."""
        return self.n_operations == self.n_jobs * self.n_machines and all(
            len(set(row)) == self.n_machines for row in self.split_by_job(self.machine)
        )

    @property
    def size(self) -> str:
        """Jobs x machines, as people name sizes."""
        return f"{self.n_jobs}x{self.n_machines}"

    def split_by_job(self, values: NDArray[Any]) -> list[NDArray[Any]]:
        """Split an array over operations into one piece per job."""
        return np.split(values, self.job_offset[1:-1])

    def jobs(self) -> list[list[tuple[int, int]]]:
        """The (machine, duration) pairs of each job; the inverse of `from_jobs`."""
        pairs = list(zip(self.machine.tolist(), self.duration.tolist(), strict=True))
        return [pairs[a:b] for a, b in zip(self.job_offset[:-1], self.job_offset[1:], strict=True)]

    def job_name(self, job: int | np.integer) -> str:
        """What to call a job: its name, or else its number."""
        return str(job) if self.job_names is None else self.job_names[job]

    def machine_name(self, machine: int | np.integer) -> str:
        """What to call a machine: its name, or else its number."""
        return str(machine) if self.machine_names is None else self.machine_names[machine]

    def operation_name(self, operation: int | np.integer) -> str:
        """The name of an operation; empty where it has none."""
        return "" if self.operation_names is None else self.operation_names[operation]

    def describe(self, operation: int | np.integer) -> str:
        """Name an operation for people: "operation 7 (job 1, index 2)", or "step 2 (drill) of job A-17"."""
        job = int(np.searchsorted(self.job_offset, operation, side="right")) - 1
        index = int(operation - self.job_offset[job])
        if self.job_names is None and self.operation_names is None:
            return f"operation {operation} (job {job}, index {index})"
        name = self.operation_name(operation)
        return f"step {index + 1}{f' ({name})' if name else ''} of job {self.job_name(job)}"

    def with_details(self, **details: Any) -> Instance:
        """The same operations with other names, another source, other bounds or another clock."""
        return replace(self, **details)

    def with_objective(self, objective: str | None) -> Instance:
        """The same with another objective; None leaves it as it is."""
        return self if objective is None or objective == self.objective else replace(self, objective=objective)

    def with_dates(
        self,
        release: Sequence[int | None] | None = None,
        due: Sequence[int | None] | None = None,
        earliest: Sequence[int | None] | None = None,
        available: Sequence[int | None] | None = None,
    ) -> Instance:
        """The same with dates; they replace those that were there, and None among them stands for no date.

        Parameters
        ----------
        release, due
            Per job: when its first operation can start, and when it should end.
        earliest
            Per operation: when it can start.
        available
            Per machine: from when on it is available.
        """
        start = np.zeros(self.n_operations, np.int64)
        for name, dates, operations in (
            ("earliest", earliest, np.arange(self.n_operations)),
            ("release", release, self.job_offset[:-1]),
        ):
            if dates is not None:
                np.maximum.at(start, operations, _dates(name, dates, len(operations)))
        if available is not None:
            np.maximum(start, _dates("available", available, self.n_machines)[self.machine], out=start)
        return replace(self, earliest=start, due=due)  # type: ignore[arg-type]

    def __repr__(self) -> str:
        return f"Instance({self.name}: {self.n_jobs} jobs, {self.n_machines} machines, {self.n_operations} operations)"


def check_instance(value: Any) -> None:
    """Refuse what is no instance, such as the name of one."""
    if not isinstance(value, Instance):
        raise InstanceError(f"expected an Instance, such as l2s.load('ta01'), got {value!r}")


def _dates(name: str, dates: Sequence[int | None], count: int) -> NDArray[Any]:
    if len(dates) != count:
        raise InstanceError(f"{name}: {len(dates)} dates, expected {count}")
    found = _frozen_int32([0 if date is None else date for date in dates], name)
    for k in np.flatnonzero(found < 0)[:1]:
        raise InstanceError(f"{name}[{k}] is {found[k]}, expected 0 or more")
    return found


def _pairs(number: int, job: Iterable[Any]) -> list[tuple[int, int]]:
    """The (machine, duration) pairs of a job, nothing dropped and nothing rounded."""
    if not isinstance(job, Iterable):
        raise InstanceError(f"job {number} is {job!r}, expected a list of (machine, duration)")
    pairs: list[tuple[int, int]] = []
    for operation in job:
        try:
            machine, duration = map(index, operation)
        except (TypeError, ValueError):
            found = f"job {number}, index {len(pairs)} is {operation!r}"
            raise InstanceError(f"{found}, expected (machine, duration), two integers") from None
        pairs.append((machine, duration))
    return pairs


def _frozen_int32(values: ArrayLike, name: str) -> IntArray:
    """A read-only int32 copy that refuses to lose information."""
    array = np.asarray(values)
    if array.ndim != 1:
        raise InstanceError(f"{name} must be one-dimensional, got shape {array.shape}")
    if array.size and not np.issubdtype(array.dtype, np.integer):
        raise InstanceError(f"{name} must hold integers, got {array.dtype}")
    if array.size and (array.min() < -(2**31) or array.max() > 2**31 - 1):
        raise InstanceError(f"{name} holds numbers beyond 32 bits")
    array = array.astype(np.int32)
    array.flags.writeable = False
    return array
