"""OR-Tools' own local search (pywrapcp) with our moves: a selector ranks them, a metaheuristic of OR-Tools decides.

A small adapter to compare with and to learn from, not an engine: every neighbour goes through the constraint solver
and back through Python, which allows about a thousand of them per second at 30x20, where the compiled search takes
hundreds of thousands of steps. pywrapcp has its traps, and this module knows them: an exception in a callback ends the
process, so nothing may leave one; objects that C++ still uses may not be collected, so they are held here; an operator
that offers a single neighbour ends a tabu search at once, so all moves are offered, the selector's favourite first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any, Unpack

import numpy as np
from numpy.typing import NDArray

from heuristics.configuration import FIRST_RULE, Configuration, Options, run
from heuristics.hosts.trajectories import first_schedule
from heuristics.loop import kernels
from heuristics.loop.memory import Memory
from heuristics.loop.search import PYTHON, Search, compiled_form
from heuristics.monitor import Listener, Monitor
from heuristics.result import Result
from integrations.cp_sat import backend
from l2s_plugin.errors import unknown_name
from l2s_plugin.evaluator import Evaluator
from l2s_plugin.instance import Instance
from l2s_plugin.registry import Registry, default_registry
from l2s_plugin.schedule import Schedule
from l2s_plugin.specs import SelectorSpec
from l2s_plugin.stop import Condition, Stop

METHOD = "ortools-local-search"
METAHEURISTICS = ("tabu", "annealing", "guided", "descent")

Order = NDArray[Any]


def ortools_local_search(
    instance: Instance,
    selector: Any = None,
    neighbourhood: Any = None,
    *,
    metaheuristic: str = METAHEURISTICS[0],
    stop: Stop | Condition | None = None,
    listener: Listener | None = None,
    registry: Registry | None = None,
    **options: Unpack[Options],
) -> Result:
    """Improve a schedule with OR-Tools' LocalSearchPhase, on moves that a selector has ranked (`estimate` in `n5`).

    Selector and neighbourhood say which moves exist, and in which order OR-Tools gets to see them. A step is a
    neighbour that OR-Tools has looked at.

    Parameters
    ----------
    metaheuristic
        `"tabu"` (TabuSearch), `"annealing"` (SimulatedAnnealing), `"guided"` (GuidedLocalSearch), or `"descent"`.
        OR-Tools ends a tabu search when all moves of a schedule are tabu, which is soon in small neighbourhoods.
    options
        `time_limit`, `seed`, `initial`, `policy`, `known_bounds`; see `heuristics.Configuration`.
    """
    way = Configuration(f"{METHOD}:{metaheuristic}", selector, neighbourhood, stop=stop, **options)
    return run(instance, way, listener, registry)


def ortools_method(instance: Instance, way: Configuration, monitor: Monitor) -> Result:
    """What `ortools-local-search` names; the text after a colon is the metaheuristic."""
    metaheuristic = way.argument or METAHEURISTICS[0]
    if metaheuristic not in METAHEURISTICS:
        raise unknown_name("metaheuristic", metaheuristic, METAHEURISTICS)
    way = way.filled(selector="estimate", neighbourhood="n5", initial=FIRST_RULE)
    ranking = Ranking(instance, way.selector, way.neighbourhood, way.seed, monitor.registry)
    with monitor:
        first = first_schedule(instance, way.initial, way.seed, monitor.registry)
        search = _Run(ranking, first, monitor)
        search.solve(metaheuristic)
        best = Schedule.from_order(instance, search.best_order)
        return monitor.finish(best, search.steps, search=ranking.search, method=METHOD, initial=way.initial)


class Ranking:
    """The moves of a schedule, the selector's favourite first."""

    def __init__(
        self, instance: Instance, selector: Any, neighbourhood: Any, seed: int, registry: Registry | None
    ) -> None:
        selector = (registry or default_registry()).create(SelectorSpec, selector)
        form = compiled_form(selector)
        if form is not None and form.values == "smallest":
            selector = replace(form, values="estimate")  # all values count, not only the smallest
        self.search = Search(instance, neighbourhood, selector, Memory(), seed, PYTHON, registry)

    def moves(self, linear_order: Order) -> list[tuple[int, int, bool]]:
        """(u, v, forward) of every move; those that the selector refuses are left out."""
        search = self.search
        search.start(linear_order)
        reason = search.list_candidates()
        if reason is not None:
            search.check_contract(reason)
            return []
        u, v, forward = (column.tolist() for column in search.candidates()[:3])
        return [(u[row], v[row], bool(forward[row])) for row in self._ranked(len(u))]

    def _ranked(self, count: int) -> list[int]:
        search, selection = self.search, self.search.selection
        if selection.score is not None:
            scores = search.record.scores[:count]
            kernels.score_moves(selection.score, search.state, search.moves, count, selection.parameters, scores)
        elif hasattr(search.selector, "score_moves"):
            scores = np.asarray(search.selector.score_moves(search.view, search.candidates()), float)
        else:
            return list(self._choices(list(range(count))))
        if np.isnan(scores).any():
            search.check_contract(kernels.BAD_SCORE)
        return [row for row in np.argsort(-scores, kind="stable").tolist() if scores[row] > -np.inf]

    def _choices(self, rest: list[int]) -> Iterator[int]:
        """What the selector picks, one after the other."""
        search = self.search
        while rest:
            choice = search.selector.select(search.view, search.moves.rows(rest), search.rng)
            if choice is None:
                return
            yield rest.pop(int(choice))


