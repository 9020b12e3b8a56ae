"""OR-Tools' own local search (pywrapcp) with our moves: a selector ranks them, a metaheuristic of OR-Tools decides.

To compare with and to learn from: every neighbour goes through the constraint solver and back through Python, which
allows about a thousand per second at 30x20. pywrapcp has its traps: an exception in a callback ends the process;
objects that C++ still uses may not be collected; an operator that offers a single neighbour ends a tabu search at once.
"""

from __future__ import annotations

from collections.abc import Callable
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
from integrations.libraries import ortools
from l2s_plugin.errors import unknown_name
from l2s_plugin.evaluator import Evaluator
from l2s_plugin.instance import Instance
from l2s_plugin.registry import Registry, default_registry
from l2s_plugin.schedule import Schedule
from l2s_plugin.specs import SelectorSpec
from l2s_plugin.stop import Condition, Stop

METHOD = "ortools-local-search"
METAHEURISTICS = ("tabu", "annealing", "guided", "descent")

Move = tuple[int, int, bool]  # u, v, forward


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
    search = ranking_search(instance, way, monitor.registry)
    with monitor:
        run = _Run(search, first_schedule(instance, way.initial, way.seed, monitor.registry), monitor)
        with monitor.contained():
            run.solve(metaheuristic)
        best = Schedule.from_order(instance, run.best_order)
        return monitor.finish(best, run.steps, search=search, method=METHOD, initial=way.initial)


def ranking_search(instance: Instance, way: Configuration, registry: Registry | None = None) -> Search:
    """A search that takes no steps, but ranks moves."""
    selector = (registry or default_registry()).create(SelectorSpec, way.selector)
    form = compiled_form(selector)
    if form is not None and form.values == "smallest":
        selector = replace(form, values="estimate")  # all values count, not only the smallest
    return Search(instance, way.neighbourhood, selector, Memory(), way.seed, PYTHON, registry)


def ranked_moves(search: Search, linear_order: NDArray[Any]) -> list[Move]:
    """The moves of a schedule as the selector picks them, one after the other; without those that it refuses."""
    search.start(linear_order)
    reason = search.list_candidates()
    if reason is not None:
        search.check_contract(reason)
        return []
    ranked: list[Move] = []
    moves = search.moves
    for _ in range(len(search.candidates().u)):
        row = search.select()
        if row == -1:
            break
        if row < 0:
            search.check_contract(kernels.BAD_SCORE)
        ranked.append((int(moves.u[row]), int(moves.v[row]), bool(moves.forward[row])))
        moves.admissible[row] = False
    return ranked


class _Run:
    """One search of pywrapcp: a rank variable per operation, and the makespan, which a decision builder computes."""

    def __init__(self, search: Search, first: Schedule, monitor: Monitor) -> None:
        self.search, self.monitor, self.instance = search, monitor, first.instance
        self.best_order: NDArray[Any] = first.order
        self.steps = 0
        self._first = first
        self._rank = np.zeros(self.instance.n_operations, np.int64)
        self._moves: list[Move] = []

    def solve(self, metaheuristic: str) -> None:
        """Search until the monitor says stop."""
        self.monitor.record(0, self._first.makespan)
        pywrapcp = ortools("ortools.constraint_solver.pywrapcp")
        solver, instance, run = pywrapcp.Solver("l2s"), self.instance, self
        lengths, durations = np.diff(instance.machine_offset)[instance.machine].tolist(), instance.duration.tolist()
        ranks = [solver.IntVar(0, length - 1, f"rank{x}") for x, length in enumerate(lengths)]
        makespan = solver.IntVar(0, sum(durations), "makespan")

        class RankedMoves(pywrapcp.IntVarLocalSearchOperator):  # type: ignore[name-defined]
            """Offers the ranked moves of the current schedule, one after the other."""

            def OnStart(self) -> None:  # noqa: N802
                run.list_moves([self.Value(x) for x in range(instance.n_operations)])

            def OneNeighbor(self) -> bool:  # noqa: N802
                places = run.next_neighbour()
                for operation, place in places:
                    self.SetValue(operation, place)
                return bool(places)

        class Bind(pywrapcp.PyDecisionBuilder):  # type: ignore[name-defined]
            """Binds the makespan of the neighbour that OR-Tools is looking at; fails where that is not acceptable."""

            def Next(self, solver: Any) -> None:  # noqa: N802
                makespan.SetValue(run.evaluate([rank.Value() for rank in ranks]))

        objectives: dict[str, Callable[[], Any]] = {
            "tabu": lambda: solver.TabuSearch(False, makespan, 1, ranks, 0, 5, 1.0),  # the ranks of the last 5 moves
            "annealing": lambda: solver.SimulatedAnnealing(False, makespan, 1, max(1, int(np.mean(durations)))),
            # penalises long operations that never move
            "guided": lambda: solver.GuidedLocalSearch(False, makespan, lambda x, _: durations[x], 1, ranks, 0.1),
            "descent": lambda: solver.Minimize(makespan, 1),
        }
        operator, evaluate, first = RankedMoves(ranks), Bind(), solver.Assignment()  # C++ does not own: they stay here
        first.Add(ranks)
        for row in self._first.machine_orders:
            for place, operation in enumerate(row.tolist()):
                first.SetValue(ranks[operation], place)
        objective, limit = objectives[metaheuristic](), solver.CustomLimit(self.is_over)
        parameters = solver.LocalSearchPhaseParameters(makespan, operator, evaluate)
        phase = solver.LocalSearchPhase(first, parameters)
        if not self.is_over():
            solver.Solve(phase, [objective, limit])
        if not self.is_over():
            self.monitor.stopped_by = "no moves"

    # C++ calls what follows: `contained` keeps exceptions out of it, and ends the search

    def is_over(self) -> bool:
        with self.monitor.contained():
            return self.monitor.should_stop(self.steps)
        return True

    def list_moves(self, rank: list[int]) -> None:
        self._rank, self._moves = np.array(rank), []
        with self.monitor.contained():
            schedule = Schedule.from_order(self.instance, self._order(self._rank))
            self._moves = ranked_moves(self.search, schedule.linear_order)[::-1]

    def next_neighbour(self) -> list[tuple[int, int]]:
        """What moves, and to which place on its machine; nothing at the end of the neighbourhood."""
        with self.monitor.contained():
            if self._moves and not self.is_over():
                u, v, forward = self._moves.pop()
                machine = np.flatnonzero(self.instance.machine == self.instance.machine[u])
                row = machine[np.argsort(self._rank[machine])].tolist()
                a, b = row.index(u), row.index(v)
                section = [*row[a + 1 : b + 1], u] if forward else [v, *row[a:b]]
                return [(operation, place) for place, operation in enumerate(section, start=a)]
        return []

    def evaluate(self, rank: list[int]) -> int:
        """The makespan of a neighbour."""
        makespan = self._first.makespan
        with self.monitor.contained():
            order = self._order(np.array(rank))
            makespan = int(Evaluator().evaluate(self.instance, order[np.newaxis]).makespan[0])
            self.steps += 1
            if makespan < (self.monitor.best or makespan):
                self.best_order = order
                self.monitor.record(self.steps, makespan)
        return makespan

    def _order(self, rank: NDArray[Any]) -> NDArray[Any]:
        """The flat machine orders behind the ranks."""
        return np.lexsort((rank, self.instance.machine)).astype(np.int32)
