"""The compiled search and CP-SAT on the same cores, with one incumbent and one bound."""

from __future__ import annotations

import time
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import closing
from dataclasses import replace
from typing import Any, Unpack

import numpy as np

from heuristics.configuration import Configuration, Options, run
from heuristics.members import Member
from heuristics.monitor import Listener, Monitor
from heuristics.population import (
    Island,
    begin,
    planned,
    population_defaults,
    settle,
    share_members,
    shares_of,
    steps_per_round,
)
from heuristics.result import Result
from integrations.cp_sat.model import JobShopModel, Window, random_window
from integrations.cp_sat.options import WarmStart, beginning, check_options
from integrations.cp_sat.solver import Incumbent, attempt
from l2s_plugin.instance import Instance
from l2s_plugin.objectives import LATENESS
from l2s_plugin.registry import Registry
from l2s_plugin.schedule import Schedule
from l2s_plugin.stop import Condition, Stop

_ROUND = 0.15  # seconds between two meetings of search and CP-SAT
_PAUSE = 0.02  # seconds to wait while CP-SAT has the only core
_SLOW = 5_000_000  # operations x steps per second on a core; built-in rules in the compiled gear reach 20 times that
_MOST_STEPS = 10_000_000  # in a round; also where a step takes no time, because there are no moves

# Up to so many operations, CP-SAT gets this share of one core: proofs are likely up to 15x10, possible up to 15x15, and
# beyond that where bound and makespan are close; elsewhere the search makes more of the time. The longer the search has
# found nothing, the more CP-SAT gets.
_TINY = 50  # CP-SAT begins at once: it needs hundredths of a second
_SMALL = 150
_SHARES = ((_SMALL, 0.5), (250, 0.1))
_LEAST_SHARE = 0.03
_CLOSE = 1.02  # makespan / bound
_STALLED = ((0.8, 10.0), (0.5, 3.0))  # fraction of the run without improvement, and how much more that gives CP-SAT
_SLOW_SEARCH_SHARE = 0.5  # a large network or Python code as selector: few steps, and windows find more
_MOST_FOR_PROOF = 5000  # operations; CP-SAT would still be reading the model when its turn is over
# Due dates make proofs likely further on: up to so many operations, CP-SAT gets a core for this last part of the run.
_DATED, _DATED_PART = 250, 0.5
_FIRST_TURN = 0.5  # seconds; turns without a proof double
_WINDOW_SECONDS = 0.5


def hybrid(
    instance: Instance,
    stop: Stop | Condition | None = None,
    *,
    selector: Any = None,
    neighbourhood: Any = None,
    warm_start: WarmStart = None,
    listener: Listener | None = None,
    registry: Registry | None = None,
    **options: Unpack[Options],
) -> Result:
    """Search with a population of tabu searches and with CP-SAT, side by side.

    All cores search, except when CP-SAT has a turn: then it takes one of them. It tries to prove that the incumbent is
    optimal, for as long as that is promising, and lets windows of the incumbent be scheduled anew. Both tell each other
    better schedules; the run ends the moment the bound meets the makespan.

    Options: those of `heuristics.solve` (any selector, learned or not, can be the search part), and CP-SAT's
    `parameters` and `log`; see `heuristics.Configuration`. `warm_start`: a schedule, a result or a file to begin with.
    """
    way = Configuration("hybrid", selector, neighbourhood, stop=stop, **options)
    return run(instance, beginning(way, instance, warm_start), listener, registry)


def hybrid_method(instance: Instance, way: Configuration, monitor: Monitor) -> Result:
    """What `hybrid` names."""
    workers, options = check_options(way)
    way = population_defaults(replace(way, workers=workers), instance)
    islands = settle(way, monitor)
    with monitor, ThreadPoolExecutor(workers) as pool:
        begin(islands, way, monitor)
        incumbent = Incumbent(monitor)
        crews = Crews(islands, monitor, pool)
        with monitor.contained(), closing(Assistant(incumbent, workers, options)) as assistant:
            while not monitor.should_stop(crews.steps):
                crews.evolve(workers - assistant.cores(bool(crews.slow)))
                _meet(islands, incumbent, crews.steps)
        with monitor.contained():
            _meet(islands, incumbent, crews.steps)
        islands[0].rest()
        parts = {"polisher": way.polisher, "initial": way.initial, "horizon": planned(islands, way)}
        return monitor.finish(incumbent.schedule, crews.steps, workers, islands[0].search, **parts)


