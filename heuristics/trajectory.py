"""What local search and tabu search share: follow one trajectory from a first schedule until the stop."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from heuristics import kernels
from heuristics.dispatching import dispatch
from heuristics.memory import Memory
from heuristics.monitor import Listener, Monitor, Pace, SearchError
from heuristics.result import Result
from heuristics.search import Search
from l2s_plugin.bounds import lower_bound
from l2s_plugin.errors import ScheduleError, whole_number
from l2s_plugin.instance import Instance
from l2s_plugin.registry import Registry
from l2s_plugin.schedule import Schedule
from l2s_plugin.stop import Condition, Stop, ending

__all__ = ["SearchError", "check_seed", "first_order", "follow"]


def first_order(
    instance: Instance, initial: str | Schedule | Result, seed: int, registry: Registry | None
) -> NDArray[np.int32]:
    """The linear order to start from: of a dispatching rule, or of a given schedule, which is checked."""
    if isinstance(initial, Result):
        initial = initial.schedule
    if not isinstance(initial, Schedule):
        return dispatch(instance, initial, seed, registry=registry).linear_order
    if initial.instance != instance:
        raise ScheduleError(f"the initial schedule belongs to {initial.instance!r}, not to {instance!r}")
    initial.verify()
    return initial.linear_order


def check_seed(seed: Any) -> int:
    """Seeds are whole numbers from 0 on."""
    return whole_number("seed", seed)


@cache
def compile_kernels() -> None:
    """Compile, or load, what a run needs from its clock's start to its first step: no limit is spent on that."""
    tiny = Instance.from_jobs([[(0, 1)]])
    Search(tiny, "n7", "estimate", Memory(tenure=(1, 1))).start(dispatch(tiny).linear_order)
    lower_bound(tiny)


def follow(
    method: str,
    instance: Instance,
    neighbourhood: Any,
    selector: Any,
    memory: Memory,
    initial: str | Schedule | Result,
    stop: Stop | Condition | None,
    seed: int,
    gear: str | None,
    listener: Listener | None,
    registry: Registry | None,
    known_bounds: bool,
    time_limit: float | None,
) -> Result:
    """Run one trajectory; the parameters are those of the hosts."""
    stop, seed = ending(stop, time_limit), check_seed(seed)
    compile_kernels()
    search = Search(instance, neighbourhood, selector, memory, seed, gear, registry)
    with Monitor(instance, stop, listener, registry, known_bounds) as monitor:
        search.start(first_order(instance, initial, seed, registry))
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
        return monitor.finish(method, search, search.best_order, seed, search.step, initial=initial)
