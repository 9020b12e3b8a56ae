"""The strongest search: a population of schedules; tabu search improves it on every worker, recombination feeds it."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Unpack

import numpy as np

from heuristics.annealing import HOT, WARM, Annealing, annealed_length, is_worthwhile
from heuristics.configuration import Configuration, Ending, SearchOptions, search
from heuristics.hosts.trajectories import compile_kernels, default_tenure, first_order, tabu_defaults, tabu_memory
from heuristics.loop import kernels
from heuristics.loop.search import PYTHON, Search, Selection
from heuristics.members import NO_MEMBER, Member, Order, Population, polished_start, random_order, recombine
from heuristics.monitor import Monitor, Pace
from heuristics.race import Race
from heuristics.result import Result
from l2s_plugin.instance import Instance
from l2s_plugin.stop import Stop

POLISH_EVERY = 6  # trajectories one polishes, once the population is complete
VARIETY = 0.6  # of the mean distance in the first complete population: how far apart members must be at first
_LEAST_MEMBERS, _MOST_MEMBERS = 8, 64
_TRAJECTORIES_PER_MEMBER = 120  # of the shortest kind, in the whole run
_YOUTH = 0.25  # of the run; after that, nothing is born from random orders
_SLOWER, _ANNEALING = 0.9, 0.85  # of the speed of the first trajectory is what a run keeps up, with what comes later
_FIRST = 20  # where trajectories are annealed, the first one is not, and takes no longer than that part of the run
_SPEED_KNOWN = 0.02  # of the seconds of a run; by then its speed is clear
_PATIENCE = 12_500  # Peng, Lü & Cheng 2015
_SLOWLY = 100  # a trajectory in 100x100 goes on improving for millions of steps: operations squared, over this
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
    """Find a good schedule: tabu search on a small population of schedules, by one or more workers.

    Several workers, a thread each, share the population, and a limit in steps still gives the same result for the same
    number of workers.

    Options: those of `tabu_search`, and `workers`, `polisher`, `population`, `horizon`, `patience`: see
    `Configuration`.
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
                    share_members(islands)
                if all(island.barren for island in islands):
                    monitor.stopped_by = monitor.stopped_by or "no moves"
        islands[0].rest()
        best = min(island.best for island in islands)
        parts = {"polisher": way.polisher, "initial": way.initial, "horizon": planned(islands, way)}
        return monitor.finish(best.order, steps, workers, islands[0].search, **parts)


def population_defaults(way: Configuration, instance: Instance) -> Configuration:
    """With what populations choose where the user did not."""
    way = tabu_defaults(way.filled(anneal=None if way.selector is None else False))
    limit = way.limits.steps
    return way.filled(patience=population_patience(instance), tenure=population_tenure(instance), horizon=limit)


