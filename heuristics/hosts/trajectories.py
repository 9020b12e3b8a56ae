"""One trajectory: local search takes the selected move again and again, tabu search does not go back at once."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Any, Unpack

import numpy as np
from numpy.typing import NDArray

from heuristics.configuration import FIRST_RULE, Configuration, Options, run
from heuristics.hosts.dispatching import dispatch
from heuristics.loop import kernels
from heuristics.loop.memory import Memory
from heuristics.loop.search import Search, selector_for
from heuristics.monitor import Listener, Monitor, Pace
from heuristics.result import Result
from l2s_plugin.bounds import lower_bound
from l2s_plugin.errors import ScheduleError
from l2s_plugin.instance import Instance
from l2s_plugin.registry import Registry
from l2s_plugin.schedule import Schedule
from l2s_plugin.stop import Condition, Stop

LOCAL_SEARCH = "local-search"


def local_search(
    instance: Instance,
    selector: Any = None,
    neighbourhood: Any = None,
    *,
    stop: Stop | Condition | None = None,
    listener: Listener | None = None,
    registry: Registry | None = None,
    **options: Unpack[Options],
) -> Result:
    """Improve a schedule move by move, whatever move the selector picks (`best-improvement` in `n5` unless given).

    A selector that refuses all moves (as `best-improvement` does in a local optimum) makes the search restart from
    one of the `recent` latest schedules, with a random move first: the selector would only go the same way again. A
    schedule without moves ends it.

    Options: `time_limit`, `seed`, `initial`, `policy`, `forbid_undo`, `recent`, `annealing`, `gear`, `known_bounds`:
    see `Configuration`. `listener` is called with an `Improvement` whenever a better schedule is found.
    """
    way = Configuration(LOCAL_SEARCH, selector, neighbourhood, stop=stop, **options)
    return run(instance, way, listener, registry)


def tabu_search(
    instance: Instance,
    selector: Any = None,
    neighbourhood: Any = None,
    *,
    stop: Stop | Condition | None = None,
    listener: Listener | None = None,
    registry: Registry | None = None,
    **options: Unpack[Options],
) -> Result:
    """Follow one tabu search trajectory (`estimate` in `n7` unless given).

    The host keeps the memory (the arcs a move reverses may not be reversed back for a number of steps drawn from
    `tenure`), allows a forbidden move that promises a new incumbent, and takes any move when all are forbidden.
    Any selector picks among what is admissible. `tabu_search(instance, "greedy", "n5", ...)` is the paper's TSN5.

    Options: `time_limit`, `seed`, `initial`, `policy`, `tenure`, `gear`, `known_bounds`; see `Configuration`.
    """
    return run(instance, Configuration("tabu", selector, neighbourhood, stop=stop, **options), listener, registry)


def with_parts(way: Configuration, registry: Registry | None) -> Configuration:
    """With what the trajectory's host chooses where the user did not, and the selector in place of its name."""
    local = way.method == LOCAL_SEARCH
    way = local_defaults(way) if local else tabu_defaults(way)
    return replace(way, selector=selector_for(LOCAL_SEARCH if local else "tabu", way.selector, registry))


def local_defaults(way: Configuration) -> Configuration:
    """With what a local search chooses where the user did not."""
    return way.filled(selector="best-improvement", neighbourhood="n5", initial=FIRST_RULE)


def tabu_defaults(way: Configuration) -> Configuration:
    """With what tabu searches choose where the user did not."""
    return way.filled(selector="estimate", neighbourhood="n7", initial=FIRST_RULE)


def memory_for(way: Configuration, instance: Instance) -> Memory:
    """The memory of a local search or a tabu search over one instance."""
    if way.method != LOCAL_SEARCH:
        return tabu_memory(instance, way.tenure)
    forbid_undo = getattr(way.selector, "forbid_undo", False) if way.forbid_undo is None else way.forbid_undo
    return Memory(tenure=(1, 1) if forbid_undo else (0, 0), recent=way.recent, annealing=way.annealing)


def default_tenure(instance: Instance) -> tuple[int, int]:
    """Steps that a reversed arc stays forbidden: 0.8 (10 + jobs / machines), and half as much again at most.

    The form is that of Zhang et al. (2007); the factor was measured on the Taillard groups (benchmarks/search.py).
    """
    base = 0.8 * (10 + instance.n_jobs / instance.n_machines)
    return int(base), int(1.5 * base)


def tabu_memory(instance: Instance, tenure: tuple[int, int] | None = None) -> Memory:
    """The memory of a tabu search over one instance."""
    low, high = tenure or default_tenure(instance)
    return Memory("tabu", tenure=(int(low), int(high)), aspiration=True, wait=False)


def first_schedule(
    instance: Instance, initial: str | Schedule | Result, seed: int, registry: Registry | None = None
) -> Schedule:
    """The schedule to start from: of a dispatching rule, or a given one, which is checked."""
    if isinstance(initial, Result):
        initial = initial.schedule
    if not isinstance(initial, Schedule):
        return dispatch(instance, initial, seed, registry)
    if initial.instance != instance:
        raise ScheduleError(f"the initial schedule belongs to {initial.instance!r}, not to {instance!r}")
    initial.verify()
    return initial


def first_order(*given: Any) -> NDArray[np.uint32]:
    """The same as a linear order."""
    return first_schedule(*given).linear_order.astype(np.uint32)


@cache
def compile_kernels() -> None:
    """Compile, or load, what a run needs from its clock's start to its first step: no limit is spent on that."""
    tiny = Instance.from_jobs([[(0, 1)]])
    Search(tiny, "n7", "estimate", Memory(tenure=(1, 1))).start(dispatch(tiny).linear_order)
    lower_bound(tiny)


def follow(instance: Instance, way: Configuration, monitor: Monitor) -> Result:
    """What `local-search` and `tabu` name: one trajectory from a first schedule until the stop."""
    compile_kernels()
    stop, way = monitor.stop, with_parts(way, monitor.registry)
    memory = memory_for(way, instance)
    search = Search(instance, way.neighbourhood, way.selector, memory, way.seed, way.gear, monitor.registry)
    with monitor:
        search.start(first_order(instance, way.initial, way.seed, monitor.registry))
        monitor.watch(search)
        pace = Pace()
        with monitor.contained():
            while True:
                monitor.note(search)
                if monitor.should_stop(search.step):
                    break
                until = search.step + pace.next()
                if stop.steps is not None:
                    until = min(until, stop.steps)
                reason = search.run(until, monitor.target, stop.no_improvement)
                if reason in (kernels.ABSORBED, kernels.REFUSED):
                    monitor.stopped_by = "no moves"
        monitor.note(search)
        return monitor.finish(search.best_order, search.step, search=search, initial=way.initial)
