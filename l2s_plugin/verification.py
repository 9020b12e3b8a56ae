"""Does a schedule keep every promise? Plain Python that shares no code with the kernels or the evaluator.

The checks go from the outside in - sizes, numbers, machine orders, start times, makespan - and the first
violated constraint is raised as one line that names the operations involved.

An operation of duration 0 takes no time on its machine, but it has its place in the order: it may start the
moment another operation starts or ends, never while one is running.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any

from l2s_plugin.errors import ScheduleError
from l2s_plugin.instance import Instance
from l2s_plugin.schedule import JSON_FORMAT

if TYPE_CHECKING:
    from l2s_plugin.schedule import Schedule


def verify(instance: Instance, schedule: Schedule) -> None:
    """Check that `schedule` is a schedule of `instance`.

    Raises
    ------
    ScheduleError
        Naming the first violated constraint.
    """
    if schedule.instance != instance:
        raise ScheduleError(f"a schedule of {schedule.instance!r}, expected one of {instance!r}")
    order, start = schedule.order.tolist(), schedule.start.tolist()
    _check_length(order, instance.n_operations, "operations in the machine orders")
    _check_length(start, instance.n_operations, "start times")
    offset = instance.machine_offset.tolist()
    machine_orders = [order[a:b] for a, b in pairwise(offset)]
    _check(instance, machine_orders, start, schedule.makespan)


def verify_dict(instance: Instance, data: dict[str, Any], source: str = "schedule") -> None:
    """Check the JSON form of a schedule (`Schedule.to_dict`) against `instance`; trusts nothing in it.

    Parameters
    ----------
    source
        Where the data came from, the beginning of every message.

    Raises
    ------
    ScheduleError
        Naming the first violated constraint.
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
    for key in ("version", "n_jobs", "n_machines", "makespan", "machine_orders", "start"):
        if key not in data:
            raise ScheduleError(f"{key} is missing")
    for key in ("version", "n_jobs", "n_machines", "makespan"):
        _check_integer(data[key], key)
    if data["version"] != 1:
        raise ScheduleError(f"version {data['version']}, only version 1 is known")
    for key, expected in (("n_jobs", instance.n_jobs), ("n_machines", instance.n_machines)):
        if data[key] != expected:
            raise ScheduleError(f"{key} is {data[key]}, but the instance has {expected}")
    for key in ("machine_orders", "start"):
        if not isinstance(data[key], list):
            raise ScheduleError(f"{key} must be a list, got {_show(data[key])}")
    _check_length(data["machine_orders"], instance.n_machines, "machine orders")
    for machine, order in enumerate(data["machine_orders"]):
        if not isinstance(order, list):
            raise ScheduleError(f"the order of machine {machine} must be a list, got {_show(order)}")
    _check_length(data["start"], instance.n_operations, "start times")
    _check(instance, data["machine_orders"], data["start"], data["makespan"])


def _check(instance: Instance, machine_orders: list[list[int]], start: list[int], makespan: int) -> None:
    """Check everything that remains once the shapes are right."""
    for operation, time in enumerate(start):
        if type(time) is not int:
            raise ScheduleError(f"start of {instance.describe(operation)} must be an integer, got {_show(time)}")
    _check_machine_orders_complete(instance, machine_orders)

    duration = instance.duration.tolist()
    end = [s + d for s, d in zip(start, duration, strict=True)]
    _check_job_precedence(instance, start, end)
    _check_machine_capacity(instance, machine_orders, start, end)
    if 0 in duration:
        # positive durations make every order that agrees with the start times free of cycles
        _check_no_cycle(instance, machine_orders)
    if makespan != max(end):
        raise ScheduleError(f"makespan is {makespan}, but the last operation ends at {max(end)}")


