"""Trajectories: local search takes the selected move again and again, tabu search does not go back at once.

Many of them may go in lock-step: on a device that likes large batches, the selector scores all states in one forward
pass, and an `evaluator=` rates the neighbours of all. The compiled kernels keep times, moves and critical paths up to
date, as in a single search. Selectors that have a compiled form take turns in it, some steps each.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from typing import Any, Unpack

import numpy as np
from numpy.typing import NDArray

from heuristics.configuration import FIRST_RULE, Configuration, Ending, Options, SearchOptions, search
from heuristics.hosts.dispatching import dispatch
from heuristics.loop import kernels
from heuristics.loop.memory import Memory
from heuristics.loop.search import PYTHON, Search, rate_together, selector_for
from heuristics.monitor import Monitor, Pace, SearchError
from heuristics.result import Result
from l2s_plugin.bounds import lower_bound
from l2s_plugin.errors import L2SError, PluginError, whole_number
from l2s_plugin.instance import Instance
from l2s_plugin.registry import Registry
from l2s_plugin.schedule import Schedule

LOCAL_SEARCH = "local-search"

Initial = str | Schedule | Result


class TrajectoryOptions(SearchOptions, total=False):
    stop: Ending


class BatchOptions(Options, total=False):
    """The keyword arguments of searches in lock-step."""

    stop: Ending
    seeds: Sequence[int] | None
    initials: Sequence[Initial] | None
    registry: Registry | None


def local_search(
    instance: Instance, selector: Any = None, neighbourhood: Any = None, **options: Unpack[TrajectoryOptions]
) -> Result:
    """Improve a schedule move by move, whatever move the selector picks (`best-improvement` in `n5` unless given).

    A selector that refuses all moves (as `best-improvement` does in a local optimum) makes the search restart from
    one of the `recent` latest schedules, with a random move first: the selector would only go the same way again. A
    schedule without moves ends it.

    Options: `time_limit`, `seed`, `initial`, `policy`, `forbid_undo`, `recent`, `annealing`, `gear`, `known_bounds`:
    see `Configuration`. `listener` is called with an `Improvement` whenever a better schedule is found.
    """
    return search(LOCAL_SEARCH, instance, selector=selector, neighbourhood=neighbourhood, **options)


def tabu_search(
    instance: Instance, selector: Any = None, neighbourhood: Any = None, **options: Unpack[TrajectoryOptions]
) -> Result:
    """Follow one tabu search trajectory (`estimate` in `n7` unless given).

    The host keeps the memory (the arcs a move reverses may not be reversed back for a number of steps drawn from
    `tenure`), allows a forbidden move that promises a new incumbent, and takes any move when all are forbidden.
    Any selector picks among what is admissible. `tabu_search(instance, "greedy", "n5", ...)` is the paper's TSN5.

    Options: `time_limit`, `seed`, `initial`, `policy`, `tenure`, `gear`, `known_bounds`; see `Configuration`.
    """
    return search("tabu", instance, selector=selector, neighbourhood=neighbourhood, **options)


def local_search_batch(
    instances: Sequence[Instance], selector: Any, neighbourhood: Any = None, **options: Unpack[BatchOptions]
) -> list[Result]:
    """Run a local search on each of the instances, all in step; results come in the order of the instances.

    Every member takes the same trajectory as `local_search(instance, selector, ..., seed=seed)` takes alone. When the
    selector works in Python and has `score_batch(states, moves)`, the batched form of `score_moves`, one call per step
    serves all members: one forward pass on the selector's device.

    Instances may be of any sizes; repeat one to follow several trajectories with different seeds. `seeds` and
    `initials` have one for each member; all other options are those of `local_search`, and for all of them. The stop
    holds for each member, the clock is common to all.
    """
    return _follow_all(LOCAL_SEARCH, instances, selector, neighbourhood, **options)


def tabu_search_batch(
    instances: Sequence[Instance], selector: Any, neighbourhood: Any = None, **options: Unpack[BatchOptions]
) -> list[Result]:
    """Run a `tabu_search` on each of the instances, all in step; see `local_search_batch`."""
    return _follow_all("tabu", instances, selector, neighbourhood, **options)


def local_defaults(way: Configuration) -> Configuration:
    """With what a local search chooses where the user did not."""
    return way.filled(selector="best-improvement", neighbourhood="n5", initial=FIRST_RULE)


def tabu_defaults(way: Configuration) -> Configuration:
    """With what tabu searches choose where the user did not."""
    return way.filled(selector="estimate", neighbourhood="n7", initial=FIRST_RULE)


def default_tenure(instance: Instance) -> tuple[int, int]:
    """Steps that a reversed arc stays forbidden: 0.8 (10 + jobs / machines), and half as much again at most.

    The form is that of Zhang et al. (2007); the factor was measured on the Taillard groups (benchmarks/search.py).
    """
    base = 0.8 * (10 + instance.n_jobs / instance.n_machines)
    return int(base), int(1.5 * base)


def tabu_memory(instance: Instance, tenure: tuple[int, int] | None = None) -> Memory:
    """The memory of a tabu search over one instance."""
    low, high = tenure or default_tenure(instance)
    return Memory("tabu", tenure=(int(low), int(high)), aspiration=True, wait=False)


def first_schedule(instance: Instance, initial: Initial, seed: int, registry: Registry | None = None) -> Schedule:
    """The schedule to start from: of a dispatching rule, or a given one, which is checked."""
    if isinstance(initial, Result):
        initial = initial.schedule
    if not isinstance(initial, Schedule):
        return dispatch(instance, initial, seed, registry)
    initial = initial.judged_as(instance, "the initial schedule")
    initial.verify()
    return initial


def first_order(*given: Any) -> NDArray[np.uint32]:
    """The same as a linear order."""
    return first_schedule(*given).linear_order.astype(np.uint32)


@cache
def compile_kernels() -> None:
    """Compile, or load, what a run needs from its clock's start to its first step: no limit is spent on that."""
    tiny = Instance.from_jobs([[(0, 1)]])
    Search(tiny, "n7", "estimate", Memory(tenure=(1, 1))).start(dispatch(tiny).linear_order)
    lower_bound(tiny)


