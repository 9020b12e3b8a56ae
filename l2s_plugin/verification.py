"""Does a schedule keep every promise? Plain Python that shares no code with the kernels or the evaluator.

The checks go from the outside in - sizes, numbers, machine orders, start times, makespan - and the first
violated constraint is raised as one line that names the operations involved.

An operation of duration 0 takes no time on its machine, but it has its place in the order: it may start the
moment another operation starts or ends, never while one is running.
"""

from __future__ import annotations

from collections.abc import Sequence
from graphlib import CycleError, TopologicalSorter
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from l2s_plugin.errors import L2SError, ScheduleError
from l2s_plugin.instance import NO_DUE_DATE, Instance
from l2s_plugin.names import time_text
from l2s_plugin.schedule import JSON_FORMAT

if TYPE_CHECKING:
    from l2s_plugin.schedule import Schedule


def verify(instance: Instance, schedule: Schedule) -> None:
    """Check that `schedule` is a schedule of `instance`; raises `ScheduleError` with the first violated constraint."""
    if schedule.instance != instance:
        raise ScheduleError(f"a schedule of {schedule.instance!r}, expected one of {instance!r}")
    order, start = schedule.order.tolist(), schedule.start.tolist()
    _check_length(order, instance.n_operations, "operations in the machine orders")
    _check_length(start, instance.n_operations, "start times")
    offset = instance.machine_offset.tolist()
    machine_orders = [order[a:b] for a, b in pairwise(offset)]
    _check(instance, machine_orders, start, schedule.makespan)


def verify_dict(instance: Instance, data: dict[str, Any], source: str = "schedule") -> None:
    """Check the JSON form of a schedule (`Schedule.to_dict`) likewise; trusts nothing in it.

    `source` says where the data came from: the beginning of every message.
    """
    try:
        _check_dict(instance, data)
    except ScheduleError as error:
        claimed = data.get("instance") if isinstance(data, dict) else None
        other = isinstance(claimed, str) and claimed != instance.name
        note = f" (a schedule of {claimed!r}, checked against {instance.name!r})" if other else ""
        raise ScheduleError(f"{source}: {error}{note}") from None


def _check_dict(instance: Instance, data: dict[str, Any]) -> None:
    if not isinstance(data, dict) or data.get("format") != JSON_FORMAT:
        raise ScheduleError(f'not a schedule, expected an object with "format": "{JSON_FORMAT}"')
    kinds = {"version": int, "n_jobs": int, "n_machines": int, "makespan": int, "machine_orders": list, "start": list}
    for key in kinds:
        if key not in data:
            raise ScheduleError(f"{key} is missing")
    for key, kind in kinds.items():
        _check_type(kind, data[key], key)
    if data["version"] != 1:
        raise ScheduleError(f"version {data['version']}, only version 1 is known")
    for key in ("n_jobs", "n_machines"):
        if data[key] != getattr(instance, key):
            raise ScheduleError(f"{key} is {data[key]}, but the instance has {getattr(instance, key)}")
    for key in ("job_names", "machine_names", "operation_names"):
        if data.get(key) is not None and getattr(instance, key) is not None:
            _check_type(list, data[key], key)
            _check_length(data[key], len(getattr(instance, key)), key)
            for found, expected in zip(data[key], getattr(instance, key), strict=True):
                if found != expected:
                    raise ScheduleError(f"{key} has {found!r:.40}, but the instance has {expected!r:.40} there")
    _check_length(data["machine_orders"], instance.n_machines, "machine orders")
    for machine, order in enumerate(data["machine_orders"]):
        _check_type(list, order, f"the order of {_machine(instance, machine)}")
    _check_length(data["start"], instance.n_operations, "start times")
    _check(instance, data["machine_orders"], data["start"], data["makespan"])
    if data.get("lateness") is not None and instance.due is not None:
        last = (instance.job_offset[1:] - 1).tolist()
        due = zip(last, instance.due.tolist(), strict=True)
        lateness = max(data["start"][x] + int(instance.duration[x]) - date for x, date in due if date != NO_DUE_DATE)
        if data["lateness"] != lateness:
            raise ScheduleError(f"lateness is {data['lateness']!r:.40}, but the latest job is {lateness} late")


def _machine(instance: Instance, machine: int) -> str:
    return f"machine {instance.machine_name(machine)}"


def _at(instance: Instance, time: int) -> str:
    """A time as its number or on the clock; files may hold times that no calendar has."""
    try:
        return time_text(instance, time)
    except L2SError:
        return str(time)


