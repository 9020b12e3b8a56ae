"""CP-SAT on its own: from a schedule to a better one, or to the proof that there is none.

It runs in a thread of its own, so that clock and signals are watched.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor, wait
from functools import partial
from threading import Lock
from typing import Any, Unpack

from heuristics.configuration import FIRST_RULE, Configuration, Options, run
from heuristics.hosts.trajectories import first_schedule
from heuristics.monitor import Listener, Monitor
from heuristics.result import CP_SAT, Result
from integrations.cp_sat.model import JobShopModel, Window
from integrations.cp_sat.options import WarmStart, beginning, check_options
from integrations.libraries import ortools
from l2s_plugin.errors import L2SError
from l2s_plugin.instance import Instance
from l2s_plugin.registry import Registry
from l2s_plugin.schedule import Schedule
from l2s_plugin.stop import Condition, Stop

_LATER = 0.1  # seconds: it is our clock that ends a run
_READING = 0.5  # of the time to build a model: CP-SAT reads it in less, and hears nothing meanwhile
_LOOK = 0.02  # seconds between two looks at the clock
_STOP_AGAIN = 0.2  # seconds: CP-SAT does not hear a request to stop that comes before it has begun
# In small models the linear relaxation, which sees nothing of disjunctions, only costs time, and all that the
# propagation of disjunctions can do pays off: ft10 is proven in a tenth of the time. At 20x20 the defaults find more.
_SMALL = 250  # operations
_STRONG = {
    "linearization_level": 0,
    "use_dynamic_precedence_in_disjunctive": True,
    "use_strong_propagation_in_disjunctive": True,
}


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
    way = Configuration("cp-sat", stop=stop, **options)
    return run(instance, beginning(way, instance, warm_start), listener, registry)


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
                _run(incumbent, first.length, workers=workers, seed=way.seed, **options)
        return monitor.finish(incumbent.schedule or first, workers=workers, initial=way.initial)


def _run(incumbent: Incumbent, horizon: int, **options: Any) -> None:
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
        incumbent.attempt(model, monitor.left + _LATER, lambda: monitor.should_stop(0), **options)
        if options["parameters"] and not monitor.should_stop(0):  # with a limit of their own
            monitor.stopped_by = "CP-SAT"


def attempt(
    model: JobShopModel | Window,
    seconds: float,
    found: Callable[[Schedule], None],
    bound: Callable[[float], None] | None = None,
    over: Callable[[], bool] = lambda: False,
    *,
    workers: int = 1,
    seed: int = 0,
    parameters: Mapping[str, Any] | None = None,
    log: Callable[[str], None] | None = None,
) -> str:
    """Solve a model, until `over` says so at the latest; returns CP-SAT's status.

    CP-SAT's thread calls `found` with every solution, `bound` with every better lower bound, and `log` with every line.
    What they raise ends the attempt and comes out of it.
    """
    cp_model = ortools()
    solver = cp_model.CpSolver()
    errors: list[BaseException] = []

    def guarded(call: Callable[[Any], Any], value: Any) -> None:
        """Keep exceptions out of C++, which would end the process or lose them."""
        if not errors:
            try:
                call(value)
            except BaseException as error:
                errors.append(error)
                solver.stop_search()

    class Callback(cp_model.CpSolverSolutionCallback):  # type: ignore[name-defined]
        def on_solution_callback(self) -> None:
            guarded(lambda value: found(model.schedule(value)), self.value)

    # plain assignments only: the parameters are a protobuf message in some versions, and not in others
    solver.parameters.num_workers = workers
    solver.parameters.random_seed = seed % 2**31
    solver.parameters.max_time_in_seconds = max(seconds, 0.0)
    solver.parameters.catch_sigint_signal = False  # the monitor of the run takes the signals
    solver.parameters.log_search_progress = log is not None
    solver.parameters.log_to_stdout = False
    ours = _STRONG if len(model.start) <= _SMALL else {}
    for name, value in {**ours, **(parameters or {})}.items():
        setattr(solver.parameters, name, value)
    if log is not None:
        solver.log_callback = partial(guarded, log)
    if bound is not None:
        solver.best_bound_callback = partial(guarded, bound)
    with ThreadPoolExecutor(1, "cp-sat") as pool:
        solution = pool.submit(solver.solve, model.model, Callback())
        try:
            while not solution.done() and not over():
                wait([solution], _LOOK)
        finally:
            while not solution.done():
                solver.stop_search()
                wait([solution], _STOP_AGAIN)
    if errors:
        raise errors[0]
    status = str(solver.status_name(solution.result()))
    if status == "MODEL_INVALID":
        raise L2SError(f"CP-SAT refuses the model: {model.model.validate()}")
    if status in ("OPTIMAL", "FEASIBLE"):
        found(model.schedule(solver.value))
    if status != "INFEASIBLE" and bound is not None:
        bound(solver.best_objective_bound)
    return status


class Incumbent:
    """Takes schedules and bounds from any thread; the monitor writes the history and sees when they meet."""

    def __init__(self, monitor: Monitor) -> None:
        self.monitor = monitor
        self.schedule: Schedule | None = None
        self.step = 0  # what the search had taken when it was asked last
        self._lock = Lock()

    def attempt(self, model: JobShopModel, seconds: float, over: Callable[[], bool], **options: Any) -> None:
        """Let CP-SAT improve on the incumbent, or prove that nothing is better."""

        def found(schedule: Schedule) -> None:  # moved to the left, it is now and then shorter than CP-SAT reported
            self.offer(Schedule.from_order(schedule.instance, schedule.order))

        attempt(model, seconds, found, self.raise_bound, over, **options)

    def offer(self, schedule: Schedule) -> None:
        """Keep a schedule if it is the best so far."""
        with self._lock:
            if self.schedule is None or schedule.length < self.schedule.length:
                self.schedule = schedule
                self.monitor.record(self.step, schedule.length)

    def raise_bound(self, bound: float) -> None:
        """Believe a bound that CP-SAT has proven; it is given as a float."""
        if math.isfinite(bound):
            self.monitor.prove(math.ceil(bound - 1e-6), CP_SAT)
