"""PyJobShop: our instances and schedules in its form and back, and our schedules as its warm start.

>>> data = export_instance(instance)  # doctest: +SKIP
>>> result = pyjobshop.solve(data, initial_solution=export_schedule(schedule, data))  # doctest: +SKIP
>>> import_schedule(result.best, data).verify()  # doctest: +SKIP

`pyjobshop` is imported on first use (extra `pyjobshop`). Its models can say more than ours: what is no plain job shop
with the makespan as its objective is refused with one line.
"""

from __future__ import annotations

from collections import Counter, defaultdict
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
    if instance.has_dates or instance.due is not None or instance.kept:
        raise InstanceError(f"{instance.name}: it has dates or kept orders, expected a plain job shop for PyJobShop")
    jobs = [job.tolist() for job in instance.split_by_job(np.arange(instance.n_operations))]
    rows = enumerate(zip(instance.machine.tolist(), instance.duration.tolist(), strict=True))
    return pyjobshop.ProblemData(
        jobs=[pyjobshop.Job(tasks=job) for job in jobs],
        resources=[pyjobshop.Machine() for _ in range(instance.n_machines)],
        tasks=[pyjobshop.Task(job=number) for number, job in enumerate(jobs) for _ in job],
        modes=[pyjobshop.Mode(task, [machine], duration) for task, (machine, duration) in rows],
        constraints=pyjobshop.Constraints(
            end_before_start=[pyjobshop.EndBeforeStart(*pair) for job in jobs for pair in pairwise(job)]
        ),
    )


def import_instance(data: Any, name: str = "pyjobshop") -> Instance:
    """The instance in a `pyjobshop.ProblemData`; jobs keep their order, their tasks take that of the precedences."""
    return _read(data, name)[0]


def export_schedule(schedule: Schedule, data: Any = None) -> Any:
    """The schedule as `pyjobshop.Solution` of `data`, which is `export_instance(schedule.instance)` when None."""
    pyjobshop = _pyjobshop()
    expect(schedule, Schedule, ScheduleError)
    data = export_instance(schedule.instance) if data is None else data
    instance, tasks = _read(data)
    if instance != schedule.instance:
        raise ScheduleError(f"the schedule belongs to {schedule.instance!r}, not to this data")
    times = dict(zip(tasks, zip(schedule.start.tolist(), schedule.end.tolist(), strict=True), strict=True))
    modes = {mode.task: (number, mode.resources) for number, mode in enumerate(data.modes)}
    return pyjobshop.Solution(data, [pyjobshop.ScheduledTask(*modes[x], *times[x]) for x in range(len(tasks))])


def import_schedule(solution: Any, data: Any, instance: Instance | None = None) -> Schedule:
    """The schedule in a `pyjobshop.Solution` of `data`, with its start times; verified.

    Parameters
    ----------
    instance
        What the schedule shall belong to; `import_instance(data)` when None.
    """
    expect(solution, _pyjobshop().Solution, ScheduleError)
    known, tasks = _read(data)
    if instance is not None and instance != known:
        raise ScheduleError(f"the data describes another instance than {instance!r}")
    if len(solution.tasks) != known.n_operations:
        raise ScheduleError(f"the solution has {len(solution.tasks)} tasks, expected {known.n_operations}")
    schedule = Schedule.from_starts(instance or known, [solution.tasks[task].start for task in tasks])
    schedule.verify()
    return schedule


def _pyjobshop() -> Any:
    return library("pyjobshop", "pyjobshop")


def _read(data: Any, name: str = "pyjobshop") -> tuple[Instance, list[int]]:
    """The instance, and the task of every operation."""
    expect(data, _pyjobshop().ProblemData, InstanceError)
    for problem in _problems(data):
        raise InstanceError(f"{name}: {problem}, expected a plain job shop")
    waits_for = defaultdict(set)
    for pair in data.constraints.end_before_start:
        waits_for[pair.task2].add(pair.task1)
    mode_of = {mode.task: mode for mode in data.modes}
    jobs, tasks = [], []
    for number, job in enumerate(data.jobs):
        try:
            chain = list(TopologicalSorter({task: waits_for[task] for task in job.tasks}).static_order())
        except CycleError:
            raise InstanceError(f"{name}: the tasks of job {number} wait for each other in a cycle") from None
        if any(first not in waits_for[second] for first, second in pairwise(chain)):
            raise InstanceError(f"{name}: the tasks of job {number} are not in one order, expected a plain job shop")
        jobs.append([(mode_of[task].resources[0], mode_of[task].duration) for task in chain])
        tasks += chain
    return Instance.from_jobs(jobs, len(data.resources), name=name), tasks


def _problems(data: Any) -> Iterator[str]:
    """What a plain job shop does not have."""
    pyjobshop = _pyjobshop()
    for what, items, plain, free in (
        ("resource {}", data.resources, pyjobshop.Machine(), {"name"}),
        # weights and due dates matter to other objectives only
        ("job {}", data.jobs, pyjobshop.Job(), {"name", "tasks", "weight", "due_date"}),
        ("task {}", data.tasks, pyjobshop.Task(), {"name", "job"}),
        ("the objective", [data.objective], pyjobshop.Objective(), {"weight_makespan"}),
    ):
        for number, item in enumerate(items):
            if type(item) is not type(plain):
                yield f"{what.format(number)} is a {type(item).__name__}"
            for name, usual in vars(plain).items():
                if name not in free and (value := getattr(item, name, usual)) != usual:
                    yield f"{what.format(number)} has {name} {value}"
    listed = Counter(task for job in data.jobs for task in job.tasks)
    modes = Counter(mode.task for mode in data.modes)
    for task in range(len(data.tasks)):
        if listed[task] != 1:
            yield f"task {task} belongs to {listed[task]} jobs"
        if modes[task] != 1:
            yield f"task {task} has {modes[task]} modes"
    for number, mode in enumerate(data.modes):
        if len(mode.resources) != 1:
            yield f"mode {number} needs {len(mode.resources)} resources"
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