def population_patience(instance: Instance) -> int:
    """Steps without improvement after which a trajectory gives way: more than 12,500 in shops above 1118 operations."""
    return max(_PATIENCE, instance.n_operations**2 // _SLOWLY)


def population_tenure(instance: Instance) -> tuple[int, int]:
    """That of tabu search, and longer in shops above 1000 operations, with the root of their number."""
    longer = min(max(1.0, (instance.n_operations / _USUAL_SIZE) ** 0.5), _LONGEST_MEMORY)
    low, high = default_tenure(instance)
    return int(longer * low), int(longer * high)


def population_size(way: Configuration, horizon: int | None) -> int:
    """How many members a complete population has in a run of so many steps, of all workers together."""
    if way.population is not None:
        return way.population
    affordable = (horizon or 0) // (_TRAJECTORIES_PER_MEMBER * (way.patience or 1))
    return min(max(affordable, _LEAST_MEMBERS), _MOST_MEMBERS)


def settle(way: Configuration, monitor: Monitor) -> list[Island]:
    """One island per worker, ready to begin: what there is to compile is compiled."""
    compile_kernels()
    islands: list[Island] = []
    memory, stop = tabu_memory(monitor.instance, way.tenure), monitor.stop
    for sequence in np.random.SeedSequence(way.seed).spawn(way.workers or 1):
        search = Search(monitor.instance, way.neighbourhood, way.selector, memory, sequence, way.gear, monitor.registry)
        islands.append(Island(search, way, np.random.default_rng(sequence.spawn(1)[0])))
        if way.polisher is not None and (stop.steps is None or stop.steps > 2 * (way.patience or 0)):
            islands[-1].prepare_polisher()  # before the clock starts, where the run may come to that
    return islands


def begin(islands: list[Island], way: Configuration, monitor: Monitor) -> None:
    """Let the islands begin; where there is no time for all of them, the first ones stay alone."""
    for k, island in enumerate(islands):
        island.begin(monitor, first_order(monitor.instance, way.initial, way.seed + k, monitor.registry))
        if monitor.out_of_time():
            del islands[k + 1 :]


def planned(islands: Sequence[Island], way: Configuration) -> int | None:
    """The steps that the islands planned for together; None where they did not come to that."""
    foreseen = islands[0].horizon
    return way.horizon if way.horizon is not None or foreseen is None else foreseen * (way.workers or 1)


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


def share_members(islands: Sequence[Island]) -> None:
    """Make one population of all, and let every island go on with it."""
    if len(islands) > 1:
        newest = max(islands, key=lambda island: island.generation)
        others = [island for island in islands if island is not newest]
        for island in others:
            if island.generation == newest.generation:
                newest.take_in(island.members)
        for island in others:
            island.go_on_with(newest)


class Island:
    """A worker's copy of the population, and the search that improves it; one thread works on it at a time.

    `members` are there from the beginning, and that many fewer are born from random orders.

    Members must be far enough from each other (see `survivors`), and the less so the nearer the island is to its
    `horizon`, the step at which the run is going to end. Where nobody knows that, the worst one leaves.

    With a `polisher`, every sixth trajectory of a complete population *polishes*: that selector begins with a good
    member recombined with another (see `polished_start`), and is drawn to that member.

    Where a run is short for the size of the shop, all but the first trajectory and those that polish are annealed.
    """

    def __init__(
        self,
        search: Search,
        way: Configuration,
        rng: np.random.Generator,
        members: Sequence[Member] = (),
        required: float | None = None,
    ) -> None:
        self.search = search
        self._population = Population(search.instance, members)
        self.best = min(members, default=NO_MEMBER)
        self.generation = 0  # how often the population began anew
        self.horizon = None if way.horizon is None else max(1, way.horizon // (way.workers or 1))
        self._required = required  # how far from each other members must be, if others know that
        self._apart = 0.0  # the same at the beginning
        self._way = way
        self._rng = rng
        self._born = len(members)
        self._youth = search.step  # when this population began
        self._usual = search.selection
        self._prepared: Selection | None = None
        self._polishing = False
        self._trajectories = 0
        self._fruitless = 0
        self._begun = search.step
        self._race = Race(way.patience or 0)
        self._annealing = None if way.anneal is False else Annealing(search, way.gear)
        self._cooling = 0  # how long the trajectory is, if it is annealed
        self._clock = 0.0

    @property
    def members(self) -> list[Member]:
        return self._population.members

    def begin(self, monitor: Monitor, order: Order | None = None) -> None:
        """Start the first trajectory, there or as all others; the clock runs."""
        self._clock = monitor.seconds
        if order is not None and not self.members:
            self._born = 1
        self.search.start(*(self._next_start() if order is None else (order,)))
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
        return self._fruitless > self._size

    @property
    def _size(self) -> int:
        """How many members a complete population has."""
        return population_size(self._way, self.horizon and self.horizon * (self._way.workers or 1))

    def evolve(self, monitor: Monitor, until_step: int, workers: int, others: Sequence[Island] = ()) -> None:
        """Search until the step counter reaches `until_step`, the bound is met, or time is up.

        The history counts the steps of all islands: of `workers` that are at the same step, and of uneven `others`.
        """
        pace, before = Pace(), self.search.step
        while self.search.step < until_step and self.best.makespan > monitor.target and not self.barren:
            taken, before = self.search.step - before, self.search.step
            until = min(until_step, before + pace.next(taken), self._race.next, self._next_leg)
            reason = kernels.BUDGET
            with monitor.contained():
                reason = self.search.run(until, monitor.target, None if self._cooling else self._way.patience)
            self._note(monitor, workers, sum(other.search.step for other in others))
            if self._annealing is not None and monitor.seconds - self._clock > _SPEED_KNOWN * monitor.left:
                self._look_ahead(monitor)
            over = reason in (kernels.STALLED, kernels.ABSORBED, kernels.REFUSED) or self.search.step >= self._end
            if over or (self.search.step >= self._race.next and not self._race.passes(self.search.best_makespan)):
                with monitor.contained():  # the polisher may fail
                    self._look_ahead(monitor)
                    self._turn_over(over)
            if monitor.out_of_time():
                break

    def _look_ahead(self, monitor: Monitor) -> None:
        """Foresee at which step the time limit will come, once: the same decisions can then be made again."""
        if self.horizon is None and self._required is None and monitor.stop.seconds is not None:
            steps = self.search.step / max(monitor.seconds - self._clock, 1e-6) * monitor.left
            self.horizon = max(1, self.search.step + int(_SLOWER * steps))
            if self._annealed_length(self.search.step):
                self.horizon = self.search.step + int(_ANNEALING * steps)
                if self._trajectories == 0:  # who repeats the run must end the first one where it ends now
                    self.horizon = max(self.horizon, _FIRST * self.search.step)

    @property
    def _end(self) -> int:
        """The step with which the trajectory ends, whatever it finds."""
        if self._annealing is not None and self._cooling:
            return self._annealing.end
        if self._trajectories == 0 and self.horizon is not None and self._annealed_length(self.horizon // _FIRST):
            return self.horizon // _FIRST
        return kernels.FOREVER

    @property
    def _next_leg(self) -> int:
        """The step until which the trajectory goes on as it is."""
        return self._annealing.cool(self.search.step) if self._annealing is not None and self._cooling else self._end

    def _annealed_length(self, step: int) -> int:
        """How long an annealed trajectory should be that begins with that step; 0: none."""
        size, horizon = self.search.instance.n_operations, self.horizon
        if self._annealing is None:
            return 0
        if not (self._way.anneal or is_worthwhile(size, horizon and horizon * (self._way.workers or 1))):
            return 0
        return annealed_length(size, step, horizon)

    def _turn_over(self, whole: bool) -> None:
        """Put what the trajectory found into the population, if it is whole, and start the next one."""
        self._fruitless = self._fruitless + 1 if self.search.step == self._begun else 0
        self._begun = self.search.step
        self._trajectories += 1
        length = self._annealed_length(self.search.step)
        if whole and not (self._trajectories == 1 and length):  # the first one is where others begin
            self.harvest()
        if self._complete and self._has_converged():
            self._population.reduce(1, 0.0)
            self.generation, self._born, self._youth = self.generation + 1, 1, self.search.step
        self._polishing = self._complete and self._way.polisher is not None and self._trajectories % POLISH_EVERY == 0
        self._cooling = 0 if self._polishing else length
        self.search.switch(self._next_selection())
        self.search.start(*self._next_start())

    def _next_selection(self) -> Selection:
        """What chooses in the next trajectory."""
        if self._polishing:
            return self.prepare_polisher()
        if self._annealing is None or not self._cooling:
            return self._usual
        from_nowhere = not self._complete and isinstance(self._way.initial, str)
        self._annealing.begin(self.search.step, self._cooling, HOT if from_nowhere else WARM)
        return self._annealing.selection

    def _next_start(self) -> tuple[Order, Order | None]:
        """Where a trajectory begins: anywhere until the population is complete, then between two of its members; and
        what it is drawn to, if it polishes."""
        hurdles = self._complete and not self._cooling
        self._race.begin(self.search.step, self._polishing if hurdles else None)
        if not self._complete:
            self._born += 1
            if self._cooling:
                return self.best.order, None
            return random_order(self.search.instance, self._rng), None
        if not self._polishing:
            a, b = self._rng.choice(len(self.members), 2, replace=False)
            return recombine(self.members[a].order, self.members[b].order, self._rng), None
        start, target = polished_start(self.members, self._rng)
        return start, target.order

    @property
    def _complete(self) -> bool:
        """Whether no more members are to be born from random orders."""
        if len(self.members) < 2:
            return False
        grown = self.horizon is not None and self.search.step - self._youth > _YOUTH * (self.horizon - self._youth)
        return grown or self._born >= self._size

    def harvest(self) -> None:
        """Put what the trajectory has found into the population."""
        self.take_in([Member(self.search.best_makespan, self.search.best_order_by_start())])

    def take_in(self, members: Sequence[Member]) -> None:
        """Put schedules into the population; when there are too many, some leave."""
        self._population.take_in(members)
        self._born = max(self._born, len(self.members))
        if len(self.members) > self._size:
            self._population.reduce(self._size, self._distance())

    def learn(self, member: Member) -> None:
        """Take in a schedule of somebody else, which may be the best."""
        self.take_in([member])
        self.best = min(self.best, member)

    def go_on_from(self, member: Member) -> None:
        """Begin there at once, unless the trajectory is annealed: too hot to stay near, it would leave it again."""
        if not self._cooling:
            self.search.start(member.order)

    def go_on_with(self, other: Island) -> None:
        """Take over the population of another island, and what it is planned for."""
        self._population, self.generation = other._population.copy(), other.generation
        self._born, self._youth = other._born, other._youth
        self.horizon, self._apart = other.horizon, other._apart

    def _distance(self) -> float:
        """How far from each other members must be by now."""
        if self._required is not None or self.horizon is None:
            return self._required or 0.0
        self._apart = self._apart or VARIETY * self._population.spread()
        return self._apart * max(0.0, 1 - self.search.step / self.horizon)

    def _has_converged(self) -> bool:
        return len(self.members) == self._size and len({member.makespan for member in self.members}) == 1
