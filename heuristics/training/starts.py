"""Where the searches of a trial begin: at schedules of a dispatching rule, or between the members of populations."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from heuristics.configuration import Configuration
from heuristics.hosts.dispatching import dispatch
from heuristics.hosts.trajectories import tabu_memory
from heuristics.loop.search import Search
from heuristics.members import Member, polished_start, recombine
from heuristics.monitor import Monitor
from heuristics.population import Island, population_defaults
from heuristics.training.config import POPULATION, TrainingConfig
from l2s_plugin.instance import Instance
from l2s_plugin.registry import Registry
from l2s_plugin.stop import steps

_SEARCHES = 80  # that begin in one population: to make it takes as long as many of them
_MEMBERS = 16
_AGES = (0.3, 0.9)  # of populations, as parts of the runs that they are planned for


class Start(NamedTuple):
    """Where a search begins, on which instance, and the schedule that it is drawn to, if there is one."""

    instance: Instance
    order: NDArray[Any]  # linear
    drawn_to: Member | None = None


def starts(config: TrainingConfig, instances: Sequence[Instance], seed: int, threads: int = 1) -> list[Start]:
    """As many as there are instances: one on each; or all in populations of a few of them, drawn to one of the members.

    Half of them begin as polishing does, half between any two members, drawn to the best one, as the population was.
    """
    if config.start != POPULATION:
        return [Start(instance, dispatch(instance, config.start).linear_order) for instance in instances]
    rng = np.random.default_rng(seed)
    count = max(1, len(instances) // _SEARCHES)
    shops = [instances[k] for k in rng.choice(len(instances), count, replace=False)]
    with ThreadPoolExecutor(threads) as pool:
        populations = list(pool.map(partial(population, config), shops, rng.integers(2**31, size=count)))
    found = []
    for k in range(len(instances)):
        members = populations[k % count]
        if k // count % 2 == 0:
            order, target = polished_start(members, rng)
        else:
            a, b = rng.choice(len(members), 2, replace=len(members) < 2)
            order, target = recombine(members[a].order, members[b].order, rng), min(members)
        found.append(Start(shops[k % count], order, target))
    return found


def population(config: TrainingConfig, instance: Instance, seed: int) -> list[Member]:
    """A population of the instance, after some part of a run of `start_steps`."""
    limit = max(1, int(np.random.default_rng(seed).uniform(*_AGES) * config.start_steps))
    way = Configuration(
        neighbourhood=config.neighbourhood.split(",")[0], stop=steps(limit), seed=int(seed), polisher=None,
        population=_MEMBERS, horizon=config.start_steps, anneal=False, known_bounds=False,
    )  # fmt: skip
    way, sequence = population_defaults(way, instance), np.random.SeedSequence(seed)
    search = Search(instance, way.neighbourhood, way.selector, tabu_memory(instance, way.tenure), sequence)
    island = Island(search, way, np.random.default_rng(sequence.spawn(1)[0]))
    monitor = Monitor(instance, way, registry=Registry())  # observers need not hear of it
    monitor.start()
    island.begin(monitor)
    island.evolve(monitor, limit, 1)
    if len(island.members) < 2:  # too easy a shop, or too short a run
        island.harvest()
    return island.members
