"""Several searches on one instance, in processes or on machines of their own, that share one population."""

from __future__ import annotations

import warnings
from concurrent.futures import Executor
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import partial
from itertools import count
from math import inf
from typing import Any, Unpack

import numpy as np

from heuristics.configuration import Configuration, Options, run
from heuristics.hosts.trajectories import first_schedule, tabu_memory
from heuristics.loop.search import Search
from heuristics.members import Member, Population
from heuristics.monitor import Listener, Monitor, SearchError
from heuristics.population import VARIETY, Island, population_defaults, population_size, shares_of
from heuristics.result import Result
from heuristics.workers.portfolio import with_selectors
from heuristics.workers.processes import ProcessPool
from heuristics.workers.stream import stream
from l2s_plugin.errors import L2SError, PluginError
from l2s_plugin.instance import Instance
from l2s_plugin.registry import Registry
from l2s_plugin.schedule import Schedule
from l2s_plugin.stop import Condition, Stop

METHOD = "cooperation"
_ROUND = 150_000_000  # operations x steps of a round whose length is in steps: about a second
_LATENESS = 10.0  # seconds beyond the limit after which rounds that are still missing are given up


def cooperate(
    instance: Instance,
    stop: Stop | Condition | None = None,
    *,
    executor: Executor | None = None,
    selector: Any = None,
    neighbourhood: Any = None,
    listener: Listener | None = None,
    **options: Unpack[Options],
) -> Result:
    """Search with several workers on one population.

    The algorithm is that of `solve`, whose threads share one process; here every worker is a task for an executor, so
    that they can be on many machines, and selectors written in Python do not wait for each other. In rounds, each
    worker improves the population on its own; what they have found is then put together. A worker that dies costs one
    of its rounds. For a limit in steps the result depends on the seed and the number of workers alone.

    Options: those of `solve`, and `exchange`; `workers` (2 unless given) are as many tasks as the executor can run
    at once. Selectors and neighbourhood must be such that they can be sent to other processes: names are. The
    executor is any of `concurrent.futures`, and stays open; processes of this machine when None.
    """
    way = Configuration(partial(cooperation, executor=executor), selector, neighbourhood, stop=stop, **options)
    return run(instance, way, listener)


def cooperation(instance: Instance, way: Configuration, monitor: Monitor, executor: Executor | None = None) -> Result:
    """The method behind `cooperate`; processes of this machine where there is no executor."""
    way = replace(way, method=METHOD, anneal=False)  # rounds are too short for that; what else it was need not travel
    way = population_defaults(way, instance).filled(workers=2)
    workers = way.workers or 2
    first = [Member.of(first_schedule(instance, way.initial, way.seed + k)) for k in range(workers)]
    with ExitStack() as stack:
        if executor is None:
            executor = ProcessPool(workers)
            stack.callback(executor.kill)  # after an interrupt, some may still be busy
        team = _Team(instance, way, first, executor)
        team.work([Stop(steps=0)] * workers)  # every process starts and compiles before the clock does
        stack.enter_context(monitor)
        with monitor.contained():
            monitor.record(0, team.best.makespan)
            for number in count(1):
                if monitor.should_stop(team.steps):
                    break
                taken = team.steps
                team.work(_round_stops(monitor, taken, workers), number, monitor)
                if team.steps == taken and not monitor.should_stop(taken):
                    monitor.stopped_by = "no moves"
        parts = team.parts | {"polisher": way.polisher, "initial": way.initial}
        return monitor.finish(team.best.order, team.steps, workers, method=METHOD, **parts)


