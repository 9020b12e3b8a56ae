"""Many searches - instances x configurations x seeds - here or on a cluster, and the best of what they find."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cache
from operator import attrgetter
from pathlib import Path
from typing import Any

from heuristics.configuration import Configuration, Method, run
from heuristics.monitor import SearchError
from heuristics.result import Result
from heuristics.workers.stream import TRIES, Executors, Outcome, stream
from l2s_plugin.errors import L2SError, unknown_name, whole_number
from l2s_plugin.instance import Instance
from l2s_plugin.loader import load
from l2s_plugin.registry import default_registry
from l2s_plugin.schedule import Schedule
from l2s_plugin.specs import SelectorSpec
from l2s_plugin.stop import Stop, ending


@dataclass(frozen=True)
class Task:
    """One search: small, and all that a worker needs to know."""

    instance: Instance
    configuration: Configuration

    def __str__(self) -> str:
        return f"{self.instance.name}, {self.configuration}, seed {self.configuration.seed}"


@dataclass(frozen=True)
class Run:
    """What became of a task: `result`, or else `error`, a line, and `details` if the cause lies deeper.

    Both, where a part failed in the middle of a search: `result` is what was found before.
    """

    instance: Instance
    configuration: Configuration
    result: Result | None
    error: str | None = None
    details: str = ""
    tries: int = 1

    @property
    def seed(self) -> int:
        return self.configuration.seed


class Portfolio:
    """Searches under way; iterate over it to get each `Run` as it finishes, in any order.

    Attributes
    ----------
    runs
        What has finished so far.
    interrupted
        Whether Ctrl-C ended the iteration early.
    """

    def __init__(self, tasks: list[Task], outcomes: Iterator[Outcome]) -> None:
        self.runs: list[Run] = []
        self.interrupted = False
        self._tasks = tasks
        self._outcomes = outcomes

    def __len__(self) -> int:
        """The number of searches, finished or not."""
        return len(self._tasks)

    def __iter__(self) -> Iterator[Run]:
        return self

    def __next__(self) -> Run:
        try:
            outcome = next(self._outcomes)
        except KeyboardInterrupt:
            self.interrupted = True
            raise StopIteration from None
        self.runs.append(_run_of(outcome))
        return self.runs[-1]

    def wait(self) -> Portfolio:
        """Let all searches finish, or as many as Ctrl-C allows."""
        for _ in self:
            pass
        return self

    @property
    def results(self) -> list[Result]:
        """In the order in which they finished."""
        return [run.result for run in self.runs if run.result is not None]

    @property
    def failures(self) -> list[Run]:
        """The runs that have an error."""
        return [run for run in self.runs if run.error is not None]

    @property
    def best(self) -> Result | None:
        """The best result so far; see `best_of` when there are several instances."""
        if any(task.instance != self._tasks[0].instance for task in self._tasks):
            raise L2SError("this portfolio has several instances; ask for best_of(instance)")
        return self.best_of(self._tasks[0].instance)

    def best_of(self, instance: Instance | str) -> Result | None:
        """The best result so far for an instance (or the name of one), the first of equals."""
        known = {task.instance.name: task.instance for task in self._tasks}
        if instance not in known and instance not in known.values():
            raise unknown_name("instance of this portfolio", str(instance), known)
        found = [result for result in self.results if instance in (result.instance, result.instance.name)]
        return min(found, key=attrgetter("makespan"), default=None)

    def __repr__(self) -> str:
        return f"Portfolio({len(self.runs)} of {len(self)} finished, {len(self.failures)} failed)"


def portfolio(
    instances: Instance | str | Iterable[Instance | str],
    configurations: Configuration | str | Method | Iterable[Configuration | str | Method],
    seeds: int | Iterable[int] = 0,
    executor: Executors = None,
    *,
    stop: Stop | None = None,
    time_limit: float | None = None,
    tries: int = TRIES,
) -> Portfolio:
    """Search every instance with every configuration and every seed.

    The searches begin with the first step of the iteration:

    >>> for run in portfolio("ta41", ["memetic", "hybrid"], seeds=range(4), time_limit=30):  # doctest: +SKIP
    ...     print(run.configuration, run.result.makespan)

    Parameters
    ----------
    instances
        Instances, benchmark names or files, or a single one.
    configurations
        Configurations, methods, or a single one.
    seeds
        Seeds, or a single one.
    executor
        Any `concurrent.futures.Executor`, which stays open, or a function that makes one, called again when it breaks;
        a process per core of this machine when None.
    stop, time_limit
        For the configurations that have none of their own.
    tries
        How often a search is begun at most, if workers die under it.
    """
    chosen = [_instance(each) for each in _several(instances)]
    common = stop if time_limit is None else ending(stop, time_limit)
    ways = [_checked(each, common) for each in _several(configurations)]
    numbers = [whole_number("seed", seed) for seed in _several(seeds)]
    tasks = [Task(instance, replace(way, seed=seed)) for instance in chosen for way in ways for seed in numbers]
    if not tasks:
        raise L2SError("a portfolio needs at least one instance, one configuration and one seed")
    return Portfolio(tasks, stream(run_task, tasks, executor, tries=tries))


def _several(given: Any) -> list[Any]:
    return list(given) if isinstance(given, Iterable) and not isinstance(given, str) else [given]


def _instance(given: Any) -> Instance:
    if isinstance(given, Instance):
        return given
    if not isinstance(given, str | Path):
        raise L2SError(f"expected an Instance, a name or a file, got {given!r}")
    return load(given)


def _checked(given: Configuration | str | Method, stop: Stop | None) -> Configuration:
    """A configuration for one core, with a stop; what a worker would refuse is refused here, before anything starts."""
    way = given if isinstance(given, Configuration) else Configuration(given)
    if way.takes("workers"):
        way = way.filled(workers=1)
    return way.filled(stop=stop).checked()


def run_task(task: Task) -> tuple[Result, str | None]:
    """In a worker: what a search found, without the instance (known where the task came from), and its error."""
    error = None
    try:
        result = run(task.instance, with_selectors(task.configuration))
    except SearchError as failure:
        result, error = failure.result, f"{task}: {failure}"
    except L2SError as failure:
        raise L2SError(f"{task}: {failure}") from failure
    schedule: Any = result.schedule.order, result.schedule.start
    return replace(result, schedule=schedule), error


def _run_of(outcome: Outcome) -> Run:
    task: Task = outcome.task
    result, error = (None, outcome.error) if outcome.error is not None else outcome.value
    if result is not None:
        result = replace(result, schedule=Schedule(task.instance, *result.schedule))
    return Run(task.instance, task.configuration, result, error, outcome.details, outcome.tries)


def with_selectors(way: Configuration) -> Configuration:
    """In a worker: with learned selectors in place of their names; the network is kept for the next tasks."""
    names = {part: getattr(way, part) for part in ("selector", "polisher") if way.takes(part)}
    return replace(way, **{part: _selector(name) for part, name in names.items() if isinstance(name, str)})


def _selector(name: str) -> Any:
    file = Path(name.partition(":")[2])
    return _learned(name, file.stat().st_mtime_ns if file.is_file() else 0) or name


@cache
def _learned(name: str, version: int) -> Any:
    """A learned selector, or None: others may keep something of a search, and are made anew for each."""
    selector = default_registry().create(SelectorSpec, name)
    return selector if hasattr(selector, "policy") else None
