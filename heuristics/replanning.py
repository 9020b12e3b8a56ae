"""Planning again: what has ended or is under way stays, the rest is searched with the old plan as its start."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Unpack

from heuristics.configuration import Configuration, Ending, Method, SearchOptions, run
from heuristics.monitor import Listener, SearchError
from heuristics.news import WAITS, News
from heuristics.remainder import Remainder, remainder
from heuristics.result import Improvement, Result
from l2s_plugin.errors import L2SError
from l2s_plugin.instance import NO_DUE_DATE, Instance, check_instance
from l2s_plugin.names import Word, time_text
from l2s_plugin.registry import Registry
from l2s_plugin.schedule import Schedule
from l2s_plugin.stop import Stop

Row = dict[str, Any]

_MOST_SHOWN = 5  # operations that moved, in the summary


@dataclass(frozen=True)
class Replan:
    """A new plan, past included, and how it differs from the old one.

    Attributes
    ----------
    result
        The new plan and how it was found; its `instance` is the revised one: with other durations where operations took
        longer, with new jobs and without those dropped, and with earliest starts that hold the past in its place.
    old, moved_right
        The plan given, and a schedule of the revised instance: the old machine orders, as late as the news make them.
    at
        The time of planning.
    changes
        Operations that start at another time than planned: job, step, operation, machine, from, to, by.
    late
        Jobs that end after their due dates: job, due, end, late.
    notes
        What else there is to know, in sentences.
    """

    result: Result
    old: Schedule
    moved_right: Schedule
    at: int
    changes: list[Row]
    late: list[Row]
    notes: list[str]

    @property
    def instance(self) -> Instance:
        """The revised instance."""
        return self.result.instance

    def summary(self) -> str:
        """A few lines for people."""
        instance, objective = self.instance, self.result.objective
        lines = [
            self.result.summary(),
            f"planned again at {time_text(instance, self.at)}: {objective} {self.result.value}; the old plan moved to "
            f"the right has {self.moved_right.value}, as it was {self.old.value}",
            *self._moves(),
            *self.notes,
        ]
        for row in self.late:
            due, end = (time_text(instance, row[key]) for key in ("due", "end"))
            lines.append(f"late by {row['late']}: job {row['job']}, due {due}, ends {end}")
        return "\n".join(lines)

    def _moves(self) -> list[str]:
        """How many operations moved, and those that moved the most."""
        most = sorted(self.changes, key=lambda row: -abs(row["by"]))[:_MOST_SHOWN]
        lines = [f"{len(self.changes)} operations moved{', these the most' * (len(most) < len(self.changes))}"]
        for row in most:
            before, after = (time_text(self.instance, row[key]) for key in ("from", "to"))
            who = f"{row['job']}/{row['step']}{f' ({name})' if (name := row['operation']) else ''} on {row['machine']}"
            lines.append(f"moved by {row['by']:+}: {who}, from {before} to {after}")
        return lines

    def to_dict(self) -> dict[str, Any]:
        """The fields that `--json` prints: those of the result, and `replan`."""
        replanned = {
            "at": self.at,
            "old": self.old.value,
            "moved_right": self.moved_right.value,
            "moved": self.changes,
            "late": self.late,
            "notes": self.notes,
        }
        return self.result.to_dict() | {"replan": replanned}


def replan(
    instance: Instance,
    schedule: Schedule | Result,
    at: Word,
    stop: Ending = None,
    *,
    add: Instance | None = None,
    drop: Iterable[Word] = (),
    down: Iterable[Sequence[Any]] = (),
    delay: Iterable[Sequence[Any]] = (),
    keep_order: Iterable[Word] = (),
    under_way: str = WAITS,
    method: str | Method = "memetic",
    selector: Any = None,
    neighbourhood: Any = None,
    **options: Unpack[SearchOptions],
) -> Replan:
    """Plan the rest of a schedule again at some time: never worse than the old plan moved to the right.

    Jobs and machines go by name, or by number where they have none; operations as "JOB/STEP", with steps from 1,
    "JOB/NAME", or "NAME". Times are numbers, or clock times where the instance has a clock.

    Parameters
    ----------
    at
        What has ended by then, or is under way, stays as it is; nothing else starts before.
    add
        New jobs, as an instance of its own; machines are matched by name. Their dates are times of the same clock.
    drop
        Jobs that are cancelled: what has begun of them stays in the plan.
    down
        (machine, from, to): the machine does nothing meanwhile.
    delay
        (operation, end): one that is under way, or should have ended, ends then; what should have followed it has not
        begun. One that has not begun does not end sooner.
    keep_order
        Machines whose sequence stays; new operations come at its end.
    under_way
        What happens to an operation under way on a machine that is down: it `waits` and goes on, or `restarts` in full.
    stop, method, selector, neighbourhood, options
        How to search: see `heuristics.Configuration`.
    """
    news = {"drop": drop, "down": down, "delay": delay, "keep_order": keep_order, "under_way": under_way}
    how: dict[str, Any] = {**options}
    if how.pop("initial", None) is not None:
        raise L2SError("initial says where to begin; planning again begins with the old plan")
    rest = what_is_left(instance, schedule, at, add, how.pop("objective", None), **news)
    listener, registry = how.pop("listener", None), how.pop("registry", None)
    return plan_rest(rest, Configuration(method, selector, neighbourhood, stop=stop, **how), listener, registry)


def what_is_left(
    instance: Instance,
    schedule: Schedule | Result,
    at: Word,
    add: Instance | None = None,
    objective: str | None = None,
    **news: Any,
) -> Remainder:
    """What `replan` would search, and the revised instance, without searching; refuses what `replan` refuses."""
    check_instance(instance)
    if add is not None:
        check_instance(add)
    given = schedule.schedule if isinstance(schedule, Result) else schedule
    if not isinstance(given, Schedule):
        raise L2SError(f"expected a schedule or a result to plan again, got {given!r}")
    instance = instance.with_objective(objective)
    given = given.judged_as(instance, "the plan")
    old = Schedule(instance, given.order, given.start)  # with the names and the clock that are asked for
    old.verify()
    return remainder(old, News.of(instance, at, **news), add)


def plan_rest(
    rest: Remainder, way: Configuration, listener: Listener | None = None, registry: Registry | None = None
) -> Replan:
    """Search what is left, beginning with the old plan moved to the right."""

    def improved(event: Improvement) -> None:
        assert listener is not None
        value, bound = rest.value(event.makespan), rest.value(event.lower_bound)
        listener(replace(event, instance=rest.instance, makespan=value, lower_bound=bound))

    way = replace(way, initial=rest.moved_right)
    if rest.reduced.objective != rest.instance.objective and isinstance(way.stop, Stop):
        way = replace(way, stop=replace(way.stop, makespan=None))  # a target is about the objective, which is decided
    try:
        result = _whole(rest, run(rest.reduced, way, listener and improved, registry))
    except SearchError as error:
        error.result = _whole(rest, error.result)
        error.results = [error.result]
        raise
    moved_right = rest.whole(rest.moved_right)
    moved_right.verify()
    new = result.schedule
    return Replan(result, rest.old, moved_right, rest.at, _changes(rest, new), _late(new), rest.notes)


def _whole(rest: Remainder, result: Result) -> Result:
    """The result of the whole instance, from that of its part."""
    schedule = rest.whole(result.schedule)
    schedule.verify()
    history: list[tuple[float, int, int]] = []
    for seconds, step, value in result.history:
        if not history or rest.value(value) < history[-1][2]:  # what is decided may hide that the rest got better
            history.append((seconds, step, rest.value(value)))
    return replace(result, schedule=schedule, lower_bound=rest.value(result.lower_bound), history=history)


def _changes(rest: Remainder, new: Schedule) -> list[Row]:
    """By machine, in the order of the new plan."""
    old, instance, rows = rest.old, new.instance, []
    for x in new.order.tolist():
        origin = int(rest.origin[x])
        if origin >= 0 and old.start[origin] != new.start[x]:
            before, after = int(old.start[origin]), int(new.start[x])
            job = int(instance.job[x])
            rows.append(
                {
                    "job": instance.job_name(job),
                    "step": int(origin - old.instance.job_offset[old.instance.job[origin]]) + 1,
                    "operation": instance.operation_name(x),
                    "machine": instance.machine_name(int(instance.machine[x])),
                    "from": before,
                    "to": after,
                    "by": after - before,
                }
            )
    return rows


def _late(schedule: Schedule) -> list[Row]:
    """The latest first."""
    instance, lateness = schedule.instance, schedule.job_lateness
    if instance.due is None or lateness is None:
        return []
    rows = [
        {"job": instance.job_name(job), "due": int(due), "end": int(end), "late": int(late)}
        for job, (due, end, late) in enumerate(zip(instance.due, schedule.job_end, lateness, strict=True))
        if due != NO_DUE_DATE and late > 0
    ]
    return sorted(rows, key=lambda row: -row["late"])
