"""What is true at some time and not in a plan: jobs dropped, machines down, operations delayed."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from l2s_plugin.errors import L2SError, unknown_name
from l2s_plugin.instance import MAX_TOTAL_DURATION, Instance
from l2s_plugin.names import Word, find_job, find_machine, find_operation, find_time, time_text

WAITS, RESTARTS = UNDER_WAY = ("waits", "restarts")


class Outage(NamedTuple):
    """A machine does nothing from `begin` to `end`."""

    begin: int
    end: int


@dataclass(frozen=True)
class News:
    """What is true at the time `at`, and not in the plan: see `heuristics.replan`."""

    at: int
    drop: frozenset[int] = frozenset()
    down: dict[int, Outage] = field(default_factory=dict)  # by machine
    delay: dict[int, int] = field(default_factory=dict)  # the end, by operation
    keep_order: frozenset[int] = frozenset()
    under_way: str = WAITS

    @classmethod
    def of(
        cls,
        instance: Instance,
        at: Word,
        drop: Iterable[Word] = (),
        down: Iterable[Sequence[Any]] = (),
        delay: Iterable[Sequence[Any]] = (),
        keep_order: Iterable[Word] = (),
        under_way: str = WAITS,
    ) -> News:
        """Look up every name and time."""
        if under_way not in UNDER_WAY:
            raise unknown_name("choice for what is under way", str(under_way), UNDER_WAY)
        outages: dict[int, Outage] = {}
        for machine, begin, end in _rows(down, 3, "down takes (machine, from, to)"):
            number, outage = _outage(instance, machine, begin, end)
            if number in outages:
                who = f"machine {instance.machine_name(number)} is down twice"
                raise L2SError(f"{who}, expected one outage of each; plan again for the other, with the new plan")
            outages[number] = outage
        ends: dict[int, int] = {}
        for operation, end in _rows(delay, 2, "delay takes (operation, end)"):
            x = find_operation(instance, operation)
            if ends.setdefault(x, _time(instance, end)) != _time(instance, end):
                raise L2SError(f"{instance.describe(x)} is given two ends, expected one")
        return cls(
            _time(instance, at),
            frozenset(find_job(instance, job) for job in _words(drop, "drop")),
            outages,
            ends,
            frozenset(find_machine(instance, machine) for machine in _words(keep_order, "keep_order")),
            under_way,
        )


def _rows(given: Iterable[Sequence[Any]], length: int, expected: str) -> list[Sequence[Any]]:
    rows = list(given)
    for row in rows:
        if isinstance(row, str) or not isinstance(row, Sequence) or len(row) != length:
            raise L2SError(f"{expected}, got {row!r}")
    return rows


def _words(given: Iterable[Word], what: str) -> Iterable[Word]:
    if isinstance(given, str):
        raise L2SError(f"{what} takes a list of names, got {given!r}")
    return given


def _time(instance: Instance, word: Any) -> int:
    time = find_time(instance, word)
    if abs(time) > MAX_TOTAL_DURATION:
        raise L2SError(f"{str(word)[:40]} is no time of a plan, expected at most {MAX_TOTAL_DURATION}")
    return time


def _outage(instance: Instance, machine: Word, begin: Any, end: Any) -> tuple[int, Outage]:
    number = find_machine(instance, machine)
    who = f"machine {instance.machine_name(number)}"
    if end is None or end == float("inf"):
        raise L2SError(f"{who} would never be available again, expected the time when its outage ends")
    outage = Outage(_time(instance, begin), _time(instance, end))
    if outage.end <= outage.begin:
        times = [time_text(instance, time) for time in outage]
        raise L2SError(f"{who} cannot be down from {times[0]} to {times[1]}, expected an end after the beginning")
    return number, outage
