"""The strongest search: a population of schedules on every worker; tabu search improves it, recombination feeds it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any, Unpack

import numpy as np
from numpy.typing import NDArray

from heuristics.configuration import Configuration, Ending, SearchOptions, search
from heuristics.hosts.trajectories import compile_kernels, default_tenure, first_order, tabu_defaults, tabu_memory
from heuristics.loop import kernels
from heuristics.loop.search import PYTHON, Search, Selection
from heuristics.monitor import Monitor, Pace
from heuristics.result import Result
from l2s_plugin.instance import Instance
from l2s_plugin.schedule import Schedule, respecting
from l2s_plugin.stop import Stop

Order = NDArray[np.uint32]

POLISH_EVERY = 2  # of the trajectories, once the population is complete
_PATIENCE = 12_500  # Peng, Lü & Cheng 2015
_PATIENCE_PER_OPERATION = 20  # a trajectory of a large shop goes on improving for a million steps
_USUAL_SIZE = 1000  # operations; larger shops remember for longer, ...
_LONGEST_MEMORY = 3.0  # ... up to so many times as long


def solve(
    instance: Instance,
    stop: Ending = None,
    *,
    selector: Any = None,
    neighbourhood: Any = None,
    **options: Unpack[SearchOptions],
) -> Result:
    """Find a good schedule: tabu search on a small population of schedules, a population for each of the workers.

    With more than one worker, the threads exchange their best schedules, and a limit in steps still gives the same
    result for the same number of workers.

    Options: those of `tabu_search`, and `workers`, `polisher`, `population`, `patience`; see `Configuration`.
    """
    return search("memetic", instance, selector=selector, neighbourhood=neighbourhood, stop=stop, **options)


def memetic(instance: Instance, way: Configuration, monitor: Monitor) -> Result:
    """What `memetic` names."""
    way = population_defaults(way, instance).filled(workers=1)
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
        best = min(island.best for island in islands)
        parts = {"polisher": way.polisher, "initial": way.initial}
        return monitor.finish(best.order, steps, workers, islands[0].search, **parts)


def population_defaults(way: Configuration, instance: Instance) -> Configuration:
    """With what populations choose where the user did not."""
    way = tabu_defaults(way)
    return way.filled(patience=population_patience(instance), tenure=population_tenure(instance))


def population_patience(instance: Instance) -> int:
    """Steps without improvement after which a trajectory gives way: more than 12,500 in shops above 625 operations."""
    return max(_PATIENCE, _PATIENCE_PER_OPERATION * instance.n_operations)


def population_tenure(instance: Instance) -> tuple[int, int]:
    """That of tabu search, and longer in shops above 1000 operations, with the root of their number."""
    longer = min(max(1.0, (instance.n_operations / _USUAL_SIZE) ** 0.5), _LONGEST_MEMORY)
    low, high = default_tenure(instance)
    return int(longer * low), int(longer * high)


def settle(way: Configuration, monitor: Monitor) -> list[Island]:
    """One island per worker, ready to begin: what there is to compile is compiled."""
    compile_kernels()
    islands: list[Island] = []
    memory, stop = tabu_memory(monitor.instance, way.tenure), monitor.stop
    for sequence in np.random.SeedSequence(way.seed).spawn(way.workers or 1):
        search = Search(monitor.instance, way.neighbourhood, way.selector, memory, sequence, way.gear, monitor.registry)
        islands.append(Island(search, way, np.random.default_rng(sequence.spawn(1)[0])))
        if way.polisher is not None and (stop.steps is None or stop.steps > way.population * (way.patience or 0)):
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
    return [kernels.FOREVER if steps is None else (steps + workers - 1 - k) // workers for k in range(workers)]


@dataclass(frozen=True, order=True)
class Member:
    """A schedule by its longest path, the makespan unless due dates count, by which members compare, and its linear
    order, sorted by start time."""

    makespan: int
    order: Order = field(compare=False)

    @classmethod
    def of(cls, schedule: Schedule) -> Member:
        return cls(schedule.length, schedule.linear_order.astype(np.uint32))


_NONE = Member(kernels.FOREVER, np.zeros(0, np.uint32))


def random_order(instance: Instance, rng: np.random.Generator) -> Order:
    """A random linear order of the operations that respects the jobs and kept machine orders."""
    places = np.argsort(rng.permutation(instance.job), kind="stable")  # a job's k-th place is its k-th operation's
    order = np.empty(instance.n_operations, np.uint32)
    order[places] = np.arange(instance.n_operations)
    return respecting(instance, order)


def recombine(a: Order, b: Order, rng: np.random.Generator) -> Order:
    """Begin like `a`, go on like `b`: the first part of one linear order, then the rest in the order of the other.

    The child is a linear order that respects the jobs, so it is acyclic; whatever comes first in both parents comes
    first in the child.
    """
    cut = int(len(a) * rng.uniform(0.3, 0.7))
    begun = np.zeros(len(a), bool)
    begun[a[:cut]] = True
    return np.concatenate((a[:cut], b[~begun[b]]))


def ring(bests: Sequence[Member]) -> Iterator[tuple[int, Member]]:
    """What populations learn from each other: each its neighbour's best schedule, if that is better than its own."""
    for k, neighbour in enumerate([*bests[1:], *bests[:1]]):
        if neighbour < bests[k]:
            yield k, neighbour


