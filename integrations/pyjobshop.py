"""PyJobShop: our instances and schedules in its form and back, and our schedules as its warm start.

>>> data = export_instance(instance)  # doctest: +SKIP
>>> result = pyjobshop.solve(data, initial_solution=export_schedule(schedule, data))  # doctest: +SKIP
>>> import_schedule(result.best, data).verify()  # doctest: +SKIP

`pyjobshop` is imported on first use (extra `pyjobshop`). Its models can say more than ours: what is no plain job shop
with the makespan as its objective is refused with one line.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields
from graphlib import CycleError, TopologicalSorter
from itertools import pairwise
from typing import Any

import numpy as np

from integrations.libraries import expect, library
from l2s_plugin.errors import InstanceError, ScheduleError
from l2s_plugin.instance import Instance
from l2s_plugin.schedule import Schedule


def export_instance(instance: Instance) -> Any:
    """The instance as `pyjobshop.ProblemData`: task k is operation k, resource k machine k."""
    pyjobshop = _pyjobshop()
    expect(instance, Instance, InstanceError)
    ids = range(instance.n_operations)
    job_of, machine, duration = (x.tolist() for x in (instance.job, instance.machine, instance.duration))
    return pyjobshop.ProblemData(
        jobs=[pyjobshop.Job(tasks=tasks.tolist()) for tasks in instance.split_by_job(np.arange(instance.n_operations))],
        resources=[pyjobshop.Machine() for _ in range(instance.n_machines)],
        tasks=[pyjobshop.Task(job=job) for job in job_of],
        modes=[pyjobshop.Mode(task=k, resources=[machine[k]], duration=duration[k]) for k in ids],
        constraints=pyjobshop.Constraints(
            end_before_start=[pyjobshop.EndBeforeStart(k - 1, k) for k in ids[1:] if job_of[k - 1] == job_of[k]]
        ),
    )


def import_instance(data: Any, name: str = "pyjobshop") -> Instance:
    """The instance in a `pyjobshop.ProblemData`; jobs keep their order, their tasks take that of the precedences."""
    expect(data, _pyjobshop().ProblemData, InstanceError)
    for problem in _problems(data):
        raise InstanceError(f"{name}: {problem}, expected a plain job shop")
    mode_of = {mode.task: mode for mode in data.modes}
    jobs = [[(mode_of[task].resources[0], mode_of[task].duration) for task in job] for job in _chains(data, name)]
    return Instance.from_jobs(jobs, len(data.resources), name=name)


def export_schedule(schedule: Schedule, data: Any = None) -> Any:
    """The schedule as `pyjobshop.Solution` of `data`, which is `export_instance(schedule.instance)` when None."""
    pyjobshop = _pyjobshop()
    expect(schedule, Schedule, ScheduleError)
    if data is None:
        data = export_instance(schedule.instance)
    elif import_instance(data) != schedule.instance:
        raise ScheduleError(f"the schedule belongs to {schedule.instance!r}, not to this data")
    start, end = schedule.start.tolist(), schedule.end.tolist()
    mode_of = {mode.task: number for number, mode in enumerate(data.modes)}
    scheduled: dict[int, Any] = {}
    for operation, task in enumerate(_tasks(data)):
        mode = mode_of[task]
        resources = data.modes[mode].resources
        scheduled[task] = pyjobshop.ScheduledTask(mode, resources, start[operation], end[operation])
    return pyjobshop.Solution(data, [scheduled[task] for task in range(len(scheduled))])


def import_schedule(solution: Any, data: Any, instance: Instance | None = None) -> Schedule:
    """The schedule in a `pyjobshop.Solution` of `data`, with its start times; verified.

    Parameters
    ----------
    instance
        What the schedule shall belong to; `import_instance(data)` when None.
    """
    expect(solution, _pyjobshop().Solution, ScheduleError)
    known = import_instance(data)
    if instance is not None and instance != known:
        raise ScheduleError(f"the data describes another instance than {instance!r}")
    if len(solution.tasks) != known.n_operations:
        raise ScheduleError(f"the solution has {len(solution.tasks)} tasks, expected {known.n_operations}")
    start = np.array([solution.tasks[task].start for task in _tasks(data)], np.int64)
    schedule = Schedule.from_starts(instance or known, start)
    schedule.verify()
    return schedule


def _pyjobshop() -> Any:
    return library("pyjobshop", "pyjobshop")


def _tasks(data: Any) -> list[int]:
    """The task of every operation."""
    return [task for chain in _chains(data, "pyjobshop") for task in chain]


def _chains(data: Any, name: str) -> list[list[int]]:
    """The tasks of each job in the one order that the precedences allow."""
    before = {(pair.task1, pair.task2) for pair in data.constraints.end_before_start}
    waits_for: dict[int, set[int]] = {}
    for first, second in before:
        waits_for.setdefault(second, set()).add(first)
    chains = []
    for number, job in enumerate(data.jobs):
        try:
            chain = list(TopologicalSorter({task: waits_for.get(task, set()) for task in job.tasks}).static_order())
        except CycleError:
            raise InstanceError(f"{name}: the tasks of job {number} wait for each other in a cycle") from None
        if not before.issuperset(pairwise(chain)):
            raise InstanceError(f"{name}: the tasks of job {number} are not in one order, expected a plain job shop")
        chains.append(chain)
    return chains


def _problems(data: Any) -> Iterator[str]:
    """What a plain job shop does not have."""
    pyjobshop = _pyjobshop()
    plain_job, plain_task, plain_machine = pyjobshop.Job(), pyjobshop.Task(), pyjobshop.Machine()
    listed = np.bincount([task for job in data.jobs for task in job.tasks], minlength=len(data.tasks))
    for number, resource in enumerate(data.resources):
        if type(resource) is not pyjobshop.Machine:
            yield f"resource {number} is a {type(resource).__name__}"
        else:
            yield from _differences(f"resource {number}", resource, plain_machine, {"name"})
    for number, job in enumerate(data.jobs):
        # weights and due dates matter to other objectives only
        yield from _differences(f"job {number}", job, plain_job, {"name", "tasks", "weight", "due_date"})
    modes = np.bincount([mode.task for mode in data.modes], minlength=len(data.tasks))
    for number, task in enumerate(data.tasks):
        yield from _differences(f"task {number}", task, plain_task, {"name", "job"})
        if listed[number] != 1:
            yield f"task {number} belongs to {listed[number]} jobs"
        if modes[number] != 1:
            yield f"task {number} has {modes[number]} modes"
    for number, mode in enumerate(data.modes):
        if len(mode.resources) != 1:
            yield f"mode {number} needs {len(mode.resources)} resources"
    yield from _differences("the objective", data.objective, pyjobshop.Objective(), {"weight_makespan"})
    if not data.objective.weight_makespan:
        yield "the objective is not the makespan"
    for kind in fields(data.constraints):
        if kind.name != "end_before_start" and getattr(data.constraints, kind.name):
            yield f"there are constraints {kind.name}"
    for pair in data.constraints.end_before_start:
        if data.tasks[pair.task1].job != data.tasks[pair.task2].job:
            yield f"task {pair.task2} waits for task {pair.task1} of another job"
        if pair.delay:
            yield f"task {pair.task2} waits {pair.delay} after task {pair.task1}"


def _differences(what: str, item: Any, plain: Any, free: set[str]) -> Iterator[str]:
    """The fields in which an item differs from the plainest of its kind, `free` ones aside."""
    for each in fields(item):
        value = getattr(item, each.name)
        if each.name not in free and value != getattr(plain, each.name):
            yield f"{what} has {each.name} {value}"
