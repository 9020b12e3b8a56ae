"""CP-SAT on its own: from a schedule to a better one, or to the proof that there is none."""

from __future__ import annotations

from typing import Any, Unpack

from heuristics.configuration import FIRST_RULE, Configuration, Options, run
from heuristics.hosts.trajectories import first_schedule
from heuristics.monitor import Listener, Monitor
from heuristics.result import Result
from integrations.cp_sat.attempt import Incumbent, attempt
from integrations.cp_sat.model import JobShopModel
from integrations.cp_sat.options import WarmStart, check_options, check_warm_start
from l2s_plugin.instance import Instance
from l2s_plugin.registry import Registry
from l2s_plugin.stop import Condition, Stop

_LATER = 0.1  # seconds: it is our clock that ends a run
_READING = 0.5  # of the time to build a model: CP-SAT reads it in less, and hears nothing meanwhile


def solve(
    instance: Instance,
    warm_start: WarmStart = None,
    *,
    stop: Stop | Condition | None = None,
    listener: Listener | None = None,
    registry: Registry | None = None,
    **options: Unpack[Options],
) -> Result:
    """Solve with CP-SAT, beginning with a given schedule.

    The result is never worse than `warm_start`, also when CP-SAT ends without a solution, and Ctrl-C gives the best
    schedule so far. Its `lower_bound` is the best of CP-SAT's and those known before; CP-SAT itself is never told a
    bound from the literature.

    Parameters
    ----------
    warm_start
        A schedule, a result, or a file written by `Schedule.save`: CP-SAT gets it as a complete hint, and its makespan
        as the horizon. Without one CP-SAT begins with nothing; if it then finds nothing, the result is the schedule of
        a dispatching rule, and its history is empty.
    stop
        Seconds, a target, or a condition. CP-SAT takes no steps.
    options
        `time_limit` (with the time to build the model), `parameters`, `log`, `known_bounds`, `seed` (two workers and
        more are not reproducible) and `workers`: threads of CP-SAT, all cores when None. One worker has no
        large-neighbourhood search, two have. See `heuristics.Configuration`.
    """
    options.update(check_warm_start(instance, warm_start))  # type: ignore[typeddict-item]
    return run(instance, Configuration("cp-sat", stop=stop, **options), listener, registry)


def cp_sat_method(instance: Instance, way: Configuration, monitor: Monitor) -> Result:
    """What `cp-sat` names; it begins with the schedule or the dispatching rule given, or with nothing."""
    workers, options = check_options(way)
    with monitor:
        incumbent = Incumbent(monitor)
        first = first_schedule(instance, way.initial or FIRST_RULE, way.seed, monitor.registry)
        with monitor.contained():
            if way.initial is not None:
                incumbent.offer(first)
            if not monitor.should_stop(0):
                _run(incumbent, first.makespan, workers, options)
        return monitor.finish(incumbent.schedule or first, workers=workers, initial=way.initial)


def _run(incumbent: Incumbent, horizon: int, workers: int, options: dict[str, Any]) -> None:
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
        monitor.stopped_by = monitor.stopped_by or "seconds"
    while not monitor.should_stop(0):  # CP-SAT may give up a moment before its time, which is not before ours
        attempt(
            model,
            monitor.left + _LATER,
            incumbent.offer_solution,
            incumbent.raise_bound,
            over=lambda: monitor.should_stop(0),
            workers=workers,
            seed=monitor.way.seed,
            **options,
        )
        if options["parameters"] and not monitor.should_stop(0):  # with a limit of their own
            monitor.stopped_by = "CP-SAT"
