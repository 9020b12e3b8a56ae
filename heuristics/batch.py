"""Many searches in lock-step: on a device that likes large batches, the selector scores all states in one forward pass.

Times, moves and critical paths of every member are kept up to date by the compiled kernels, as in a single search: a
swap makes them repair part of a schedule, and no evaluation of whole schedules, batched or not, is quicker than that.
Selectors that have a compiled form take turns in it instead, some steps each: on a CPU nothing is gained by batches.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from heuristics import kernels
from heuristics.local import RECENT, local_memory
from heuristics.memory import Memory
from heuristics.monitor import Monitor, Pace, SearchError
from heuristics.result import Result
from heuristics.search import PYTHON, Search, selector_for
from heuristics.tabu import tabu_memory
from heuristics.trajectory import check_seed, first_order
from l2s_plugin.containment import CtrlC
from l2s_plugin.errors import L2SError, PluginError
from l2s_plugin.instance import Instance
from l2s_plugin.registry import Registry
from l2s_plugin.schedule import Schedule
from l2s_plugin.stop import Condition, Stop, ending

Initial = str | Schedule | Result
_FOREVER = 2**62


def local_search_batch(
    instances: Sequence[Instance],
    selector: Any,
    neighbourhood: Any = "n5",
    *,
    stop: Stop | Condition | None = None,
    time_limit: float | None = None,
    seeds: int | Sequence[int] = 0,
    initial: Initial | Sequence[Initial] = "fdd/mwkr",
    forbid_undo: bool | None = None,
    recent: int = RECENT,
    registry: Registry | None = None,
    known_bounds: bool = True,
) -> list[Result]:
    """Run a local search on each of the instances, all in step; results come in the order of the instances.

    Every member takes the same trajectory as `local_search(instance, selector, ..., seed=seed)` takes alone. When the
    selector works in Python and has `score_batch(states, moves)`, the batched form of `score_moves`, one call per step
    serves all members: one forward pass on the selector's device.

    Parameters
    ----------
    instances
        What to schedule, of any sizes; repeat one to follow several trajectories with different seeds.
    stop, time_limit
        Holds for each member; the clock is common to all.
    seeds, initial
        One for all members, or one for each.
    selector, neighbourhood, forbid_undo, recent
        See `local_search`.
    """
    selector = selector_for("local-search", selector, registry)
    memories = [local_memory(selector, forbid_undo, recent)] * len(instances)
    stop = ending(stop, time_limit)
    return _follow(
        "local-search", instances, selector, neighbourhood, memories, stop, seeds, initial, registry, known_bounds
    )


def tabu_search_batch(
    instances: Sequence[Instance],
    selector: Any,
    neighbourhood: Any = "n7",
    *,
    stop: Stop | Condition | None = None,
    time_limit: float | None = None,
    seeds: int | Sequence[int] = 0,
    initial: Initial | Sequence[Initial] = "fdd/mwkr",
    tenure: tuple[int, int] | None = None,
    registry: Registry | None = None,
    known_bounds: bool = True,
) -> list[Result]:
    """Run a `tabu_search` on each of the instances, all in step; see `local_search_batch`."""
    selector = selector_for("tabu", selector, registry)
    memories = [tabu_memory(instance, tenure) for instance in instances]
    stop = ending(stop, time_limit)
    return _follow("tabu", instances, selector, neighbourhood, memories, stop, seeds, initial, registry, known_bounds)


@dataclass
class _Member:
    """One search of a batch and who watches it."""

    search: Search
    monitor: Monitor
    seed: int
    result: Result | None = None

    def note(self, reason: int | None) -> None:
        """Take note of the reason why a half step could not be done."""
        if reason is not None:
            self.search.check_contract(reason)
            if reason in (kernels.ABSORBED, kernels.REFUSED):
                self.monitor.stopped_by = "no moves"

    def look(self, method: str) -> None:
        """Report new incumbents, and end the search when it is over."""
        self.monitor.note(self.search)
        with self.monitor.contained():
            self.monitor.should_stop(self.search.step)
        if self.monitor.stopped_by:
            self.result = self.finish(method)

    def result_now(self, method: str, error: SearchError) -> Result:
        """The result of a member of a batch that ended with that error."""
        if self.monitor.stopped_by == "error":
            return error.result
        self.monitor.stopped_by = self.monitor.stopped_by or "error"
        return self.result or self.finish(method)

    def finish(self, method: str) -> Result:
        search = self.search
        return self.monitor.finish(method, search, search.best_order, self.seed, search.step)


def _follow(
    method: str,
    instances: Sequence[Instance],
    selector: Any,
    neighbourhood: Any,
    memories: Sequence[Memory],
    stop: Stop,
    seeds: int | Sequence[int],
    initial: Initial | Sequence[Initial],
    registry: Registry | None,
    known_bounds: bool,
) -> list[Result]:
    searches, chosen = [], [check_seed(seed) for seed in _spread("seeds", seeds, instances)]
    starts = _spread("initial", initial, instances)
    for instance, memory, seed, first in zip(instances, memories, chosen, starts, strict=True):
        search = Search(instance, neighbourhood, selector, memory, seed, registry=registry)
        search.start(first_order(instance, first, seed, registry))
        searches.append(search)
    # all clocks start when everything is ready
    watched = [Monitor(instance, stop, registry=registry, known_bounds=known_bounds) for instance in instances]
    members = [_Member(*parts) for parts in zip(searches, watched, chosen, strict=True)]
    if not members:
        return []

    batched = members[0].search.gear == PYTHON and hasattr(selector, "score_batch")
    take_turns = _together if batched else _one_by_one
    with members[0].monitor as lead:  # hears Ctrl-C for all
        for member in members:
            lead.watch(member.search)
        pace = Pace()
        live = members
        while True:
            interrupted = lead.stopped_by == "interrupt"
            for member in live:
                if interrupted:
                    member.monitor.stopped_by = "interrupt"
                member.look(method)
            live = [member for member in live if member.result is None]
            if not live:
                break
            try:
                take_turns(live, selector, stop, pace.next(), method)
            except SearchError as error:
                error.results = [member.result_now(method, error) for member in members]
                raise
    return [member.result for member in members if member.result is not None]


def _together(live: list[_Member], selector: Any, stop: Stop, chunk: int, method: str) -> None:
    """One step of every member, with one call of the selector."""
    limit, patience = _limits(stop)
    asking, moves = [], []
    for member in live:
        search = member.search
        with _failing(member, method):
            reason = search.list_candidates(limit, member.monitor.target, patience)
            if reason is None and search.has_admissible:
                asking.append(member)
                moves.append(search.candidates())
            else:
                member.note(search.advance(-1) if reason is None else reason)
    if not asking:
        return
    with _failing(asking[0], method):
        try:
            scores = list(selector.score_batch([member.search.view for member in asking], moves))
        except CtrlC:
            raise
        except BaseException as error:
            raise asking[0].search.failure("selector", selector, error) from error
        if len(scores) != len(asking):
            raise PluginError(f"selector gave scores of {len(scores)} states, not of {len(asking)}")
    for member, row in zip(asking, scores, strict=True):
        with _failing(member, method):
            member.note(member.search.advance(member.search.pick(row)))


def _one_by_one(live: list[_Member], selector: Any, stop: Stop, chunk: int, method: str) -> None:
    """Some steps of every member, for selectors that see one state at a time."""
    limit, patience = _limits(stop)
    for member in live:
        search = member.search
        with _failing(member, method):
            member.note(search.run(min(search.step + chunk, limit), member.monitor.target, patience))


@contextmanager
def _failing(member: _Member, method: str) -> Iterator[None]:
    """Turn the failure of a part into a `SearchError` that brings the member's best schedule along."""
    try:
        yield
    except CtrlC:
        raise
    except BaseException as error:
        member.monitor.fail(error)
        member.monitor.note(member.search)
        member.finish(method)  # raises it


def _limits(stop: Stop) -> tuple[int, int]:
    limit = _FOREVER if stop.steps is None else stop.steps
    patience = _FOREVER if stop.no_improvement is None else stop.no_improvement
    return limit, patience


def _spread(what: str, value: Any, instances: Sequence[Instance]) -> Sequence[Any]:
    """One value per instance."""
    if isinstance(value, str | Schedule | Result) or not isinstance(value, Sequence):
        return [value] * len(instances)
    if len(value) != len(instances):
        raise L2SError(f"{what}: {len(value)} given for {len(instances)} instances")
    return value
