"""A job-shop instance: which operations exist, how long they take, and on which machine."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from operator import index
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from l2s_plugin.errors import InstanceError, whole_number

IntArray = NDArray[np.int32]

# est, tail and their sums stay exact in int32 below this
MAX_TOTAL_DURATION = 2**30 - 1
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
    operations are equal, whatever their names and bounds.

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
    """

    duration: IntArray
    machine: IntArray
    job_offset: IntArray
    n_machines: int
    name: str = field(default="instance", compare=False)
    source: str = field(default="", compare=False)
    lower_bound: int | None = field(default=None, compare=False)
    upper_bound: int | None = field(default=None, compare=False)

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

    def describe(self, operation: int | np.integer) -> str:
        """Name an operation for people: "operation 7 (job 1, index 2)"."""
        job = int(np.searchsorted(self.job_offset, operation, side="right")) - 1
        return f"operation {operation} (job {job}, index {operation - self.job_offset[job]})"

    def with_details(self, **details: Any) -> Instance:
        """The same operations with another name, source or other bounds."""
        return replace(self, **details)

    def __repr__(self) -> str:
        return f"Instance({self.name}: {self.n_jobs} jobs, {self.n_machines} machines, {self.n_operations} operations)"


def check_instance(value: Any) -> None:
    """Refuse what is no instance, such as the name of one."""
    if not isinstance(value, Instance):
        raise InstanceError(f"expected an Instance, such as l2s.load('ta01'), got {value!r}")


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
