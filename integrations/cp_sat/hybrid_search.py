"""The compiled search and CP-SAT on the same cores, with one incumbent and one bound."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import replace
from typing import Any, Unpack

from heuristics.configuration import Configuration, Options, run
from heuristics.hosts.trajectories import tabu_defaults
from heuristics.monitor import Listener, Monitor
from heuristics.population.islands import Island, Member, exchange_bests
from heuristics.population.memetic import begin, settle, shares_of, steps_per_round
from heuristics.result import Result
from integrations.cp_sat.assistant import Assistant
from integrations.cp_sat.options import WarmStart, beginning, check_options
from integrations.cp_sat.solver import Incumbent
from l2s_plugin.instance import Instance
from l2s_plugin.registry import Registry
from l2s_plugin.schedule import Schedule
from l2s_plugin.stop import Condition, Stop

_ROUND = 0.15  # seconds between two meetings of search and CP-SAT
_PAUSE = 0.02  # seconds to wait while CP-SAT has the only core
_SLOW = 5_000_000  # operations x steps per second on a core; built-in rules in the compiled gear reach 20 times that
_MOST_STEPS = 10_000_000  # in a round; also where a step takes no time, because there are no moves


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
    way = tabu_defaults(replace(way, workers=workers))
    islands = settle(way, monitor)
    with monitor, ThreadPoolExecutor(workers) as pool:
        begin(islands, way, monitor)
        incumbent = Incumbent(monitor)
        assistant = Assistant(incumbent, workers, options)
        crews = Crews(islands, monitor, pool)
        with monitor.contained():
            with assistant:
                while not monitor.should_stop(crews.steps):
                    crews.evolve(workers - assistant.cores(bool(crews.slow)))
                    _meet(islands, incumbent, crews.steps)
            _meet(islands, incumbent, crews.steps)
        islands[0].rest()
        best, known = _best(islands), incumbent.schedule
        found = known if known is not None and known.makespan <= best.makespan else best.order
        parts = {"polisher": way.polisher, "initial": way.initial}
        return monitor.finish(found, crews.steps, workers, islands[0].search, **parts)


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
            exchange_bests(self._islands)

    def _measure(self, steps: float, seconds: float) -> None:
        """Find out how fast the search is, and how many steps make a round if it is slow."""
        if seconds > _ROUND / 3 or steps >= self._per_round:
            self.slow = steps / seconds * self._monitor.instance.n_operations < _SLOW
        self._slow_round = max(1, min(int(min(4.0, _ROUND / seconds) * self._slow_round), _MOST_STEPS))


def _best(islands: list[Island]) -> Member:
    return min((island.best for island in islands), key=lambda member: member.makespan)


def _meet(islands: list[Island], incumbent: Incumbent, step: int) -> None:
    """The search learns CP-SAT's schedule if that is better, and the other way round."""
    incumbent.step = step
    best, known = _best(islands), incumbent.schedule
    if known is None or best.makespan < known.makespan:
        incumbent.offer(Schedule.from_linear_order(incumbent.monitor.instance, best.order))
    elif known.makespan < best.makespan:
        member = Member.of(known)
        for island in islands:
            island.insert(member)
            island.best = min(island.best, member, key=lambda m: m.makespan)
        islands[0].search.start(member.order)  # one of them goes on from there at once
