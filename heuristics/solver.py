"""The best we have: tabu search, a population with recombination, and islands on several threads."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from heuristics.monitor import Listener, Monitor
from heuristics.population import PATIENCE, Island, Member
from heuristics.result import Result
from heuristics.search import PYTHON, Search
from heuristics.tabu import tabu_memory
from heuristics.trajectory import check_seed, compile_kernels, first_order
from l2s_plugin.errors import whole_number
from l2s_plugin.instance import Instance
from l2s_plugin.registry import Registry, default_registry
from l2s_plugin.schedule import Schedule
from l2s_plugin.specs import SelectorSpec
from l2s_plugin.stop import Condition, Stop, ending

_FOREVER = 2**62


def solve(
    instance: Instance,
    stop: Stop | Condition | None = None,
    seed: int = 0,
    initial: str | Schedule | Result = "fdd/mwkr",
    workers: int = 1,
    *,
    time_limit: float | None = None,
    selector: Any = "estimate",
    polisher: Any = "l2s-fast",
    neighbourhood: Any = "n7",
    population: int = 8,
    patience: int = PATIENCE,
    gear: str | None = None,
    listener: Listener | None = None,
    registry: Registry | None = None,
    known_bounds: bool = True,
) -> Result:
    """Find the best schedule within the given limits.

    Each worker (a thread; the compiled gear releases the GIL) has a population of its own. In rounds of a fixed
    number of steps, after which every island learns its neighbour's best schedule, all take the same number of
    steps: for a limit in steps the result depends on the seed and the number of workers alone.

    Parameters
    ----------
    instance, stop, time_limit, seed, initial, selector, neighbourhood, gear, listener, known_bounds
        See `local_search`. A limit in steps counts the steps of all workers together.
    workers
        Number of threads.
    polisher
        Selector of every other trajectory, once the population is complete: it begins with the best schedule recombined
        with another, and what it finds counts, but does not enter the population. None: no such trajectories.
    population
        Schedules in a population.
    patience
        Steps without improvement before a trajectory gives way to the next.
    """
    stop, seed = ending(stop, time_limit), check_seed(seed)
    islands = settle(
        instance, seed, workers, selector, neighbourhood, population, patience, registry, gear, polisher, stop
    )
    with Monitor(instance, stop, listener, registry, known_bounds) as monitor, ThreadPoolExecutor(workers) as pool:
        begin(islands, monitor, initial, seed, registry)
        until, steps, per_round = 0, 0, steps_per_round(islands[0].search, stop)
        per_exchange = steps_per_exchange(instance, stop)  # the same in both gears
        shares = shares_of(stop.steps, workers)
        with monitor.contained():
            while not monitor.should_stop(steps):
                until = min(until + per_round, (until // per_exchange + 1) * per_exchange)
                run = [
                    pool.submit(island.evolve, monitor, min(until, share), workers)
                    for island, share in zip(islands, shares, strict=False)
                ]
                for future in run:
                    future.result()
                steps = sum(island.search.step for island in islands)
                if until % per_exchange == 0:
                    exchange(islands)
                if all(island.barren for island in islands):
                    monitor.stopped_by = monitor.stopped_by or "no moves"
        islands[0].rest()
        best = min((island.best for island in islands), key=lambda member: member.makespan)
        parts = {"polisher": polisher, "initial": initial}
        return monitor.finish("tabu", islands[0].search, best.order, seed, steps, workers, **parts)


def settle(
    instance: Instance,
    seed: int,
    workers: int,
    selector: Any,
    neighbourhood: Any,
    population: int,
    patience: int,
    registry: Registry | None,
    gear: str | None = None,
    polisher: Any = None,
    stop: Stop | None = None,
) -> list[Island]:
    """One island per worker, ready to begin; the parameters are those of `solve`."""
    compile_kernels()
    (registry or default_registry()).check(SelectorSpec, polisher)
    for what, number, least in (("workers", workers, 1), ("population", population, 2), ("patience", patience, 1)):
        whole_number(what, number, least)
    islands: list[Island] = []
    for sequence in np.random.SeedSequence(seed).spawn(workers):
        search = Search(instance, neighbourhood, selector, tabu_memory(instance, None), sequence, gear, registry)
        rng = np.random.default_rng(sequence.spawn(1)[0])
        islands.append(Island(search, population, patience, rng, polisher=polisher, gear=gear))
        if polisher is not None and (stop is None or stop.steps is None or stop.steps > population * patience):
            islands[-1].prepare_polisher()  # before the clock starts, where the run may come to that
    return islands


def begin(
    islands: list[Island], monitor: Monitor, initial: str | Schedule | Result, seed: int, registry: Registry | None
) -> None:
    """Let the islands begin; where there is no time for all of them, the first ones stay alone."""
    for k, island in enumerate(islands):
        island.begin(first_order(monitor.instance, initial, seed + k, registry).astype(np.uint32), monitor)
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
    return [_FOREVER if steps is None else (steps + workers - 1 - k) // workers for k in range(workers)]


def exchange(islands: list[Island]) -> None:
    """Every island learns its neighbour's best schedule."""
    bests = [island.best for island in islands]
    for island, neighbour in zip(islands, bests[1:] + bests[:1], strict=True):
        if neighbour.makespan < island.best.makespan:
            schedule = Schedule.from_linear_order(island.search.instance, neighbour.order)
            island.insert(Member(neighbour.makespan, schedule.linear_order.astype(np.uint32)))