class Crews:
    """Lets as many islands search as there are cores for them; those that are behind come first.

    While CP-SAT has no turn, rounds and exchanges are those of `heuristics.solve`, and so are the trajectories. `slow`
    says whether the search takes so few steps that CP-SAT makes more of the time; rounds are then as long as a turn can
    wait.
    """

    def __init__(self, islands: list[Island], monitor: Monitor, pool: ThreadPoolExecutor) -> None:
        self._islands, self._monitor, self._pool = islands, monitor, pool
        self._per_round = steps_per_round(islands[0].search, monitor.stop)
        self._slow_round = 1  # a learned selector may take a second per step
        self.steps = 0
        self.slow: bool | None = None  # not known before the first round

    def evolve(self, count: int) -> None:
        """One round on `count` cores."""
        if count == 0 or all(island.barren for island in self._islands):
            time.sleep(_PAUSE)
            return
        begin, before, limit = time.perf_counter(), self.steps, self._monitor.stop.steps
        crew = sorted(self._islands, key=lambda island: island.search.step)[:count]
        tasks = []
        for island, share in zip(crew, shares_of(None if limit is None else limit - before, len(crew)), strict=True):
            step, others = island.search.step, [other for other in self._islands if other is not island]
            to_exchange = self._per_round - step % self._per_round
            steps = to_exchange if self.slow is False else min(self._slow_round, self._per_round)
            tasks.append(self._pool.submit(island.evolve, self._monitor, step + min(steps, share), 1, others))
        wait(tasks)
        self.steps = sum(island.search.step for island in self._islands)
        for task in tasks:
            task.result()
        if self.slow is not False:
            self._measure((self.steps - before) / count, max(time.perf_counter() - begin, 1e-6))
        if all(island.search.step % self._per_round == 0 for island in crew) or self.slow:
            share_members(self._islands)

    def _measure(self, steps: float, seconds: float) -> None:
        """Find out how fast the search is, and how many steps make a round if it is slow."""
        if seconds > _ROUND / 3 or steps >= self._per_round:
            self.slow = steps / seconds * self._monitor.instance.n_operations < _SLOW
        self._slow_round = max(1, min(int(min(4.0, _ROUND / seconds) * self._slow_round), _MOST_STEPS))


def _meet(islands: list[Island], incumbent: Incumbent, step: int) -> None:
    """The search learns CP-SAT's schedule if that is better, and the other way round."""
    incumbent.step = step
    best, known = min((island.best for island in islands), key=lambda member: member.makespan), incumbent.schedule
    if known is None or best.makespan < known.length:
        incumbent.offer(Schedule.from_linear_order(incumbent.monitor.instance, best.order))
    elif known.length < best.makespan:
        member = Member.of(known)
        for island in islands:
            island.learn(member)
        islands[0].go_on_from(member)


