"""What of a plan is still to be done at some time, after all that went otherwise: an instance of its own.

What has ended or is under way is *fixed*; the rest can be planned anew. Fixed operations come first in their jobs and
on their machines, so all they mean to the rest is an earliest start.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from heuristics.news import RESTARTS, News
from l2s_plugin.errors import L2SError, UnknownNameError
from l2s_plugin.instance import NO_DUE_DATE, Instance
from l2s_plugin.names import find_machine, time_text
from l2s_plugin.objectives import MAKESPAN
from l2s_plugin.schedule import Schedule

Integers = NDArray[np.int64]


@dataclass(frozen=True)
class Remainder:
    """The revised `instance`, past included, and the part of it that is still to be planned: `reduced`.

    `old` is the plan and `at` the time. `origin` holds the old id of every operation of the revised instance (-1 of a
    new one), `fixed` says which of them are not planned anew, and `start` when those start. `moved_right` is a schedule
    of `reduced`: the old machine orders, with new operations behind. `decided` is what the fixed operations alone make
    of the objective, None where that is nothing.
    """

    old: Schedule
    at: int
    instance: Instance
    reduced: Instance
    origin: Integers
    fixed: NDArray[np.bool_]
    start: Integers
    before: list[Integers]  # the fixed operations of each machine, in order
    moved_right: Schedule
    decided: int | None
    notes: list[str]

    def whole(self, schedule: Schedule) -> Schedule:
        """The plan of everything in which the rest follows a schedule of `reduced`."""
        rest, start = np.flatnonzero(~self.fixed), self.start.copy()
        start[rest] = schedule.start
        rows = zip(self.before, schedule.machine_orders, strict=True)
        order: Any = np.concatenate([part for first, row in rows for part in (first, rest[row])])
        return Schedule(self.instance, order, start)  # type: ignore[arg-type]

    def value(self, value: int) -> int:
        """The value of the whole plan, from that of its part."""
        if self.decided is None:
            return value
        return self.decided if self.reduced.objective != self.instance.objective else max(value, self.decided)


def remainder(schedule: Schedule, news: News, add: Instance | None = None) -> Remainder:
    """What is still to be done of a schedule, and of the jobs that are new."""
    old, at = schedule.instance, news.at
    if not schedule.start.min() <= at < schedule.makespan:
        begin, end = (time_text(old, time) for time in (int(schedule.start.min()), schedule.makespan))
        when = "has not begun" if at < schedule.start.min() else "is over"
        raise L2SError(f"the plan {when} at {time_text(old, at)}: it goes from {begin} to {end}")
    past = _look_back(schedule, news)
    everything = old if add is None else _joined(old, add)
    new = everything.n_operations - old.n_operations
    fixed, start = np.pad(past.fixed, (0, new)), np.pad(schedule.start, (0, new)).astype(np.int64)
    gone = ~fixed & np.isin(everything.job, [*news.drop])
    changes: Any = {
        "duration": np.where(fixed, np.pad(past.end, (0, new)) - start, everything.duration),
        "earliest": np.where(fixed, start, _earliest(everything, past, news)),
        "due": _without(everything.due, news.drop),
        "kept": (),
        "lower_bound": None,
        "upper_bound": None,
    }
    stays = np.flatnonzero(~gone)
    if fixed[stays].all():
        raise L2SError(f"nothing is left to plan at {time_text(old, at)}")
    revised = _part(replace(everything, **changes), stays)
    fixed, start = fixed[stays], start[stays]

    # the old plan, and new operations behind it, the early ones first
    place = np.cumsum(~gone) - 1
    old_ones = schedule.linear_order[~gone[schedule.linear_order]]
    new_ones = np.arange(len(stays) - new, len(stays))
    queue = np.append(place[old_ones], new_ones[np.argsort(revised.head[new_ones], kind="stable")])
    rows = np.split(queue[np.argsort(revised.machine[queue], kind="stable")], revised.machine_offset[1:-1])
    keep = news.keep_order | {int(old.machine[order[0]]) for order in old.kept}
    revised = replace(revised, kept=tuple(tuple(rows[k].tolist()) for k in sorted(keep) if len(rows[k])))
    rest = np.flatnonzero(~fixed)
    reduced = _part(revised, rest)
    return Remainder(
        old=schedule,
        at=at,
        instance=revised,
        reduced=reduced,
        origin=np.where(stays < old.n_operations, stays, -1),
        fixed=fixed,
        start=start,
        before=[row[fixed[row]] for row in rows],
        moved_right=Schedule.from_linear_order(reduced, (np.cumsum(~fixed) - 1)[queue[~fixed[queue]]]),
        decided=_decided(revised, fixed, start),
        notes=[*past.notes, *_notes(old, news, past, everything)],
    )


class _Past(NamedTuple):
    """What is fixed, when it ends, from when on jobs and machines are free of it, and what there is to say."""

    fixed: NDArray[np.bool_]
    end: Integers
    job_free: Integers
    machine_free: Integers
    notes: list[str]


def _look_back(schedule: Schedule, news: News) -> _Past:
    """Follow the plan, with the news in mind, as long as it goes: what waits for something not begun has not, too."""
    instance, at = schedule.instance, news.at
    fixed, end = np.zeros(instance.n_operations, bool), schedule.end.astype(np.int64)
    begun = (schedule.end <= at) | (schedule.start < at)  # by the plan
    foreseen = _foreseen(schedule, news)
    # free of what is fixed, and whether something came that has not begun
    job_free, machine_free = np.zeros(instance.n_jobs, np.int64), np.zeros(instance.n_machines, np.int64)
    job_waits, machine_waits = np.zeros(instance.n_jobs, bool), np.zeros(instance.n_machines, bool)
    notes: list[str] = []
    for x in schedule.linear_order.tolist():
        job, machine = instance.job[x], instance.machine[x]
        ready = not (job_waits[job] or machine_waits[machine])
        ready &= bool(schedule.start[x] >= max(job_free[job], machine_free[machine]))
        found = _end(schedule, news, x, bool(begun[x]), notes) if ready and (begun[x] or foreseen[x]) else None
        if found is not None:
            fixed[x], end[x] = True, found
            job_free[job] = machine_free[machine] = found
        elif begun[x] or job not in news.drop:
            job_waits[job] = machine_waits[machine] = True
    waiting = [x for x in np.flatnonzero(begun & ~fixed).tolist() if instance.job[x] not in news.drop]
    if waiting:
        notes.append(
            f"to be planned anew, though the plan begins it before: {_listed(map(instance.describe, waiting))}"
        )
    return _Past(fixed, end, job_free, machine_free, notes)


def _end(schedule: Schedule, news: News, x: int, begun: bool, notes: list[str]) -> int | None:
    """When an operation ends that the plan has begun, or that should go as planned; None if it cannot stay."""
    instance, start, end = schedule.instance, int(schedule.start[x]), int(schedule.end[x])
    who, machine = instance.describe(x), int(instance.machine[x])
    if x in news.delay:
        if not begun:
            return None
        told = news.delay[x]
        times = [time_text(instance, time) for time in (told, start, end)]
        if told <= start:
            raise L2SError(f"{who} cannot end at {times[0]}: it starts at {times[1]}")
        notes.append(f"{who} ends at {times[0]}, planned was {times[2]}")
        return told
    outage = news.down.get(machine)
    if outage is None or not (outage.begin < end and start < outage.end):
        return end
    if not begun or outage.begin <= start:  # a machine that is down begins nothing
        return None
    until = f"machine {instance.machine_name(machine)}, which is down until {time_text(instance, outage.end)}"
    if news.under_way == RESTARTS:
        if instance.job[x] not in news.drop:
            notes.append(f"{who} starts again in full on {until}")
        return None
    end += outage.end - outage.begin
    notes.append(f"{who} is interrupted on {until}; it goes on then, and ends at {time_text(instance, end)}")
    return end


def _foreseen(schedule: Schedule, news: News) -> NDArray[np.bool_]:
    """What the plan ends on a machine before that goes down later, and everything that this waits for."""
    instance = schedule.instance
    begin = np.full(instance.n_machines, -1, np.int64)
    for machine, outage in news.down.items():
        begin[machine] = outage.begin if outage.begin > news.at else -1
    chosen = schedule.end <= begin[instance.machine]
    if not chosen.any():
        return chosen
    before = np.full(instance.n_operations, instance.n_operations)
    for row in schedule.machine_orders:
        before[row[1:]] = row[:-1]
    chosen = np.append(chosen, False)
    for x in schedule.linear_order[::-1]:
        if chosen[x]:
            chosen[[instance.job_pred[x], before[x]]] = True
    return chosen[:-1] & ~np.isin(instance.job, [*news.drop])


def _earliest(instance: Instance, past: _Past, news: News) -> Integers:
    """When the operations that are not fixed can start."""
    new_jobs = instance.n_jobs - len(past.job_free)
    earliest = np.maximum(news.at, 0 if instance.earliest is None else instance.earliest.astype(np.int64))
    earliest = np.maximum(earliest, np.pad(past.job_free, (0, new_jobs))[instance.job])
    free = past.machine_free.copy()
    for machine, outage in news.down.items():
        free[machine] = max(free[machine], outage.end)
    earliest = np.maximum(earliest, free[instance.machine])
    for x, end in news.delay.items():
        if not past.fixed[x]:
            if end <= news.at:
                told, now = (time_text(instance, time) for time in (end, news.at))
                raise L2SError(f"{instance.describe(x)} cannot end at {told}: it has not begun at {now}")
            earliest[x] = max(earliest[x], end - instance.duration[x])
    return earliest


def _decided(instance: Instance, fixed: NDArray[np.bool_], start: Integers) -> int | None:
    """The value of the objective as far as no schedule of the rest can change it."""
    end = start + instance.duration
    if instance.objective == MAKESPAN:
        return int(end[fixed].max()) if fixed.any() else None
    assert instance.due is not None
    last = instance.job_offset[1:] - 1  # where it is fixed, all of the job is
    over = fixed[last] & (instance.due != NO_DUE_DATE)
    return int((end[last] - instance.due)[over].max()) if over.any() else None


def _part(instance: Instance, operations: Integers) -> Instance:
    """An instance of some of the operations, in the same order; jobs without any of them disappear."""
    jobs, lengths = np.unique(instance.job[operations], return_counts=True)
    place = np.full(instance.n_operations, -1)
    place[operations] = np.arange(len(operations))
    orders = ([place[x] for x in order if place[x] >= 0] for order in instance.kept)
    due = None if instance.due is None or (instance.due[jobs] == NO_DUE_DATE).all() else instance.due[jobs]
    named = instance.job_names is not None or len(jobs) < instance.n_jobs  # others keep their numbers
    names = instance.operation_names
    changes: Any = {
        "duration": instance.duration[operations],
        "machine": instance.machine[operations],
        "job_offset": np.concatenate(([0], np.cumsum(lengths))),
        "earliest": None if instance.earliest is None else instance.earliest[operations],
        "due": due,
        "objective": instance.objective if due is not None else MAKESPAN,
        "kept": tuple(tuple(order) for order in orders if order),
        "job_names": tuple(instance.job_name(job) for job in jobs) if named else None,
        "operation_names": None if names is None else tuple(names[x] for x in operations),
    }
    return replace(instance, **changes)


def _joined(old: Instance, add: Instance) -> Instance:
    """The jobs of one instance, then those of another, on the machines of the first."""
    machine = np.zeros(add.n_machines, np.int64)
    for k in np.unique(add.machine).tolist():
        try:
            machine[k] = find_machine(old, add.machine_name(k))
        except UnknownNameError as error:
            raise UnknownNameError(f"{add.name}: {error}") from None
    due = None
    if old.due is not None or add.due is not None:
        due = np.concatenate([np.full(i.n_jobs, NO_DUE_DATE) if i.due is None else i.due for i in (old, add)])
    none = (np.zeros(i.n_operations, np.int64) if i.earliest is None else i.earliest for i in (old, add))
    operation_names = None
    if old.operation_names is not None or add.operation_names is not None:
        operation_names = tuple(i.operation_name(x) for i in (old, add) for x in range(i.n_operations))
    changes: Any = {
        "duration": np.append(old.duration, add.duration),
        "machine": np.append(old.machine, machine[add.machine]),
        "job_offset": np.append(old.job_offset, old.n_operations + add.job_offset[1:]),
        "earliest": np.concatenate([*none]),
        "due": due,
        "kept": (),
        "job_names": _job_names(old, add),
        "operation_names": operation_names,
    }
    return replace(old, **changes)


def _job_names(old: Instance, add: Instance) -> tuple[str, ...] | None:
    """New jobs without names are numbered on."""
    if old.job_names is None and add.job_names is None:
        return None
    taken = [old.job_name(job) for job in range(old.n_jobs)]
    following = 1 + max((int(name) for name in taken if name.isdecimal() and len(name) < 10), default=-1)
    names = add.job_names or [str(following + k) for k in range(add.n_jobs)]
    for name in names:
        if name in taken:
            raise L2SError(f"{add.name}: job {name} is in the plan already, expected another name")
    return (*taken, *names)


def _without(due: Any, drop: frozenset[int]) -> Any:
    """Jobs that are cancelled are never late."""
    return None if due is None else [None if job in drop else date for job, date in enumerate(due)]


def _notes(old: Instance, news: News, past: _Past, everything: Instance) -> list[str]:
    notes = []
    for job in sorted(news.drop):
        steps = range(old.job_offset[job], old.job_offset[job + 1])
        done = int(past.fixed[steps].sum())
        what = (
            f"{done} of {len(steps)} operations had begun and stay in the plan" if done else "nothing of it had begun"
        )
        notes.append(f"dropped: job {old.job_name(job)}; {what}")
    if everything.n_jobs > old.n_jobs:
        new = range(old.n_jobs, everything.n_jobs)
        notes.append(f"added: {_listed(f'job {everything.job_name(job)}' for job in new)}")
    for machine, outage in news.down.items():
        if outage.begin > news.at:
            begin, end = (time_text(old, time) for time in outage)
            who = f"machine {old.machine_name(machine)}"
            notes.append(f"{who} is down from {begin} to {end}: what is planned to end on it before stays as planned")
    return notes


def _listed(names: Iterable[str], most: int = 5) -> str:
    words = list(names)
    return ", ".join(words[:most]) + (f" and {len(words) - most} more" if len(words) > most else "")
