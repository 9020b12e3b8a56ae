"""One run of CP-SAT in a thread of its own, so that somebody can watch the clock and the signals meanwhile."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from typing import Any

from integrations.cp_sat import backend
from l2s_plugin.errors import L2SError

Log = Callable[[str], None]
Values = Callable[[Any], int]  # the value of a variable in a solution

_STRONG: Mapping[str, Any] = {
    "linearization_level": 0,
    "use_dynamic_precedence_in_disjunctive": True,
    "use_strong_propagation_in_disjunctive": True,
}


def tuned(n_operations: int) -> Mapping[str, Any]:
    """Parameters that suit a model of that size.

    In small ones the linear relaxation, which sees nothing of disjunctions, only costs time, and all that the
    propagation of disjunctions can do pays off: ft10 is proven in a tenth of the time. At 20x20 the defaults find
    better schedules.
    """
    return _STRONG if n_operations <= 250 else {}


_STOP_AGAIN = 0.2  # seconds: CP-SAT does not hear a request to stop that comes before it has begun


class Attempt:
    """Solve a model in the background.

    Parameters
    ----------
    model
        A `CpModel`.
    seconds
        Time limit.
    workers, seed
        As CP-SAT understands them.
    options
        Further parameters of CP-SAT, by name.
    found
        Called with every solution, in CP-SAT's thread. What it raises ends the attempt and comes out of `finish`.
    bound
        Called with every better lower bound, likewise.
    log
        Called with every line of CP-SAT's log, likewise.
    """

    def __init__(
        self,
        model: Any,
        seconds: float,
        workers: int = 1,
        seed: int = 0,
        *,
        options: Mapping[str, Any] | None = None,
        found: Callable[[Values], None],
        bound: Callable[[float], None] | None = None,
        log: Log | None = None,
    ) -> None:
        cp_model = backend.load()
        self.status = "UNKNOWN"
        self._model = model
        self._error: BaseException | None = None
        self._found, self._bound = self._guarded(found), bound
        # plain assignments only: the parameters are a protobuf message in some versions, and not in others
        self._solver = cp_model.CpSolver()
        parameters = self._solver.parameters
        parameters.num_workers = workers
        parameters.random_seed = seed % 2**31
        parameters.max_time_in_seconds = max(seconds, 0.0)
        parameters.catch_sigint_signal = False  # the monitor of the run takes the signals
        parameters.log_search_progress = log is not None
        parameters.log_to_stdout = False
        for name, value in (options or {}).items():
            setattr(parameters, name, value)
        if log is not None:
            self._solver.log_callback = self._guarded(log)
        if bound is not None:
            self._solver.best_bound_callback = self._guarded(bound)
        self._callback = _solution_callback(cp_model, self._found)
        self._thread = threading.Thread(target=self._run, name="cp-sat", daemon=True)
        self._thread.start()

    @property
    def running(self) -> bool:
        return self._thread.is_alive()

    def wait(self, seconds: float) -> bool:
        """Wait for the end, at most that long; says whether it has come."""
        self._thread.join(seconds)
        return not self.running

    def stop(self) -> None:
        """End now, with what there is."""
        while self.running:
            self._solver.stop_search()
            self._thread.join(_STOP_AGAIN)

    def finish(self) -> str:
        """The status of an attempt that has ended; raises what a callback raised."""
        self._thread.join()
        if self._error is not None:
            raise self._error
        return self.status

    def _run(self) -> None:
        try:
            status = self._solver.solve(self._model, self._callback)
            self.status = str(self._solver.status_name(status))
            if self.status == "MODEL_INVALID":
                raise L2SError(f"CP-SAT refuses the model: {self._model.validate()}")
            if self.status in ("OPTIMAL", "FEASIBLE"):
                self._found(self._solver.value)
            if self.status != "INFEASIBLE" and self._bound is not None:
                self._bound(self._solver.best_objective_bound)
        except BaseException as error:
            self._error = self._error or error

    def _guarded(self, call: Callable[[Any], None]) -> Callable[[Any], None]:
        """Keep exceptions out of C++, which would end the process or lose them."""

        def guarded(value: Any) -> None:
            if self._error is not None:
                return
            try:
                call(value)
            except BaseException as error:
                self._error = error
                self._solver.stop_search()

        return guarded


def _solution_callback(cp_model: Any, found: Callable[[Values], None]) -> Any:
    class Callback(cp_model.CpSolverSolutionCallback):
        def on_solution_callback(self) -> None:
            found(self.value)

    return Callback()
