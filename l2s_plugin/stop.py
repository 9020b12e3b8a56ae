"""Stop criteria: stateless, so that one can be used for many runs, and combined with `|`.

>>> from l2s_plugin import stop
>>> stop.seconds(30) | stop.no_improvement(100_000)
Stop(seconds=30, no_improvement=100000)

Limits in steps are exact and make a run reproducible; limits in seconds do not.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Any

from l2s_plugin.errors import L2SError, whole_number


@dataclass(frozen=True)
class Progress:
    """How far a run has come."""

    step: int
    seconds: float
    makespan: int
    last_improvement: int  # the step that found the incumbent
    lower_bound: int = 0  # the best known by now
    bound_source: str = ""


Condition = Callable[[Progress], bool]


@dataclass(frozen=True, repr=False)
class Stop:
    """Stop as soon as one of the limits is reached; build it with the functions of this module."""

    steps: int | None = None
    seconds: float | None = None
    makespan: int | None = None
    no_improvement: int | None = None
    conditions: tuple[Condition, ...] = ()

    def __call__(self, progress: Progress) -> bool:
        return (
            (self.steps is not None and progress.step >= self.steps)
            or (self.seconds is not None and progress.seconds >= self.seconds)
            or (self.makespan is not None and progress.makespan <= self.makespan)
            or (self.no_improvement is not None and progress.step - progress.last_improvement >= self.no_improvement)
            or any(condition(progress) for condition in self.conditions)
        )

    def __or__(self, other: Stop | Condition) -> Stop:
        other = as_stop(other)
        tighter: dict[str, Any] = {}
        for name, choose in (("steps", min), ("seconds", min), ("makespan", max), ("no_improvement", min)):
            given = [limit for limit in (getattr(self, name), getattr(other, name)) if limit is not None]
            tighter[name] = choose(given, default=None)
        return Stop(**tighter, conditions=self.conditions + other.conditions)

    __ror__ = __or__

    @property
    def ends(self) -> bool:
        """Whether the run certainly ends: a target or a condition alone may never be met."""
        return any(limit is not None for limit in (self.steps, self.seconds, self.no_improvement))

    def __repr__(self) -> str:
        set_fields = [f"{f.name}={getattr(self, f.name)}" for f in fields(self) if getattr(self, f.name)]
        return f"Stop({', '.join(set_fields)})"


def steps(limit: int) -> Stop:
    """Stop after exactly `limit` steps."""
    return Stop(steps=whole_number("step limit", limit))


def seconds(limit: float) -> Stop:
    """Stop once `limit` seconds have passed."""
    if isinstance(limit, bool) or not isinstance(limit, int | float) or not 0 < limit < float("inf"):
        raise L2SError(f"time limit must be a positive number of seconds, got {limit!r}")
    return Stop(seconds=limit)


def target(makespan: int) -> Stop:
    """Stop at a schedule this short or shorter; combine it with a limit, it may never be reached."""
    return Stop(makespan=whole_number("target", makespan, -(2**31)))  # of a lateness, it may be negative


def no_improvement(limit: int) -> Stop:
    """Stop after `limit` steps without a better schedule."""
    return Stop(no_improvement=whole_number("steps without improvement", limit))


def when(condition: Condition) -> Stop:
    """Stop when `condition(progress)` is true, asked several times a second; combine it with a limit."""
    if not callable(condition):
        raise L2SError(f"a stop condition must be callable, got {condition!r}")
    return Stop(conditions=(condition,))


def as_stop(value: Stop | Condition | None) -> Stop:
    """Accept what users pass as `stop=`."""
    if isinstance(value, Stop):
        return value
    if value is None:
        raise L2SError("no limit given; for example stop=l2s.stop.seconds(10), or time_limit=10")
    if isinstance(value, int | float | str):
        raise L2SError(f"stop={value!r} does not say what of; for example stop=l2s.stop.seconds(10)")
    return when(value)


def ending(value: Stop | Condition | None, time_limit: float | None = None) -> Stop:
    """The stop of a run from its `stop=` and `time_limit=`; refuses what may run for ever."""
    criterion = Stop() if time_limit is None else seconds(time_limit)
    if value is not None or time_limit is None:
        criterion |= as_stop(value)
    if not criterion.ends:
        raise L2SError("this stop may never come; add a limit, for example: | l2s.stop.seconds(10)")
    return criterion
