"""The strongest search: a population on every worker, improved by tabu search and recombined, in threads."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any, Unpack

import numpy as np

from heuristics.configuration import Configuration, Options, run
from heuristics.hosts.trajectories import compile_kernels, first_order, tabu_defaults, tabu_memory
from heuristics.loop.kernels import FOREVER
from heuristics.loop.search import PYTHON, Search
from heuristics.monitor import Listener, Monitor
from heuristics.population.islands import Island, exchange_bests
from heuristics.result import Result
from l2s_plugin.instance import Instance
from l2s_plugin.registry import Registry
from l2s_plugin.stop import Condition, Stop


def solve(
    instance: Instance,
    stop: Stop | Condition | None = None,
    *,
    selector: Any = None,
    neighbourhood: Any = None,
    listener: Listener | None = None,
    registry: Registry | None = None,
    **options: Unpack[Options],
) -> Result:
    """Find a good schedule: tabu search on a small population of schedules, a population for each of the workers.

    With more than one worker, the threads exchange their best schedules, and a limit in steps still gives the same
    result for the same number of workers.

    Options: those of `tabu_search`, and `workers`, `polisher`, `population`, `patience`; see `Configuration`.
    """
    way = Configuration("memetic", selector, neighbourhood, stop=stop, **options)
    return run(instance, way, listener, registry)


def memetic(instance: Instance, way: Configuration, monitor: Monitor) -> Result:
    """What `memetic` names."""
    way = tabu_defaults(way).filled(workers=1)
    islands, workers = settle(way, monitor), way.workers or 1
    with monitor, ThreadPoolExecutor(workers) as pool:
        begin(islands, way, monitor)
        until, steps, per_round = 0, 0, steps_per_round(islands[0].search, monitor.stop)
        per_exchange = steps_per_exchange(instance, monitor.stop)  # the same in both gears
        shares = shares_of(monitor.stop.steps, workers)
        with monitor.contained():
            while not monitor.should_stop(steps):
                until = min(until + per_round, (until // per_exchange + 1) * per_exchange)
                tasks = [
                    pool.submit(island.evolve, monitor, min(until, share), workers)
                    for island, share in zip(islands, shares, strict=False)
                ]
                for task in tasks:
                    task.result()
                steps = sum(island.search.step for island in islands)
                if until % per_exchange == 0:
                    exchange_bests(islands)
                if all(island.barren for island in islands):
                    monitor.stopped_by = monitor.stopped_by or "no moves"
        islands[0].rest()
        best = min((island.best for island in islands), key=lambda member: member.makespan)
        parts = {"polisher": way.polisher, "initial": way.initial}
        return monitor.finish(best.order, steps, workers, islands[0].search, **parts)


def settle(way: Configuration, monitor: Monitor) -> list[Island]:
    """One island per worker, ready to begin: what there is to compile is compiled."""
    compile_kernels()
    islands: list[Island] = []
    memory, stop = tabu_memory(monitor.instance, way.tenure), monitor.stop
    for sequence in np.random.SeedSequence(way.seed).spawn(way.workers or 1):
        search = Search(monitor.instance, way.neighbourhood, way.selector, memory, sequence, way.gear, monitor.registry)
        islands.append(Island(search, way, np.random.default_rng(sequence.spawn(1)[0])))
        if way.polisher is not None and (stop.steps is None or stop.steps > way.population * way.patience):
            islands[-1].prepare_polisher()  # before the clock starts, where the run may come to that
    return islands


def begin(islands: list[Island], way: Configuration, monitor: Monitor) -> None:
    """Let the islands begin; where there is no time for all of them, the first ones stay alone."""
    for k, island in enumerate(islands):
        island.begin(monitor, first_order(monitor.instance, way.initial, way.seed + k, monitor.registry))
        if monitor.out_of_time():
            del islands[k + 1 :]


def steps_per_exchange(instance: Instance, stop: Stop) -> int:
    """How long islands work on their own: about a fifth of a second, and no longer than the stop can wait."""
    steps = max(500, 30_000_000 // max(instance.n_operations, 50))  # a step has its fixed cost, too
    return steps if stop.no_improvement is None else max(1, min(steps, stop.no_improvement))


def steps_per_round(search: Search, stop: Stop) -> int:
    """Steps between two looks at the stop, which the Python gear must not wait for as long as for an exchange."""
    steps = steps_per_exchange(search.instance, stop)
    return max(1, steps // 300) if search.gear == PYTHON else steps


def shares_of(steps: int | None, workers: int) -> list[int]:
    """How many of the steps each worker takes."""
    return [FOREVER if steps is None else (steps + workers - 1 - k) // workers for k in range(workers)]
