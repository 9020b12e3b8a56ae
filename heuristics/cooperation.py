"""Several searches on one instance, in processes or on machines of their own, that exchange their best schedules."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from concurrent.futures import Executor
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import count
from typing import Any

import numpy as np

from heuristics.configuration import create_selector
from heuristics.monitor import Listener, Monitor, SearchError
from heuristics.population import PATIENCE, Island, Member, random_order, recombine
from heuristics.processes import ProcessPool
from heuristics.result import Result
from heuristics.search import Search
from heuristics.solver import shares_of
from heuristics.stream import stream
from heuristics.tabu import tabu_memory
from heuristics.trajectory import check_seed, first_order
from l2s_plugin.errors import L2SError, PluginError, whole_number
from l2s_plugin.instance import Instance, check_instance
from l2s_plugin.registry import Registry, default_registry
from l2s_plugin.schedule import Schedule
from l2s_plugin.specs import SelectorSpec
from l2s_plugin.stop import Condition, Stop, ending

METHOD = "cooperation"
EXCHANGE = 1.0  # seconds
_ROUND = 150_000_000  # operations x steps of a round whose length is in steps: about a second
_FOREVER = 2**62
_LATENESS = 10.0  # seconds beyond the limit after which rounds that are still missing are given up


@dataclass(frozen=True)
class Plan:
    """What is the same in all rounds."""

    instance: Instance
    selector: Any
    polisher: Any
    neighbourhood: Any
    population: int
    patience: int
    gear: str | None
    known_bounds: bool


@dataclass(frozen=True)
class Round:
    """One search's work until the next exchange: small, and all that a worker needs to know."""

    plan: Plan
    worker: int
    members: tuple[Member, ...]
    seed: tuple[int, ...]
    stop: Stop


def cooperate(
    instance: Instance,
    stop: Stop | Condition | None = None,
    seed: int = 0,
    initial: str | Schedule | Result = "fdd/mwkr",
    workers: int = 2,
    *,
    time_limit: float | None = None,
    executor: Executor | None = None,
    exchange: float = EXCHANGE,
    selector: Any = "estimate",
    polisher: Any = "l2s-fast",
    neighbourhood: Any = "n7",
    population: int = 8,
    patience: int = PATIENCE,
    gear: str | None = None,
    listener: Listener | None = None,
    known_bounds: bool = True,
) -> Result:
    """Search with several populations that exchange their best schedules.

    The algorithm is that of `solve`, whose threads share one process; here every population is a task for an executor,
    so that they can be on many machines, and selectors written in Python do not wait for each other. In rounds, each
    population is improved on its own and then learns its neighbour's best schedule. A worker that dies costs its
    population one round. For a limit in steps the result depends on the seed and the number of workers alone.

    Parameters
    ----------
    instance, stop, time_limit, seed, initial, selector, polisher, neighbourhood, population, patience, gear, listener
        See `solve`. A limit in steps counts the steps of all workers together. Selectors and neighbourhood must be such
        that they can be sent to other processes: names are.
    workers
        Number of populations; as many as the executor can run at once.
    executor
        Any `concurrent.futures.Executor`, which stays open; processes of this machine when None.
    exchange
        Seconds between two exchanges, if the limit is not in steps.
    """
    check_instance(instance)
    stop, seed = ending(stop, time_limit), check_seed(seed)
    for what, number, least in (("workers", workers, 1), ("population", population, 2), ("patience", patience, 1)):
        whole_number(what, number, least)
    if isinstance(exchange, bool) or not isinstance(exchange, int | float) or not exchange > 0:
        raise L2SError(f"exchange must be a positive number of seconds, got {exchange!r}")
    for part in (selector, polisher):
        default_registry().check(SelectorSpec, part)
    first = [_member(instance, first_order(instance, initial, seed + k, None)) for k in range(workers)]
    with _open(executor, workers) as pool:
        plan = Plan(instance, selector, polisher, neighbourhood, population, patience, gear, known_bounds)
        team = _Team(plan, first, seed, pool)
        team.work(Stop(steps=0))  # every process starts and compiles before the clock does
        with Monitor(instance, stop, listener, known_bounds=known_bounds) as monitor:
            with monitor.contained():
                monitor.record(0, team.best.makespan)
                for number in count(1):
                    if monitor.should_stop(team.steps):
                        break
                    taken = team.steps
                    team.work(_round_stop(monitor, workers, exchange), number, monitor)
                    if team.steps == taken and not monitor.should_stop(taken):
                        monitor.stopped_by = "no moves"
            return team.result(monitor, seed, initial)


@contextmanager
def _open(executor: Executor | None, workers: int) -> Iterator[Executor]:
    if executor is not None:
        yield executor
        return
    pool = ProcessPool(workers)
    try:
        yield pool
    finally:
        pool.kill()  # after an interrupt, some may still be busy