def _check(instance: Instance, machine_orders: list[list[int]], start: list[int], makespan: int) -> None:
    """Check everything that remains once the shapes are right."""
    for operation, time in enumerate(start):
        if type(time) is not int:  # described only if wrong: there may be many
            _check_type(int, time, f"start of {instance.describe(operation)}")
    _check_machine_orders_complete(instance, machine_orders)

    if instance.earliest is not None:
        for operation, (time, date) in enumerate(zip(start, instance.earliest.tolist(), strict=True)):
            if time < date:
                early = f"{instance.describe(operation)} starts at {_at(instance, time)}"
                raise ScheduleError(f"{early}, before its date {_at(instance, date)}")
    for kept in instance.kept:
        machine = int(instance.machine[kept[0]])
        for wanted, found in zip(kept, machine_orders[machine], strict=True):
            if wanted != found:
                place = f"the order of {_machine(instance, machine)} is to be kept"
                raise ScheduleError(f"{place}: {instance.describe(found)}, expected {instance.describe(wanted)}")
    duration = instance.duration.tolist()
    end = [s + d for s, d in zip(start, duration, strict=True)]
    jobs = [range(first, stop) for first, stop in pairwise(instance.job_offset.tolist())]
    for job in jobs:
        if start[job[0]] < 0:
            raise ScheduleError(f"{instance.describe(job[0])} starts at {start[job[0]]}, before 0")
        _check_sequence(instance, job, start, end)
    for machine, order in enumerate(machine_orders):
        by_time = sorted(order, key=lambda operation: (start[operation], end[operation]))
        _check_sequence(instance, by_time, start, end, f"{_machine(instance, machine)}: ")
        for before, after in pairwise(order):
            if start[after] < end[before]:
                both = f"{instance.describe(before)} before {instance.describe(after)}"
                raise ScheduleError(
                    f"{_machine(instance, machine)} lists {both}, but they start at {_at(instance, start[before])} "
                    f"and {_at(instance, start[after])}"
                )
    if 0 in duration:
        # positive durations make every order that agrees with the start times free of cycles
        _check_no_cycle(instance, [*jobs, *machine_orders])
    if makespan != max(end):
        raise ScheduleError(f"makespan is {makespan}, but the last operation ends at {max(end)}")


def _check_machine_orders_complete(instance: Instance, machine_orders: list[list[int]]) -> None:
    """Every operation stands exactly once, in the order of its own machine."""
    machine_of = instance.machine.tolist()
    seen: set[int] = set()
    for machine, order in enumerate(machine_orders):
        place = f"the order of {_machine(instance, machine)}"
        lists, entry = f"{place} lists", f"every entry in {place}"
        for operation in order:
            _check_type(int, operation, entry)
            if not 0 <= operation < instance.n_operations:
                raise ScheduleError(f"{lists} operation {operation}, expected 0 to {instance.n_operations - 1}")
            if (needed := machine_of[operation]) != machine:
                needs = f"which needs {_machine(instance, needed)}"
                raise ScheduleError(f"{lists} {instance.describe(operation)}, {needs}")
            if operation in seen:
                raise ScheduleError(f"{lists} {instance.describe(operation)} twice")
            seen.add(operation)
    for operation in sorted({*range(instance.n_operations)} - seen)[:1]:
        home = f"the order of {_machine(instance, machine_of[operation])}"
        raise ScheduleError(f"{instance.describe(operation)} is missing in {home}")


def _check_sequence(
    instance: Instance, operations: Sequence[int], start: list[int], end: list[int], where: str = ""
) -> None:
    """No operation starts before the one before it has ended."""
    for before, after in pairwise(operations):
        if start[after] < end[before]:
            raise ScheduleError(
                f"{where}{instance.describe(after)} starts at {_at(instance, start[after])}, "
                f"before {instance.describe(before)} ends at {_at(instance, end[before])}"
            )


def _check_no_cycle(instance: Instance, sequences: list[Sequence[int]]) -> None:
    """The orders can be followed: some operation can always go next."""
    graph: TopologicalSorter[int] = TopologicalSorter()
    for operations in sequences:
        for before, after in pairwise(operations):
            graph.add(after, before)
    try:
        graph.prepare()
    except CycleError as error:
        stuck = instance.describe(min(error.args[1]))
        raise ScheduleError(f"the machine orders wait for each other in a cycle that holds up {stuck}") from None


def _check_length(values: list[Any], expected: int, what: str) -> None:
    if len(values) != expected:
        raise ScheduleError(f"{len(values)} {what}, but the instance has {expected}")


def _check_type(kind: type, value: Any, what: str) -> None:
    if type(value) is not kind:  # True is an int to isinstance
        expected = "an integer" if kind is int else "a list"
        raise ScheduleError(f"{what} must be {expected}, got {value!r:.40}")