def _round_stops(monitor: Monitor, taken: int, workers: int) -> list[Stop]:
    """When the next round of each worker ends: after a while, and not later than the run."""
    stop, target = monitor.stop, monitor.target
    seconds = None if stop.seconds is None else max(monitor.left, 1e-3)
    if stop.steps is None and stop.no_improvement is None:
        exchange = monitor.way.exchange
        return [Stop(seconds=min(exchange, seconds or exchange), makespan=target)] * workers
    steps = [max(1, _ROUND // monitor.instance.n_operations)]
    steps += [max(1, -(-stop.no_improvement // workers))] if stop.no_improvement is not None else []
    shares = shares_of(None if stop.steps is None else stop.steps - taken, workers)
    return [Stop(steps=min(*steps, share), seconds=seconds, makespan=target) for share in shares]


def _share_left(monitor: Monitor | None, steps: int) -> float:
    """How much of the run is still to come, as far as anybody knows."""
    if monitor is None:
        return 1.0
    if monitor.stop.steps is not None:
        return max(0.0, 1 - steps / max(monitor.stop.steps, 1))
    return 0.0 if monitor.stop.seconds is None else monitor.left / monitor.stop.seconds


def _given_up(monitor: Monitor | None) -> bool:
    """Whether what has not come back by now is not worth waiting for."""
    if monitor is None:
        return False
    return monitor.stopped_by == "interrupt" or monitor.seconds > (monitor.stop.seconds or inf) + _LATENESS


@dataclass(frozen=True)
class Round:
    """One search's work until the next exchange: small, and all that a worker needs to know."""

    instance: Instance
    way: Configuration  # with the seed of the run and the stop of the round
    worker: int
    number: int
    first: Member | None  # where to begin; as the population says, if that is None
    members: tuple[Member, ...]
    required: float  # how far from each other they must be


class _Team:
    """The population that all work on, while nobody does."""

    def __init__(self, instance: Instance, way: Configuration, first: list[Member], executor: Executor) -> None:
        self.steps = 0
        self.parts: dict[str, Any] = {}
        self.best = min(first)
        self._instance, self._way, self._first = instance, way, first
        self._population = Population(instance)
        self._apart = 0.0  # how far from each other members had to be at the beginning
        self._executor = executor

    def work(self, stops: list[Stop], number: int = 0, monitor: Monitor | None = None) -> None:
        """One round of all, and the exchange after it."""
        required = _share_left(monitor, self.steps) * self._apart
        members = tuple(self._population.members)
        rounds = [
            Round(
                self._instance, replace(self._way, stop=stop), k, number, None if members else first, members, required
            )
            for k, (stop, first) in enumerate(zip(stops, self._first, strict=True))
        ]
        found: list[tuple[Member, ...]] = [()] * len(rounds)
        errors = []
        given_up = partial(_given_up, monitor)
        try:
            for outcome in stream(run_round, rounds, self._executor, interrupted=given_up):
                if outcome.error is not None:
                    errors.append(outcome.error)
                    continue
                found[outcome.task.worker], best, steps, self.parts, failure = outcome.value
                self.best = min(self.best, best)
                self.steps += steps
                if monitor is not None:
                    if failure:
                        monitor.fail(PluginError(failure))
                    monitor.record(self.steps, self.best.makespan)
        except KeyboardInterrupt:
            if not given_up():
                raise
        if len(errors) == len(rounds):
            raise L2SError(errors[0])
        for error in dict.fromkeys(errors):
            warnings.warn(f"a worker lost a round: {error}", RuntimeWarning, stacklevel=3)
        if number > 0:
            self._put_together(found, required)

    def _put_together(self, found: list[tuple[Member, ...]], required: float) -> None:
        """Make one population of what the workers have found."""
        population = Population(self._instance)
        for members in found:
            population.take_in(members)
        population.reduce(population_size(self._way, self._way.horizon), required)
        if population.members:  # not all were lost
            self._population = population
        if self._apart == 0 and len(population.members) > 1:
            self._apart = VARIETY * population.spread()


def run_round(task: Round) -> tuple[tuple[Member, ...], Member, int, dict[str, Any], str]:
    """In a worker: improve the population; its members, the best schedule found, the steps taken, what the search was
    made of, and what went wrong in it, if anything did."""
    way, instance = with_selectors(task.way), task.instance
    sequence = np.random.SeedSequence((way.seed, task.worker, task.number))
    search = Search(instance, way.neighbourhood, way.selector, tabu_memory(instance, way.tenure), sequence, way.gear)
    rng = np.random.default_rng(sequence.spawn(1)[0])
    island = Island(search, way, rng, task.members, task.required)
    if way.polisher is not None:
        island.prepare_polisher()
    failure, stop = "", way.limits
    with Monitor(instance, way, registry=Registry()) as monitor:  # observers hear of it from the coordinator
        island.begin(monitor, None if task.first is None else task.first.order)
        island.evolve(monitor, shares_of(stop.steps, 1)[0], 1)
        best = Member.of(Schedule.from_linear_order(instance, island.best.order))
        island.harvest()
        island.rest()
        try:
            result = monitor.finish(best.order, search.step, search=search)
        except SearchError as error:
            result, failure = error.result, str(error)
    parts = {"selector": result.selector, "neighbourhood": result.neighbourhood, "gear": result.gear}
    return tuple(island.members), best, search.step, parts, failure
