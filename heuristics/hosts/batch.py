"""Many searches in lock-step: on a device that likes large batches, the selector scores all states in one forward pass.

Times, moves and critical paths of every member are kept up to date by the compiled kernels, as in a single search: a
swap makes them repair part of a schedule, and no evaluation of whole schedules, batched or not, is quicker than that.
Selectors that have a compiled form take turns in it instead, some steps each: on a CPU nothing is gained by batches.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Unpack

from heuristics.configuration import Configuration, Options
from heuristics.hosts.trajectories import LOCAL_SEARCH, first_order, memory_for, with_parts
from heuristics.loop import kernels
from heuristics.loop.kernels import FOREVER
from heuristics.loop.search import PYTHON, Search
from heuristics.monitor import Monitor, Pace, SearchError
from heuristics.result import Result
from l2s_plugin.errors import L2SError, PluginError, whole_number
from l2s_plugin.instance import Instance
from l2s_plugin.registry import Registry
from l2s_plugin.schedule import Schedule
from l2s_plugin.stop import Condition, Stop

Initial = str | Schedule | Result


def local_search_batch(
    instances: Sequence[Instance],
    selector: Any,
    neighbourhood: Any = None,
    *,
    stop: Stop | Condition | None = None,
    seeds: Sequence[int] | None = None,
    initials: Sequence[Initial] | None = None,
    registry: Registry | None = None,
    **options: Unpack[Options],
) -> list[Result]:
    """Run a local search on each of the instances, all in step; results come in the order of the instances.

    Every member takes the same trajectory as `local_search(instance, selector, ..., seed=seed)` takes alone. When the
    selector works in Python and has `score_batch(states, moves)`, the batched form of `score_moves`, one call per step
    serves all members: one forward pass on the selector's device.

    Parameters
    ----------
    instances
        What to schedule, of any sizes; repeat one to follow several trajectories with different seeds.
    stop
        Holds for each member; the clock is common to all.
    seeds, initials
        One for each member; `seed` and `initial` are for all of them.
    selector, neighbourhood, options
        See `local_search`.
    """
    way = Configuration(LOCAL_SEARCH, selector, neighbourhood, stop=stop, **options)
    return _follow(instances, way, seeds, initials, registry)


def tabu_search_batch(
    instances: Sequence[Instance],
    selector: Any,
    neighbourhood: Any = None,
    *,
    stop: Stop | Condition | None = None,
    seeds: Sequence[int] | None = None,
    initials: Sequence[Initial] | None = None,
    registry: Registry | None = None,
    **options: Unpack[Options],
) -> list[Result]:
    """Run a `tabu_search` on each of the instances, all in step; see `local_search_batch`."""
    way = Configuration("tabu", selector, neighbourhood, stop=stop, **options)
    return _follow(instances, way, seeds, initials, registry)


@dataclass
class _Member:
    """One search of a batch and who watches it."""

    search: Search
    monitor: Monitor
    result: Result | None = None

    def note(self, reason: int | None) -> None:
        """Take note of the reason why a half step could not be done."""
        if reason is not None:
            self.search.check_contract(reason)
            if reason in (kernels.ABSORBED, kernels.REFUSED):
                self.monitor.stopped_by = "no moves"

    def look(self) -> None:
        """Report new incumbents, and end the search when it is over; raises `SearchError` if a part has failed."""
        search, monitor = self.search, self.monitor
        monitor.note(search)
        with monitor.contained():
            monitor.should_stop(search.step)
        if monitor.stopped_by:
            try:
                self.result = monitor.finish(search.best_order, search.step, search=search)
            except SearchError as error:
                self.result = error.result
                raise


def _follow(
    instances: Sequence[Instance],
    way: Configuration,
    seeds: Sequence[int] | None,
    initials: Sequence[Initial] | None,
    registry: Registry | None,
) -> list[Result]:
    way = with_parts(way.checked(registry), registry)
    members = []
    starts = _each("initials", initials, way.initial, instances)
    numbers = _each("seeds", seeds, way.seed, instances)
    for instance, seed, first in zip(instances, numbers, starts, strict=True):
        own, memory = replace(way, seed=whole_number("seed", seed), initial=first), memory_for(way, instance)
        search = Search(instance, way.neighbourhood, way.selector, memory, own.seed, way.gear, registry)
        search.start(first_order(instance, first, own.seed, registry))
        members.append(_Member(search, Monitor(instance, own, registry=registry)))
    if not members:
        return []
    for member in members:
        member.monitor.start()  # all clocks when everything is ready

    stop = way.limits
    batched = members[0].search.gear == PYTHON and hasattr(way.selector, "score_batch")
    take_turns = _together if batched else _one_by_one
    with members[0].monitor as lead:  # hears Ctrl-C for all
        for member in members:
            lead.watch(member.search)
        pace, live = Pace(), members
        failure: SearchError | None = None
        while live:
            over = "error" if failure else "interrupt" if lead.stopped_by == "interrupt" else ""
            for member in live:
                member.monitor.stopped_by = member.monitor.stopped_by or over
                try:
                    member.look()
                except SearchError as error:
                    failure = failure or error
            live = [member for member in live if member.result is None]
            if live and not failure:
                take_turns(live, stop, pace.next())
    results = [member.result for member in members if member.result is not None]
    if failure:
        failure.results = results
        raise failure
    return results


def _together(live: list[_Member], stop: Stop, chunk: int) -> None:
    """One step of every member, with one call of the selector."""
    limit = FOREVER if stop.steps is None else stop.steps
    selector = live[0].search.selector
    asking, moves = [], []
    for member in live:
        search = member.search
        with member.monitor.contained():
            reason = search.list_candidates(limit, member.monitor.target, stop.no_improvement)
            if reason is None and search.has_admissible:
                asking.append(member)
                moves.append(search.candidates())
            else:
                member.note(search.advance(-1) if reason is None else reason)
    if not asking:
        return
    with asking[0].monitor.contained():
        with asking[0].search.blaming("selector", selector):
            scores = list(selector.score_batch([member.search.view for member in asking], moves))
        if len(scores) != len(asking):
            raise PluginError(f"selector gave scores of {len(scores)} states, not of {len(asking)}")
        for member, row in zip(asking, scores, strict=True):
            with member.monitor.contained():
                member.note(member.search.advance(member.search.pick(row)))


def _one_by_one(live: list[_Member], stop: Stop, chunk: int) -> None:
    """Some steps of every member, for selectors that see one state at a time."""
    limit = FOREVER if stop.steps is None else stop.steps
    for member in live:
        search = member.search
        with member.monitor.contained():
            member.note(search.run(min(search.step + chunk, limit), member.monitor.target, stop.no_improvement))


def _each(what: str, given: Sequence[Any] | None, common: Any, instances: Sequence[Instance]) -> Sequence[Any]:
    """One value per instance."""
    if given is None:
        return [common] * len(instances)
    if isinstance(given, str) or not isinstance(given, Sequence) or len(given) != len(instances):
        count = len(given) if isinstance(given, Sequence) and not isinstance(given, str) else repr(given)
        raise L2SError(f"{what}: {count} given for {len(instances)} instances")
    return given
