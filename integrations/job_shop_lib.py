"""job_shop_lib: our instances and schedules in its form and back, our search as its solver, our moves in its annealing.

>>> schedule = Solver(stop=l2s.stop.seconds(10))(job_shop_instance)  # doctest: +SKIP
>>> annealing = SimulatedAnnealingSolver(neighbor_generator=NeighbourGenerator("boltzmann", "n5"))  # doctest: +SKIP

`job_shop_lib` is imported on first use (extra `job-shop-lib`). It needs OR-Tools older than 9.13.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from functools import partial
from itertools import chain
from typing import Any

import numpy as np

from heuristics.loop.memory import Memory
from heuristics.loop.search import Search
from heuristics.population import solve
from heuristics.result import Result
from integrations.libraries import expect, library
from l2s_plugin.errors import InstanceError, ScheduleError
from l2s_plugin.instance import Instance
from l2s_plugin.registry import Registry
from l2s_plugin.schedule import Schedule
from l2s_plugin.stop import Condition, Stop

_MACHINES = "n_machines"  # in the metadata; the library takes the last machine in use for the last of all


def export_instance(instance: Instance) -> Any:
    """The instance as `job_shop_lib.JobShopInstance`; bounds go into its metadata, as in its own benchmarks."""
    job_shop_lib = _job_shop_lib()
    expect(instance, Instance, InstanceError)
    if instance.has_dates or instance.due is not None or instance.kept:
        raise InstanceError(f"{instance.name}: it has dates or kept orders, expected a plain job shop for job_shop_lib")
    jobs = [[job_shop_lib.Operation(machine, duration) for machine, duration in job] for job in instance.jobs()]
    lower, upper = instance.lower_bound, instance.upper_bound
    bounds = {"optimum": upper if lower == upper else None, "lower_bound": lower, "upper_bound": upper}
    machines = {_MACHINES: instance.n_machines} if instance.n_machines > 1 + instance.machine.max() else {}
    return job_shop_lib.JobShopInstance(jobs, instance.name, **bounds, **machines)


def import_instance(theirs: Any) -> Instance:
    """The instance in a `job_shop_lib.JobShopInstance`; flexible ones, and those with dates, are refused."""
    expect(theirs, _job_shop_lib().JobShopInstance, InstanceError)
    for problem, there in (
        ("operations with several machines to choose from", theirs.is_flexible),
        ("release dates", theirs.has_release_dates),
        ("deadlines", theirs.has_deadlines),
        ("due dates", theirs.has_due_dates),
    ):
        if there:
            raise InstanceError(f"{theirs.name}: it has {problem}, expected a plain job shop")
    jobs = [[(operation.machine_id, operation.duration) for operation in job] for job in theirs.jobs]
    known = theirs.metadata
    lower, upper = (known.get(bound) or known.get("optimum") for bound in ("lower_bound", "upper_bound"))
    n_machines = known.get(_MACHINES, theirs.num_machines)
    return Instance.from_jobs(jobs, n_machines, name=theirs.name, lower_bound=lower, upper_bound=upper)


def export_schedule(schedule: Schedule, theirs: Any = None) -> Any:
    """The schedule as `job_shop_lib.Schedule` of `theirs`, which is `export_instance(schedule.instance)` when None."""
    expect(schedule, Schedule, ScheduleError)
    if theirs is None:
        theirs = export_instance(schedule.instance)
    elif import_instance(theirs) != schedule.instance:
        raise ScheduleError(f"the schedule belongs to {schedule.instance!r}, not to {theirs!r}")
    return _scheduled(schedule, theirs)


def _scheduled(schedule: Schedule, theirs: Any) -> Any:
    job_shop_lib = _job_shop_lib()
    operations, start = list(chain.from_iterable(theirs.jobs)), schedule.start.tolist()
    rows = [
        [job_shop_lib.ScheduledOperation(operations[x], start[x], machine) for x in row.tolist()]
        for machine, row in enumerate(schedule.machine_orders[: theirs.num_machines])
    ]
    return job_shop_lib.Schedule(theirs, rows)


def import_schedule(theirs: Any, instance: Instance | None = None) -> Schedule:
    """The schedule in a complete `job_shop_lib.Schedule`, with its start times; verified.

    Parameters
    ----------
    instance
        What the schedule shall belong to; `import_instance(theirs.instance)` when None.
    """
    expect(theirs, _job_shop_lib().Schedule, ScheduleError)
    known = import_instance(theirs.instance)
    if instance is not None and instance != known:
        raise ScheduleError(f"the schedule belongs to {theirs.instance!r}, not to {instance!r}")
    return _imported(theirs, instance or known)


def _imported(theirs: Any, instance: Instance) -> Schedule:
    count = theirs.num_scheduled_operations
    if not theirs.is_complete() or count != instance.n_operations:
        raise ScheduleError(f"the schedule has {count} of {instance.n_operations} operations, expected all of them")
    start = np.zeros(instance.n_operations, np.int64)
    for each in chain.from_iterable(theirs.schedule):
        start[instance.job_offset[each.job_id] + each.position_in_job] = each.start_time
    schedule = Schedule.from_starts(instance, start)
    schedule.verify()
    return schedule


class Solver:
    """A search in the calling convention of job_shop_lib: `solver(instance)` and `solver.solve(instance)`.

    The schedule's metadata says `solved_by`, `elapsed_time`, `lower_bound` and `status`.

    Parameters
    ----------
    stop
        When to end: see `l2s_plugin.stop`.
    search
        `heuristics.solve`, `local_search`, `tabu_search`, or `cp_sat.solve`.
    options
        Passed on to the search, as in `Solver(stop, tabu_search, selector="greedy", seed=1)`.
    """

    def __init__(self, stop: Stop | Condition | None, search: Callable[..., Result] = solve, **options: Any) -> None:
        self._search = partial(search, stop=stop, **options)

    def solve(self, instance: Any) -> Any:
        result = self._search(import_instance(instance))
        schedule = export_schedule(result.schedule, instance)
        schedule.metadata |= {
            "solved_by": f"l2s {result.method}",
            "elapsed_time": result.seconds,
            "lower_bound": result.lower_bound,
            "status": result.status,
        }
        return schedule

    __call__ = solve


class NeighbourGenerator:
    """The `neighbor_generator` of job_shop_lib's simulated annealing: the move that a selector picks.

    Selectors that sample (`random`, `boltzmann`, `l2s`) suit annealing best. A schedule whose moves are all refused
    stays as it is.

    Parameters
    ----------
    selector, neighbourhood
        A registered name, or an object: see `heuristics.local_search`.
    """

    def __init__(
        self, selector: Any = "boltzmann", neighbourhood: Any = "n5", registry: Registry | None = None
    ) -> None:
        self._parts = {"neighbourhood": neighbourhood, "selector": selector, "registry": registry}
        self._search: Search | None = None
        self._theirs: Any = None

    def __call__(self, schedule: Any, random_generator: random.Random | None = None) -> Any:
        """The schedule after one move."""
        theirs, source = schedule.instance, random_generator or random.Random()
        if self._search is None or self._theirs is not theirs:  # the annealing asks thousands of times for the same
            self._search, self._theirs = Search(import_instance(theirs), memory=Memory(), **self._parts), theirs
        search = self._search
        # all randomness comes from the annealing's generator: same seed, same run
        search.state.rng[0] = source.getrandbits(64)
        search.rng = np.random.default_rng(source.getrandbits(64))
        search.start(_imported(schedule, search.instance).linear_order)
        before = search.step
        search.run(before + 1)
        if search.step == before:
            return schedule
        return _scheduled(Schedule.from_linear_order(search.instance, search.view.linear_order), theirs)


def _job_shop_lib() -> Any:
    return library("job_shop_lib", "job-shop-lib")
