"""What charts of schedules show beyond bars: names, times on a clock, due dates and waiting."""

from __future__ import annotations

from dataclasses import dataclass, fields
from datetime import datetime, time, timedelta
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from integrations.cli.terminal import shown as printable
from l2s_plugin.clock import Clock
from l2s_plugin.instance import NO_DUE_DATE, Instance, IntArray
from l2s_plugin.objectives import LATENESS
from l2s_plugin.schedule import Schedule

By = Literal["machine", "job"]
RED = "#dc2626"
GREEN = "#059669"

_HOUR, _DAY = 3600, 86400
# seconds between two ticks; from a week on they are Mondays
_STEPS = (1, 5, 15, 30, 60, 300, 900, 1800, *(_HOUR * k for k in (1, 2, 3, 6, 12)), *(_DAY * k for k in (1, 2, 7, 14)))
_MONDAY = datetime(2024, 1, 1)


@dataclass(frozen=True)
class Marks:
    """Where a chart has marks, in times and rows."""

    met: list[tuple[int, int]]  # due dates, or nothing by machine
    late: list[tuple[int, int]]  # due dates, or the ends of late jobs by machine
    waiting: list[tuple[int, int, int]]  # from, to, row
    held: list[tuple[int, int]]  # starts that cannot be earlier, whatever the order

    def meanings(self, by: By) -> dict[str, str]:
        """What those marks mean that there are."""
        every = {
            "met": "due date, met",
            "late": "due date, missed" if by == "job" else "end of a late job",
            "waiting": "waiting, from the earliest start on",
            "held": "held by its earliest start",
        }
        return {each.name: every[each.name] for each in fields(self) if getattr(self, each.name)}


def marks(schedule: Schedule, by: By) -> Marks:
    """All marks of a chart; there are none where the instance has no dates."""
    instance, lateness = schedule.instance, schedule.job_lateness
    met: list[tuple[int, int]] = []
    late: list[tuple[int, int]] = []
    if instance.due is not None and lateness is not None:
        missed = np.flatnonzero(lateness > 0)
        if by == "machine":
            late = _pairs(schedule.job_end[missed], instance.machine[instance.job_offset[1:] - 1][missed])
        else:
            kept = np.flatnonzero((lateness <= 0) & (instance.due != NO_DUE_DATE))
            met, late = _pairs(instance.due[kept], kept), _pairs(instance.due[missed], missed)
    rows = instance.machine if by == "machine" else instance.job
    return Marks(met, late, _waiting(schedule) if by == "job" else [], _held(schedule, rows))


def _pairs(times: NDArray[Any], rows: NDArray[Any]) -> list[tuple[int, int]]:
    return list(zip(times.tolist(), rows.tolist(), strict=True))


def _waiting(schedule: Schedule) -> list[tuple[int, int, int]]:
    """The gaps before all operations of a job, the first one's since its earliest start."""
    instance = schedule.instance
    if instance.earliest is None and instance.due is None:
        return []
    ready = np.concatenate(([0], schedule.end[:-1]))
    first = instance.job_offset[:-1]
    ready[first] = 0 if instance.earliest is None else instance.earliest[first]
    late = np.flatnonzero(schedule.start > ready)
    return list(zip(ready[late].tolist(), schedule.start[late].tolist(), instance.job[late].tolist(), strict=True))


def _held(schedule: Schedule, rows: IntArray) -> list[tuple[int, int]]:
    """Critical operations that start at their earliest: a critical path begins there."""
    earliest = schedule.instance.earliest
    if earliest is None:
        return []
    held = np.flatnonzero(schedule.critical & (earliest > 0) & (schedule.start == earliest))
    return _pairs(schedule.start[held], rows[held])


def last_time(schedule: Schedule, by: By) -> int:
    """Where the time axis ends: with the schedule, or soon after, if that shows more due dates."""
    end = max(schedule.makespan, 1)
    if by == "machine" or schedule.instance.due is None:
        return end
    due = schedule.instance.due
    return int(max(end, 1.01 * due[due <= 1.25 * end].max(initial=0)))


def names(instance: Instance, kind: By) -> list[str] | None:
    """The names of all jobs or machines, as they can be shown; None where they are numbers."""
    found = instance.job_names if kind == "job" else instance.machine_names
    return None if found is None else [" ".join(printable(name).split()) for name in found]


def cut(text: str, most: int) -> str:
    """At most so many characters: both ends tell names apart, so that the middle goes."""
    if len(text) <= most:
        return text
    front = most // 2
    return f"{text[:front]}…{text[len(text) - (most - front - 1) :]}"


def lasting(instance: Instance, length: int) -> str:
    """A length of time, with its unit where that is known."""
    if instance.clock is None:
        return str(length)
    return f"{length} {instance.clock.unit[:-1] if abs(length) == 1 else instance.clock.unit}"


def moment(instance: Instance, at: int) -> str:
    """A time on the clock, or else as the number that it is."""
    return str(at) if instance.clock is None else instance.clock.text(at).replace("T", " ")


def outcome(schedule: Schedule) -> str:
    """The value of the objective first: makespan, and how late jobs are where they have due dates."""
    instance = schedule.instance
    parts = [f"makespan {lasting(instance, schedule.makespan)}"]
    if schedule.lateness is not None and schedule.job_lateness is not None:
        late = int((schedule.job_lateness > 0).sum()) or "none"
        lateness = f"largest lateness {lasting(instance, schedule.lateness)}"
        parts.append(f"{lateness}, {late} of {instance.n_jobs} jobs late")
    return "    ".join(parts[::-1] if instance.objective == LATENESS else parts)


def worse(instance: Instance) -> str:
    """What the delay of a critical operation does."""
    return "increases the largest lateness" if instance.objective == LATENESS else "delays the end"


def ticks(clock: Clock, end: int, most: int = 12) -> tuple[list[float], list[str]]:
    """Whole minutes, hours or days between 0 and `end`, and their labels; the first of a day names it."""
    unit = timedelta(**{clock.unit: 1})
    start, last = (moment.replace(tzinfo=None) for moment in (clock.start, clock.at(end)))
    seconds = (last - start).total_seconds()
    step = next((step for step in _STEPS if seconds / step < most), None)
    if step is None:  # years: some number of weeks
        step = 14 * _DAY * int(np.ceil(seconds / (most * 14 * _DAY)))
    base = datetime.combine(start.date(), time()) if step <= _DAY else _MONDAY
    tick = base + timedelta(seconds=step) * -((base - start) // timedelta(seconds=step))
    at, labels, day = [], [], None
    while tick <= last:
        at.append((tick - start) / unit)
        date = f"{tick.day} {tick:%b}"
        if step >= _DAY:
            labels.append(f"{date}\n{tick.year}" if seconds > 300 * _DAY else f"{tick:%a}\n{date}")
        else:
            clock_time = f"{tick:%H:%M:%S}" if step < 60 else f"{tick:%H:%M}"
            labels.append(clock_time if tick.date() == day else f"{clock_time}\n{tick:%a} {date}")
        day = tick.date()
        tick += timedelta(seconds=step)
    return at, labels