def exchange_bests(islands: list[Island]) -> None:
    """Every island learns its neighbour's best schedule."""
    for k, neighbour in ring([island.best for island in islands]):
        islands[k].insert(Member.of(Schedule.from_linear_order(islands[k].search.instance, neighbour.order)))


class Island:
    """One population and the search that improves its members; one thread works on it at a time.

    `members` are there from the beginning, and that many fewer are born from random orders.

    With a `polisher`, every other trajectory of a complete population *polishes*: that selector begins with the best
    schedule recombined with another. What it finds counts, but does not enter the population: a selector that keeps
    close to the incumbent finds more in the short run, and would leave the population without variety.
    """

    def __init__(
        self, search: Search, way: Configuration, rng: np.random.Generator, members: Sequence[Member] = ()
    ) -> None:
        self.search = search
        self.members: list[Member] = []
        self.best = min(members, default=_NONE)
        self._way = way
        self._rng = rng
        self._unborn = max(way.population - len(members), 0)
        self._usual = search.selection
        self._prepared: Selection | None = None
        self._polishing = False
        self._trajectories = 0
        self._fruitless = 0
        self._begun = search.step
        for member in members:
            self.insert(member)

    def begin(self, monitor: Monitor, order: Order | None = None) -> None:
        """Start the first trajectory, there or as all others; the clock runs."""
        if order is None:
            order = self._next_start()
        else:
            self._unborn -= 1
        self.search.start(order)
        monitor.watch(self.search)
        self._note(monitor)

    def _note(self, monitor: Monitor, workers: int = 1, others: int = 0) -> None:
        if self.search.best_makespan < self.best.makespan:
            self.best = Member(self.search.best_makespan, self.search.best_order)
        monitor.note(self.search, workers, others)

    def prepare_polisher(self) -> Selection:
        """The polisher, ready for the search; compiled the first time."""
        if self._prepared is None:
            self._prepared = self.search.prepare(self._way.polisher, self._way.gear)
        return self._prepared

    def rest(self) -> None:
        """Leave the search with its usual selector."""
        self.search.switch(self._usual)

    @property
    def barren(self) -> bool:
        """Whether start after start offered not a single move."""
        return self._fruitless > self._way.population

    def evolve(self, monitor: Monitor, until_step: int, workers: int, others: Sequence[Island] = ()) -> None:
        """Search until the step counter reaches `until_step`, the bound is met, or time is up.

        The history counts the steps of all islands: of `workers` that are at the same step, and of uneven `others`.
        """
        pace = Pace()
        while self.search.step < until_step and self.best.makespan > monitor.target and not self.barren:
            until = min(until_step, self.search.step + pace.next())
            reason = kernels.BUDGET
            with monitor.contained():
                reason = self.search.run(until, monitor.target, self._way.patience)
            self._note(monitor, workers, sum(other.search.step for other in others))
            if reason in (kernels.STALLED, kernels.ABSORBED, kernels.REFUSED):
                with monitor.contained():  # the polisher may fail
                    self._turn_over()
            if monitor.out_of_time():
                break

    def _turn_over(self) -> None:
        """Put what the trajectory found into the population and start the next one."""
        self._fruitless = self._fruitless + 1 if self.search.step == self._begun else 0
        self._begun = self.search.step
        self._trajectories += 1
        self.harvest()
        if self._unborn == 0 and self._has_converged():
            self.members = [min(self.members)]
            self._unborn = self._way.population - 1
        self._polishing = self._complete and self._way.polisher is not None and self._trajectories % POLISH_EVERY == 0
        self.search.switch(self.prepare_polisher() if self._polishing else self._usual)
        self.search.start(self._next_start())

    def _next_start(self) -> Order:
        """Where a trajectory begins: anywhere until the population is complete, then between two of its members."""
        if self._complete:
            return recombine(*self._parents(), self._rng)
        self._unborn = max(self._unborn - 1, 0)
        return random_order(self.search.instance, self._rng)

    @property
    def _complete(self) -> bool:
        return self._unborn == 0 and len(self.members) >= 2

    def harvest(self) -> None:
        """Put what the trajectory has found into the population, unless it polishes."""
        if not self._polishing:
            self.insert(Member(self.search.best_makespan, self.search.best_order_by_start()))

    def _parents(self) -> tuple[Order, Order]:
        """Two members; to polish, the best one and another."""
        if self._polishing:
            best, *others = sorted(self.members)
            return best.order, others[self._rng.integers(len(others))].order
        a, b = self._rng.choice(len(self.members), 2, replace=False)
        return self.members[a].order, self.members[b].order

    def insert(self, member: Member) -> None:
        """Take a schedule in, in place of the worst if the population is full; copies are left out."""
        if any(m.makespan == member.makespan and np.array_equal(m.order, member.order) for m in self.members):
            return
        self.members.append(member)
        if len(self.members) > self._way.population:
            self.members.remove(max(self.members))

    def _has_converged(self) -> bool:
        makespans = {member.makespan for member in self.members}
        return len(self.members) == self._way.population and len(makespans) == 1