class Assistant:
    """Takes turns at improving the incumbent and at proving that nothing is better.

    A turn is a proof attempt, with the incumbent as a hint, or a series of windows. Turns of the two kinds alternate;
    a proof attempt ends when the search finds a better schedule, and the next one begins with that. On a single worker,
    the search has to wait during a turn.
    """

    def __init__(self, incumbent: Incumbent, workers: int, options: dict[str, Any]) -> None:
        self._incumbent = incumbent
        self._monitor = incumbent.monitor
        self._instance = incumbent.monitor.instance
        self._most = 1.0 if workers > 1 else 0.5
        self._rng = np.random.default_rng(incumbent.monitor.way.seed)
        self._options = options
        self._pool = ThreadPoolExecutor(1, "cp-sat-turn")
        self._turn: Future[None] | None = None
        self._dismissed = False
        self._used = 0.0  # seconds
        self._turns = 0
        self._turn_seconds = _FIRST_TURN
        self._window_size = 5.0 * self._instance.n_machines

    def cores(self, slow_search: bool = False) -> int:
        """Begin or end a turn; returns how many cores CP-SAT has until it is asked again. Raises what a turn raised."""
        if self._turn is not None and self._turn.done():
            self._turn.result()
            self._turn = None
        schedule = self._incumbent.schedule
        if self._turn is None and schedule is not None:
            kind, seconds = self._next_turn(slow_search)
            if seconds > 0:
                self._turn = self._pool.submit(self._take_turn, schedule, kind, seconds)
        return 0 if self._turn is None else 1

    def close(self) -> None:
        """End the turn, if any; what it found is with the incumbent."""
        self._dismissed = True
        self._pool.shutdown()
        if self._turn is not None:
            self._turn.result()

    def _next_turn(self, slow_search: bool) -> tuple[str, float]:
        """What to do next, and for how many seconds: 0 while the search goes on alone."""
        found, _, best = self._monitor.history[-1]
        elapsed = self._monitor.seconds
        since = elapsed - found
        kinds = _kinds(self._instance.n_operations, slow_search)
        kind = kinds[self._turns % len(kinds)]
        if self._turns == 0 and self._instance.n_operations <= _TINY:
            return kind, self._turn_seconds
        if self._turns == 0 and since < max(0.1, 0.1 * elapsed):
            return kind, 0.0  # the search is still in the middle of its first descent
        limit = self._monitor.stop.seconds
        dated = self._instance.objective == LATENESS and self._instance.n_operations <= _DATED
        if dated and limit is not None and elapsed > (1 - _DATED_PART) * limit and not slow_search:
            return "proof", float("inf")
        share = _LEAST_SHARE if best <= _CLOSE * self._monitor.lower_bound else 0.0
        share = next((share for most, share in _SHARES if self._instance.n_operations <= most), share)
        more = next((factor for fraction, factor in _STALLED if since > fraction * elapsed), 1.0)
        share = min(self._most, more * (_SLOW_SEARCH_SHARE if slow_search else share))
        if share == 1 and "proof" in kinds and not slow_search:
            return "proof", float("inf")  # until it succeeds, or the search finds a better schedule
        return kind, self._turn_seconds if self._used + self._turn_seconds / 2 <= share * elapsed else 0.0

    def _take_turn(self, schedule: Schedule, kind: str, seconds: float) -> None:
        begin = time.perf_counter()
        if kind == "proof":
            self._prove(schedule, seconds)
        else:
            self._windows(schedule, begin + seconds)
        self._turns += 1
        self._used += time.perf_counter() - begin

    def _prove(self, schedule: Schedule, seconds: float) -> None:
        """Ask for a better schedule or the proof that there is none."""
        incumbent = self._incumbent
        model = JobShopModel(self._instance, schedule.length, self._monitor.proven)
        model.hint(schedule)
        incumbent.attempt(model, seconds, lambda: self._over() or incumbent.schedule is not schedule, **self._given())
        if incumbent.schedule is schedule:
            self._turn_seconds *= 2

    def _windows(self, schedule: Schedule, until: float) -> None:
        """Schedule windows of the incumbent anew, as many as time allows; success pays for more."""
        size = self._window_size
        while time.perf_counter() < until and not self._over():
            window = Window(schedule, *random_window(self._instance, int(size), self._rng), self._monitor.lower_bound)
            if window.hopeless:
                size = min(size * 1.02, self._instance.n_operations)
                continue
            begin = time.perf_counter()
            found: list[Schedule] = []
            status = attempt(window, _WINDOW_SECONDS, found.append, over=self._over, **self._given())
            seconds = time.perf_counter() - begin
            if found:
                self._incumbent.offer(found[-1])
                self._used -= seconds
            elif status == "UNKNOWN":
                size = max(0.9 * size, 10)
            elif seconds < 0.3 * _WINDOW_SECONDS:
                size = min(1.05 * size, self._instance.n_operations)
            schedule = self._incumbent.schedule or schedule
        self._window_size = size

    def _given(self) -> dict[str, Any]:
        return {**self._options, "seed": int(self._rng.integers(2**31))}

    def _over(self) -> bool:
        best = self._monitor.best
        return (best is not None and best <= self._monitor.target) or self._dismissed or self._monitor.out_of_time()


def _kinds(n_operations: int, slow_search: bool) -> tuple[str, ...]:
    """What turns are for, in this order, over and over."""
    if n_operations > _MOST_FOR_PROOF:
        return ("windows",)
    return ("proof",) if n_operations <= _SMALL and not slow_search else ("proof", "windows")