def _check_machine_orders_complete(instance: Instance, machine_orders: list[list[int]]) -> None:
    """Every operation stands exactly once, in the order of its own machine."""
    machine_of = instance.machine.tolist()
    seen = [False] * instance.n_operations
    for machine, order in enumerate(machine_orders):
        for operation in order:
            _check_integer(operation, f"every entry in the order of machine {machine}")
            if not 0 <= operation < instance.n_operations:
                raise ScheduleError(
                    f"the order of machine {machine} lists operation {operation}, "
                    f"expected 0 to {instance.n_operations - 1}"
                )
            if machine_of[operation] != machine:
                raise ScheduleError(
                    f"the order of machine {machine} lists {instance.describe(operation)}, "
                    f"which needs machine {machine_of[operation]}"
                )
            if seen[operation]:
                raise ScheduleError(f"the order of machine {machine} lists {instance.describe(operation)} twice")
            seen[operation] = True
    if not all(seen):
        missing = seen.index(False)
        raise ScheduleError(f"{instance.describe(missing)} is missing in the order of machine {machine_of[missing]}")


def _check_job_precedence(instance: Instance, start: list[int], end: list[int]) -> None:
    """No operation starts before 0 or before its predecessor in the job has ended."""
    for first, stop in pairwise(instance.job_offset.tolist()):
        if start[first] < 0:
            raise ScheduleError(f"{instance.describe(first)} starts at {start[first]}, before 0")
        for operation in range(first + 1, stop):
            if start[operation] < end[operation - 1]:
                raise ScheduleError(
                    f"{instance.describe(operation)} starts at {start[operation]}, "
                    f"before {instance.describe(operation - 1)} ends at {end[operation - 1]}"
                )


def _check_machine_capacity(
    instance: Instance, machine_orders: list[list[int]], start: list[int], end: list[int]
) -> None:
    """No machine works on two operations at once, and each takes its operations in the order it lists."""
    for machine, order in enumerate(machine_orders):
        by_time = sorted(order, key=lambda operation: (start[operation], end[operation]))
        for before, after in pairwise(by_time):
            if start[after] < end[before]:
                raise ScheduleError(
                    f"machine {machine}: {instance.describe(after)} starts at {start[after]}, "
                    f"before {instance.describe(before)} ends at {end[before]}"
                )
        for before, after in pairwise(order):
            if start[after] < end[before]:
                raise ScheduleError(
                    f"machine {machine} lists {instance.describe(before)} before {instance.describe(after)}, "
                    f"but they start at {start[before]} and {start[after]}"
                )


def _check_no_cycle(instance: Instance, machine_orders: list[list[int]]) -> None:
    """The orders can be followed: some operation can always go next."""
    waits_for = [1] * instance.n_operations
    for first in instance.job_offset.tolist()[:-1]:
        waits_for[first] = 0
    next_on_machine: dict[int, int] = {}
    for order in machine_orders:
        for before, after in pairwise(order):
            next_on_machine[before] = after
            waits_for[after] += 1
    first_of_job = set(instance.job_offset.tolist())
    ready = [operation for operation, count in enumerate(waits_for) if count == 0]
    for operation in ready:  # grows while it is read
        followers = [operation + 1] if operation + 1 not in first_of_job else []
        if operation in next_on_machine:
            followers.append(next_on_machine[operation])
        for follower in followers:
            waits_for[follower] -= 1
            if waits_for[follower] == 0:
                ready.append(follower)
    if len(ready) < instance.n_operations:
        stuck = next(operation for operation, count in enumerate(waits_for) if count)
        raise ScheduleError(
            f"the machine orders wait for each other in a cycle that holds up {instance.describe(stuck)}"
        )


def _check_length(values: list[Any], expected: int, what: str) -> None:
    if len(values) != expected:
        raise ScheduleError(f"{len(values)} {what}, but the instance has {expected}")


def _check_integer(value: Any, what: str) -> None:
    if type(value) is not int:  # True is an int to isinstance
        raise ScheduleError(f"{what} must be an integer, got {_show(value)}")


def _show(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 40 else f"{text[:37]}..."