def _round_stop(monitor: Monitor, workers: int, exchange: float) -> Stop:
    """When the next round ends: after a while, and not later than the run."""
    stop = monitor.stop
    left = [max(stop.seconds - monitor.seconds, 1e-3)] if stop.seconds is not None else []
    if stop.steps is None and stop.no_improvement is None:
        return Stop(seconds=min([exchange, *left]), makespan=monitor.target)
    steps = [max(1, _ROUND // monitor.instance.n_operations)]
    steps += [max(1, -(-stop.no_improvement // workers))] if stop.no_improvement is not None else []
    return Stop(steps=min(steps), seconds=min(left, default=None), makespan=monitor.target)


def _given_up(monitor: Monitor) -> bool:
    """Whether to wait no longer: Ctrl-C, or all workers are gone and the time is long over."""
    limit = monitor.stop.seconds
    return monitor.stopped_by == "interrupt" or (limit is not None and monitor.seconds > limit + _LATENESS)


class _Team:
    """The populations, as the coordinator knows them."""

    def __init__(self, plan: Plan, first: list[Member], seed: int, executor: Executor) -> None:
        self.steps = 0
        self.best = min(first, key=_makespan)
        self._plan = plan
        self._members: list[tuple[Member, ...]] = [(member,) for member in first]
        self._bests = list(first)  # of each population, and of what was polished
        self._seed = seed
        self._executor = executor
        self._parts: dict[str, Any] = {}

    def work(self, stop: Stop, number: int = 0, monitor: Monitor | None = None) -> None:
        """One round of all, and the exchange after it."""
        limit = None if monitor is None or monitor.stop.steps is None else monitor.stop.steps - self.steps
        shares = shares_of(limit, len(self._members))
        rounds = [
            Round(self._plan, k, members, (self._seed, k, number), stop | Stop(steps=shares[k]))
            for k, members in enumerate(self._members)
        ]
        errors = []
        try:
            outcomes = stream(
                run_round,
                rounds,
                self._executor,
                interrupted=lambda: monitor is not None and _given_up(monitor),
            )
            for outcome in outcomes:
                if outcome.error is not None:
                    errors.append(outcome.error)
                    continue
                *found, failure = outcome.value
                self._take(outcome.task.worker, *found)
                if failure and monitor is not None:
                    monitor.fail(PluginError(failure))
                if monitor is not None:
                    monitor.record(self.steps, self.best.makespan)
        except KeyboardInterrupt:
            if monitor is None or not _given_up(monitor):
                raise
        if len(errors) == len(rounds):
            raise L2SError(errors[0])
        for error in dict.fromkeys(errors):
            warnings.warn(f"a population lost a round: {error}", RuntimeWarning, stacklevel=3)
        self._exchange()

    def _take(self, worker: int, members: tuple[Member, ...], best: Member, steps: int, parts: dict[str, Any]) -> None:
        self._members[worker] = members
        self._bests[worker] = min(self._bests[worker], best, *members, key=_makespan)
        self._parts = parts
        self.steps += steps
        self.best = min(self._bests, key=_makespan)

    def _exchange(self) -> None:
        """Every population learns its neighbour's best schedule."""
        bests = list(self._bests)
        for k, neighbour in enumerate(bests[1:] + bests[:1]):
            if neighbour.makespan < bests[k].makespan:
                self._members[k] += (neighbour,)
                self._bests[k] = neighbour

    def result(self, monitor: Monitor, seed: int, initial: Any) -> Result:
        """The verified incumbent."""
        schedule = Schedule.from_linear_order(monitor.instance, self.best.order)
        parts = self._parts | {"polisher": self._plan.polisher, "initial": initial}
        return monitor.report(METHOD, schedule, seed, self.steps, len(self._members), **parts)


def run_round(task: Round) -> tuple[tuple[Member, ...], Member, int, dict[str, Any], str]:
    """In a worker: improve a population; its members, the best schedule found, the steps taken, what the search was
    made of, and what went wrong in it, if anything did."""
    plan = task.plan
    selector, polisher = (
        create_selector(part) if isinstance(part, str) else part for part in (plan.selector, plan.polisher)
    )
    sequence = np.random.SeedSequence(task.seed)
    memory = tabu_memory(plan.instance, None)
    search = Search(plan.instance, plan.neighbourhood, selector, memory, sequence, plan.gear)
    rng = np.random.default_rng(sequence.spawn(1)[0])
    island = Island(search, plan.population, plan.patience, rng, task.members, polisher, plan.gear)
    if polisher is not None:
        island.prepare_polisher()
    silent = Registry()  # observers hear of it from the coordinator
    failure = ""
    with Monitor(plan.instance, task.stop, registry=silent, known_bounds=plan.known_bounds) as monitor:
        island.begin(_begin(task, rng), monitor)
        island.evolve(monitor, _FOREVER if task.stop.steps is None else task.stop.steps, 1)
        best = _member(plan.instance, island.best.order)
        island.harvest()
        island.rest()
        try:
            result = monitor.finish(METHOD, search, best.order, 0, search.step)
        except SearchError as error:
            result, failure = error.result, str(error)
    parts = {"selector": result.selector, "neighbourhood": result.neighbourhood, "gear": result.gear}
    return tuple(island.members), best, search.step, parts, failure


def _begin(task: Round, rng: np.random.Generator) -> Any:
    """Where the first trajectory of a round begins, in the way in which `Island` begins its others."""
    members = task.members
    if len(members) < 2:
        return members[0].order
    if len(members) < task.plan.population:
        return random_order(task.plan.instance, rng)
    a, b = rng.choice(len(members), 2, replace=False)
    return recombine(members[a].order, members[b].order, rng)


def _member(instance: Instance, order: Any) -> Member:
    schedule = Schedule.from_linear_order(instance, order)
    return Member(schedule.makespan, schedule.linear_order.astype(np.uint32))


def _makespan(member: Member) -> int:
    return member.makespan