def follow(instance: Instance, way: Configuration, monitor: Monitor) -> Result:
    """What `local-search` and `tabu` name: one trajectory from a first schedule until the stop."""
    compile_kernels()
    member = _Member(instance, _with_parts(way, monitor.registry), monitor)
    with monitor:
        member.start()
        return _drive([member])[0]


def _follow_all(
    method: str,
    instances: Sequence[Instance],
    *parts: Any,
    seeds: Sequence[int] | None = None,
    initials: Sequence[Initial] | None = None,
    registry: Registry | None = None,
    **options: Any,
) -> list[Result]:
    way = _with_parts(Configuration(method, *parts, **options).checked(registry), registry)
    starts = _each("initials", initials, way.initial, instances)
    numbers = [whole_number("seed", seed) for seed in _each("seeds", seeds, way.seed, instances)]
    members = []
    for instance, seed, first in zip(instances, numbers, starts, strict=True):
        own = replace(way, seed=seed, initial=first)
        members.append(_Member(instance, own, Monitor(instance, own, registry=registry)))
        members[-1].start()
    if not members:
        return []
    for member in members:
        member.monitor.start()  # all clocks when everything is ready
    with members[0].monitor:
        return _drive(members)


def _each(what: str, given: Sequence[Any] | None, common: Any, instances: Sequence[Instance]) -> Sequence[Any]:
    """One value per instance."""
    if given is None:
        return [common] * len(instances)
    if isinstance(given, str) or not isinstance(given, Sequence) or len(given) != len(instances):
        count = len(given) if isinstance(given, Sequence) and not isinstance(given, str) else repr(given)
        raise L2SError(f"{what}: {count} given for {len(instances)} instances")
    return given