class _Run:
    """One search of pywrapcp: a rank variable per operation, and the makespan, which a decision builder computes."""

    def __init__(self, ranking: Ranking, first: Schedule, monitor: Monitor) -> None:
        self.pywrapcp = backend.load("ortools.constraint_solver.pywrapcp")
        self.instance = first.instance
        self.ranking = ranking
        self.monitor = monitor
        self.best_order: Order = first.order
        self.steps = 0
        self._first = first
        self._error: BaseException | None = None
        self._solver = self.pywrapcp.Solver("l2s")
        lengths = np.diff(self.instance.machine_offset)[self.instance.machine].tolist()
        self.ranks = [self._solver.IntVar(0, length - 1, f"rank{x}") for x, length in enumerate(lengths)]
        self.makespan = self._solver.IntVar(0, int(self.instance.duration.sum()), "makespan")
        monitor.record(0, first.makespan)

    def solve(self, metaheuristic: str) -> None:
        """Search until the monitor says stop; raises what a callback raised."""
        solver = self._solver
        operator = _operator(self)
        evaluate = _decision_builder(self.pywrapcp, self.evaluate)
        first = _decision_builder(self.pywrapcp, self.begin)
        objective = self._objective(metaheuristic)
        limit = solver.CustomLimit(self.is_over)
        parameters = solver.LocalSearchPhaseParameters(self.makespan, operator, evaluate)
        phase = solver.LocalSearchPhase(self.ranks, first, parameters)
        held = (operator, evaluate, first, objective, limit, parameters, phase)  # C++ does not own them
        if not self.is_over():
            solver.Solve(phase, [objective, limit])
        del held
        if self._error is not None:
            raise self._error
        if not self.monitor.should_stop(self.steps):
            self.monitor.stopped_by = "no moves"

    def _objective(self, metaheuristic: str) -> Any:
        solver, ranks, makespan = self._solver, self.ranks, self.makespan
        if metaheuristic == "tabu":
            return solver.TabuSearch(False, makespan, 1, ranks, 0, 5, 1.0)  # forbid the ranks of the last five moves
        if metaheuristic == "annealing":
            return solver.SimulatedAnnealing(False, makespan, 1, max(1, int(self.instance.duration.mean())))
        if metaheuristic == "guided":
            return solver.GuidedLocalSearch(False, makespan, self._costs, 1, ranks, 0.1)
        return solver.Minimize(makespan, 1)

    def _costs(self, index: int, value: int) -> int:
        return int(self.instance.duration[index])  # what to penalise: long operations that never move

    def is_over(self) -> bool:
        return self._error is not None or self.guarded(lambda: self.monitor.should_stop(self.steps), True)

    def order(self, rank: NDArray[Any]) -> Order:
        """The flat machine orders behind the ranks."""
        return np.lexsort((rank, self.instance.machine)).astype(np.int32)

    def begin(self) -> None:
        """Bind all variables to the first schedule."""
        for row in self._first.machine_orders:
            for rank, operation in enumerate(row.tolist()):
                self.ranks[operation].SetValue(rank)
        self.makespan.SetValue(self._first.makespan)

    def evaluate(self) -> None:
        """Bind the makespan of the neighbour that OR-Tools is looking at; it fails where that is not acceptable."""
        order = self.order(np.array([rank.Value() for rank in self.ranks]))
        makespan = int(Evaluator().evaluate(self.instance, order[np.newaxis]).makespan[0])
        self.steps += 1
        if self.monitor.best is None or makespan < self.monitor.best:
            self.best_order = order
            self.monitor.record(self.steps, makespan)
        self.makespan.SetValue(makespan)

    def guarded(self, call: Callable[[], Any], otherwise: Any) -> Any:
        """Keep exceptions out of C++: remember the first one and end the search."""
        try:
            return call()
        except BaseException as error:
            if "CP Solver fail" in str(error):
                raise  # not an error: how pywrapcp says that a variable cannot have a value
            self._error = self._error or error
            return otherwise


def _operator(run: _Run) -> Any:
    """The operator that offers the ranked moves of the current schedule, one after the other."""
    instance = run.instance

    class RankedMoves(run.pywrapcp.IntVarLocalSearchOperator):  # type: ignore[name-defined]
        def __init__(self) -> None:
            super().__init__(run.ranks)
            self.rank = np.zeros(instance.n_operations, np.int64)
            self.moves: list[tuple[int, int, bool]] = []

        def OnStart(self) -> None:  # noqa: N802
            self.moves = run.guarded(self.list_moves, [])

        def OneNeighbor(self) -> bool:  # noqa: N802
            return bool(run.guarded(self.offer_next, False))

        def list_moves(self) -> list[tuple[int, int, bool]]:
            values = (self.Value(i) for i in range(instance.n_operations))
            self.rank = np.fromiter(values, np.int64, instance.n_operations)
            schedule = Schedule.from_order(instance, run.order(self.rank))
            return run.ranking.moves(schedule.linear_order)[::-1]

        def offer_next(self) -> bool:
            if not self.moves or run.is_over():
                return False
            u, v, forward = self.moves.pop()
            machine = np.flatnonzero(instance.machine == instance.machine[u])
            row = machine[np.argsort(self.rank[machine])].tolist()
            a, b = row.index(u), row.index(v)
            section = [*row[a + 1 : b + 1], u] if forward else [v, *row[a:b]]
            for place, operation in enumerate(section, start=a):
                self.SetValue(operation, place)
            return True

    return RankedMoves()


def _decision_builder(pywrapcp: Any, bind: Callable[[], None]) -> Any:
    class Bind(pywrapcp.PyDecisionBuilder):
        def Next(self, solver: Any) -> None:  # noqa: N802
            bind()

    return Bind()
