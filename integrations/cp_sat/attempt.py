"""One run of CP-SAT in a thread of its own, so that clock and signals are watched, and who keeps what it finds."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import partial
from threading import Lock, Thread
from typing import Any

from heuristics.monitor import Monitor
from heuristics.result import CP_SAT
from integrations.cp_sat import backend
from integrations.cp_sat.model import JobShopModel, Window
from l2s_plugin.errors import L2SError
from l2s_plugin.schedule import Schedule

_LOOK = 0.02  # seconds between two looks at the clock
_STOP_AGAIN = 0.2  # seconds: CP-SAT does not hear a request to stop that comes before it has begun
# In small models the linear relaxation, which sees nothing of disjunctions, only costs time, and all that the
# propagation of disjunctions can do pays off: ft10 is proven in a tenth of the time. At 20x20 the defaults find more.
_SMALL = 250  # operations
_STRONG: Mapping[str, Any] = {
    "linearization_level": 0,
    "use_dynamic_precedence_in_disjunctive": True,
    "use_strong_propagation_in_disjunctive": True,
}


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
    cp_model = backend.load()
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
    statuses: list[Any] = []
    run = partial(guarded, lambda callback: statuses.append(solver.solve(model.model, callback)), Callback())
    thread = Thread(target=run, name="cp-sat", daemon=True)
    thread.start()
    try:
        while thread.is_alive() and not over():
            thread.join(_LOOK)
    finally:
        while thread.is_alive():
            solver.stop_search()
            thread.join(_STOP_AGAIN)
    if errors:
        raise errors[0]
    status = str(solver.status_name(statuses[0]))
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

    def offer_solution(self, schedule: Schedule) -> None:
        """Keep what CP-SAT has found, everything moved to the left, which is now and then shorter than it reported."""
        self.offer(Schedule.from_order(schedule.instance, schedule.order))

    def offer(self, schedule: Schedule) -> None:
        """Keep a schedule if it is the best so far."""
        with self._lock:
            if self.schedule is None or schedule.makespan < self.schedule.makespan:
                self.schedule = schedule
                self.monitor.record(self.step, schedule.makespan)

    def raise_bound(self, bound: float) -> None:
        """Believe a bound that CP-SAT has proven; it is given as a float."""
        if math.isfinite(bound):
            self.monitor.prove(math.ceil(bound - 1e-6), CP_SAT)