def _with_parts(way: Configuration, registry: Registry | None) -> Configuration:
    """With what the trajectory's host chooses where the user did not, and the selector in place of its name."""
    local = way.method == LOCAL_SEARCH
    way = local_defaults(way) if local else tabu_defaults(way)
    return replace(way, selector=selector_for(LOCAL_SEARCH if local else "tabu", way.selector, registry))


class _Member:
    """One trajectory and who watches it."""

    def __init__(self, instance: Instance, way: Configuration, monitor: Monitor) -> None:
        self.way, self.monitor = way, monitor
        self.result: Result | None = None
        if way.method == LOCAL_SEARCH:
            undo = way.forbid_undo if way.forbid_undo is not None else getattr(way.selector, "forbid_undo", False)
            memory = Memory(tenure=(1, 1) if undo else (0, 0), recent=way.recent, annealing=way.annealing)
        else:
            memory = tabu_memory(instance, way.tenure)
        self.search = Search(
            instance, way.neighbourhood, way.selector, memory, way.seed, way.gear, monitor.registry, way.evaluator
        )

    def start(self) -> None:
        way = self.way
        self.search.start(first_order(self.search.instance, way.initial, way.seed, self.monitor.registry))

    @property
    def limits(self) -> tuple[int, int, int | None]:
        """Of steps, makespan and patience, as a search takes them."""
        stop = self.monitor.stop
        return kernels.FOREVER if stop.steps is None else stop.steps, self.monitor.target, stop.no_improvement

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
                self.result = monitor.finish(search.best_order, search.step, search=search, initial=self.way.initial)
            except SearchError as error:
                self.result = error.result
                raise


def _drive(members: list[_Member]) -> list[Result]:
    """Let all take steps until their stops; the monitor of the first one hears Ctrl-C for all."""
    lead, first = members[0].monitor, members[0].search
    for member in members:
        lead.watch(member.search)
    batched = (first.gear == PYTHON and hasattr(first.selector, "score_batch")) or first.evaluator is not None
    batched = batched and len(members) > 1
    pace, live = Pace(len(members)), members
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
            with lead.contained():
                if batched:
                    _step_together(live)
                else:
                    _take_turns(live, pace.next())
    results = [member.result for member in members if member.result is not None]
    if failure:
        failure.results = results
        raise failure
    return results


def _take_turns(live: list[_Member], chunk: int) -> None:
    """Some steps of every member, for selectors that see one state at a time."""
    for member in live:
        steps, target, patience = member.limits
        with member.monitor.contained():
            member.note(member.search.run(min(member.search.step + chunk, steps), target, patience))


def _step_together(live: list[_Member]) -> None:
    """One step of every member, with one call of the evaluator or of the selector."""
    selector, evaluator = live[0].search.selector, live[0].search.evaluator
    listed = []
    for member in live:
        with member.monitor.contained():
            reason = member.search.list_candidates(*member.limits)
            member.note(reason)
            if reason is None:
                listed.append(member)
    if evaluator is not None and listed:
        rate_together(evaluator, [member.search for member in listed])
    asking = [member for member in listed if evaluator is None and member.search.has_admissible]
    for member in listed:
        if member not in asking:
            with member.monitor.contained():
                member.note(member.search.choose())
    if not asking:
        return
    with asking[0].monitor.contained():
        with asking[0].search.blaming("selector", selector):
            moves = [member.search.candidates() for member in asking]
            scores = list(selector.score_batch([member.search.view for member in asking], moves))
        if len(scores) != len(asking):
            raise PluginError(f"selector gave scores of {len(scores)} states, not of {len(asking)}")
        for member, row in zip(asking, scores, strict=True):
            with member.monitor.contained():
                member.note(member.search.advance(member.search.pick(row)))
