"""CP-SAT on its own: from a schedule to a better one, or to the proof that there is none."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any

from heuristics.configuration import FIRST_RULE, Configuration, run
from heuristics.hosts.trajectories import first_schedule
from heuristics.monitor import Listener, Monitor
from heuristics.result import Result
from integrations.cp_sat import backend
from integrations.cp_sat.attempt import Attempt, tuned
from integrations.cp_sat.incumbent import Incumbent
from integrations.cp_sat.model import JobShopModel
from integrations.cp_sat.options import (
    Log,
    WarmStart,
    check_log,
    check_parameters,
    check_warm_start,
    check_workers,
)
from l2s_plugin.instance import Instance, check_instance
from l2s_plugin.registry import Registry
from l2s_plugin.stop import Condition, Stop

_LOOK = 0.02  # seconds between two looks at the clock
_LATER = 0.1  # seconds: it is our clock that ends a run
_READING = (
    0.5  # CP-SAT reads a model in less than this part of the time that it took to build, and hears nothing meanwhile
)


def solve(
    instance: Instance,
    warm_start: WarmStart = None,
    time_limit: float | None = None,
    workers: int | None = None,
    seed: int = 0,
    stop: Stop | Condition | None = None,
    log: Log = None,
    *,
    parameters: Mapping[str, Any] | None = None,
    listener: Listener | None = None,
    registry: Registry | None = None,
    known_bounds: bool = True,
) -> Result:
    """Solve with CP-SAT, beginning with a given schedule.

    The result is never worse than `warm_start`, also when CP-SAT ends without a solution, and Ctrl-C gives the best
    schedule so far. Its `lower_bound` is the best of CP-SAT's and those known before.

    Parameters
    ----------
    instance
        What to schedule.
    warm_start
        A schedule, a result, or a file written by `Schedule.save`: CP-SAT gets it as a complete hint, and its makespan
        as the horizon. Without one CP-SAT begins with nothing; if it then finds nothing, the result is the schedule of
        a dispatching rule, and its history is empty.
    time_limit
        Seconds, with the time to build the model.
    workers
        Threads of CP-SAT; all cores when None. One worker has no large-neighbourhood search, two have.
    seed
        Settles CP-SAT's choices; two workers and more are not reproducible.
    stop
        Further limits: seconds, a target, or a condition. CP-SAT takes no steps.
    log
        True prints CP-SAT's log to standard error, a function is called with every line.
    parameters
        CP-SAT's own parameters by name, as in `{"linearization_level": 0}`.
    listener
        Called with an `Improvement` whenever a better schedule is found.
    known_bounds
        Whether to end at the literature's bound of a classic benchmark; CP-SAT itself is never told that bound.
    """
    check_instance(instance)
    way = Configuration(
        "cp-sat",
        initial=check_warm_start(instance, warm_start),
        stop=stop,
        time_limit=time_limit,
        seed=seed,
        workers=workers,
        parameters=parameters or {},
        log=log or False,
        known_bounds=known_bounds,
    )
    return run(instance, way, listener, registry)


def cp_sat_method(instance: Instance, way: Configuration, monitor: Monitor) -> Result:
    """What `cp-sat` names; it begins with the schedule or the dispatching rule given, or with nothing."""
    backend.load()
    workers, log, parameters = check_workers(way.workers), check_log(way.log), check_parameters(way.parameters)
    with monitor:
        incumbent = Incumbent(monitor)
        first = first_schedule(instance, way.initial or FIRST_RULE, way.seed, monitor.registry)
        with monitor.contained():
            if way.initial is not None:
                incumbent.offer(first)
            if not monitor.should_stop(0):
                _run(incumbent, first.makespan, workers, way.seed, parameters, log)
        return monitor.finish(incumbent.schedule or first, workers=workers, initial=way.initial)


def _run(
    incumbent: Incumbent,
    horizon: int,
    workers: int,
    seed: int,
    parameters: Mapping[str, Any],
    log: Callable[[str], None] | None,
) -> None:
    """Let CP-SAT improve the incumbent until it has the proof or the monitor says stop."""
    monitor = incumbent.monitor
    begin = monitor.seconds
    try:
        model = JobShopModel(monitor.instance, horizon, monitor.proven, out_of_time=monitor.out_of_time)
        if incumbent.schedule is not None:
            model.hint(incumbent.schedule)
        if monitor.left < _READING * (monitor.seconds - begin):
            raise TimeoutError
    except TimeoutError:
        while not monitor.should_stop(0):
            time.sleep(_LOOK)
        return
    while not monitor.should_stop(0):  # CP-SAT may give up a moment before its time, which is not before ours
        attempt = Attempt(
            model.model,
            monitor.left + _LATER,
            workers,
            seed,
            options={**tuned(monitor.instance.n_operations), **parameters},
            found=lambda values: incumbent.offer_solution(model.schedule(values)),
            bound=incumbent.raise_bound,
            log=log,
        )
        try:
            while not attempt.wait(_LOOK) and not monitor.should_stop(0):
                pass
        finally:
            attempt.stop()
        attempt.finish()
        if parameters and not monitor.should_stop(0):  # with a limit of their own
            monitor.stopped_by = "CP-SAT"
