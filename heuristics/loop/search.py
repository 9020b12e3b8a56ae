"""One search trajectory, in either gear: the state, its memory, and a loop that takes steps.

The *compiled* gear runs whole batches of steps without Python. The *python* gear takes the same steps one by
one around a selector or neighbourhood written in Python. Which one is chosen follows from what the parts offer.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from heuristics.configuration import part_name
from heuristics.loop import kernels
from heuristics.loop.kernels import BEST, BEST_STEP, CULPRIT, EVENTS, FOREVER, GO_ON, STEP, WAITED, Rules
from heuristics.loop.memory import Memory, begin_record, move_capacity, new_record, rules_for
from l2s_plugin.containment import CtrlC, contained, ctrl_c_told_apart
from l2s_plugin.errors import L2SError, PluginError
from l2s_plugin.evaluator import Evaluator
from l2s_plugin.instance import Instance, check_instance
from l2s_plugin.kernels.critical_path import find_critical_path
from l2s_plugin.kernels.moves import Moves, list_neighbours, new_moves
from l2s_plugin.kernels.state import new_state, set_order
from l2s_plugin.kernels.view import StateView
from l2s_plugin.neighbourhoods import Neighbourhood
from l2s_plugin.registry import Registry, default_registry
from l2s_plugin.selectors import CompiledSelector
from l2s_plugin.specs import NeighbourhoodSpec, SelectorSpec

COMPILED, PYTHON = "compiled", "python"


@dataclass(frozen=True)
class Selection:
    """A selector, ready for the search that prepared it."""

    selector: Any
    gear: str
    score: Any  # of the compiled form, if there is one
    parameters: NDArray[np.float32]
    rules: Rules


def selector_for(host: str, selector: Any, registry: Registry | None = None) -> Any:
    """A selector, by name or itself, as it is in that host: a learned one may follow another policy there."""
    selector = (registry or default_registry()).create(SelectorSpec, selector)
    return selector.for_host(host) if hasattr(selector, "for_host") else selector


class Search:
    """A trajectory through the schedules of one instance.

    >>> search = Search(instance, "n6", "estimate", Memory(tenure=(8, 12)), seed=1)   # doctest: +SKIP
    >>> search.start(schedule.linear_order)                                            # doctest: +SKIP
    >>> search.run(until_step=1000)                                                    # doctest: +SKIP
    """

    def __init__(
        self,
        instance: Instance,
        neighbourhood: Any,
        selector: Any,
        memory: Memory,
        seed: int | np.random.SeedSequence = 0,
        gear: str | None = None,
        registry: Registry | None = None,
        evaluator: Evaluator | None = None,
    ) -> None:
        check_instance(instance)
        registry = registry or default_registry()
        self.instance = instance
        self.neighbourhood = registry.create(NeighbourhoodSpec, neighbourhood)
        self._registry, self._memory = registry, memory
        self.evaluator = evaluator
        sequence = seed if isinstance(seed, np.random.SeedSequence) else np.random.SeedSequence(seed)
        kernel_seed, python_seed = sequence.generate_state(2, np.uint64)
        n = instance.n_operations
        self.state = new_state(instance, kernel_seed)
        self.view = StateView(instance, self.state)
        self.moves = new_moves(move_capacity(n))
        self.rng = np.random.default_rng(python_seed)
        self._count, self._admissible, self._rows = 0, 0, np.zeros(0, np.int64)
        self.record = new_record(n, memory, len(self.moves.u))
        self.switch(self.prepare(selector, gear))

    def prepare(self, selector: Any, gear: str | None = None) -> Selection:
        """A selector, by name or itself, compiled where that can be: a run must not spend its time limit on that."""
        selector = selector_for(self._memory.host, selector, self._registry)
        gear = _choose_gear(self.neighbourhood, selector, gear, self.evaluator)
        if hasattr(selector, "check_neighbourhood"):  # a learned selector may know some of them only
            selector.check_neighbourhood(part_name(self.neighbourhood))
        compiled = compiled_form(selector)
        parameters = np.zeros(1, np.float32)
        if compiled:
            with contained(f"selector {part_name(selector)!r} has no parameters:"):
                parameters = np.ascontiguousarray(compiled.parameters(self.instance), np.float32).ravel()
        sample, mean_duration = bool(getattr(selector, "sample", False)), float(self.instance.duration.mean())
        rules = rules_for(self._memory, compiled, sample, mean_duration)
        if self.evaluator is not None:
            if not rules.exact:
                raise L2SError(f"selector {part_name(selector)!r} asks for no exact makespans: no use for an evaluator")
            rules = rules._replace(exact=False)
        prepared = Selection(selector, gear, compiled.score if compiled else None, parameters, rules)
        if gear == COMPILED:
            self._run_compiled(prepared, 0, -1, FOREVER)
        return prepared

    def switch(self, selection: Selection) -> None:
        """Let another selector choose from now on."""
        self.selection = selection
        self.selector, self.gear, self.rules = selection.selector, selection.gear, selection.rules

    @property
    def step(self) -> int:
        return int(self.record.counters[STEP])

    @property
    def best_makespan(self) -> int:
        return int(self.record.counters[BEST])

    @property
    def best_step(self) -> int:
        """The step that found the incumbent."""
        return int(self.record.counters[BEST_STEP])

    @property
    def best_order(self) -> NDArray[np.uint32]:
        """The incumbent as a linear order (a copy)."""
        return self.record.best_order.copy()

    def best_order_by_start(self) -> NDArray[np.uint32]:
        """The incumbent as the linear order sorted by start times; the search is left at the incumbent."""
        state, n = self.state, self.instance.n_operations
        set_order(state, self.record.best_order)
        end, position = state.end[:n], state.position[:n]
        return np.lexsort((position, end, end - state.duration[:n])).astype(np.uint32)

    def start(self, linear_order: NDArray[Any], drawn_to: NDArray[Any] | None = None) -> None:
        """Begin anew from a schedule given as a linear order, with an empty memory; the step counter goes on.

        A policy over moves may go by another linear order, of the schedule that the search is `drawn_to`.
        """
        set_order(self.state, np.ascontiguousarray(linear_order, np.uint32))
        self.state.drawn_to[:] = 0
        if drawn_to is not None:
            self.state.drawn_to[drawn_to] = np.arange(len(drawn_to))
        begin_record(self.state, self.record, self.rules)

    def take_events(self) -> list[tuple[int, int]]:
        """The (step, makespan) of every incumbent since the last call."""
        count = int(self.record.counters[EVENTS])
        events = [(int(step), int(makespan)) for step, makespan in self.record.events[:count]]
        self.record.counters[EVENTS] = 0
        return events

    def run(self, until_step: int, target: int = -1, patience: int | None = None) -> int:
        """Take steps until one of the limits; returns one of the reasons of `heuristics.loop.kernels`."""
        reason = None
        if self.gear == COMPILED:
            reason = self._run_compiled(self.selection, until_step, target, FOREVER if patience is None else patience)
        with ctrl_c_told_apart():
            while reason is None:
                reason = self.list_candidates(until_step, target, patience)
                if reason is None and self.evaluator is not None:
                    rate_together(self.evaluator, [self])
                if reason is None:
                    reason = self.choose()
        self.check_contract(reason)
        return reason

    def check_contract(self, reason: int) -> None:
        """Raise when the reason to stop is that a part broke its contract."""
        if reason == kernels.BAD_MOVE:
            row = int(self.record.counters[CULPRIT])
            move = (int(self.moves.u[row]), int(self.moves.v[row]))
            raise PluginError(
                f"neighbourhood {part_name(self.neighbourhood)!r} offered an impossible move {move} at step {self.step}"
            )
        if reason == kernels.BAD_SCORE:
            raise PluginError(
                f"selector {part_name(self.selector)!r} gave a score that is not a number at step {self.step}"
            )

    def _run_compiled(self, selection: Selection, until_step: int, target: int, patience: int) -> int:
        reason: int = kernels.search_steps(
            self.state, self.moves, self.record, selection.rules, self.neighbourhood.kernel, selection.score,
            selection.parameters, until_step, target, patience,
        )  # fmt: skip
        return reason

    def list_candidates(self, until_step: int = FOREVER, target: int = -1, patience: int | None = None) -> int | None:
        """First half of a step in Python: list and rate the moves; the reason to stop instead, if there is one."""
        counters, patience = self.record.counters, FOREVER if patience is None else patience
        while True:
            reason = kernels.limit_reached(counters, len(self.record.events), until_step, target, patience)
            if reason == GO_ON:
                self._count, self._admissible = self._list_and_rate()
                reason = kernels.look_at_moves(
                    self.state.progress, counters, self.rules.wait, self._count, self._admissible
                )
            if reason != WAITED:
                return None if reason == GO_ON else int(reason)

    @property
    def has_admissible(self) -> bool:
        """Whether the moves just listed leave anything to select."""
        return self._admissible > 0

    def choose(self) -> int | None:
        """Second half of a step: let the selector choose, and take its move."""
        return self.advance(self.select() if self.has_admissible else -1)

    def advance(self, row: int) -> int | None:
        """Take the move of that row; -1, all refused, leaves the decision to the host."""
        reason = kernels.finish_step(
            self.state, self.moves, self._count, self._admissible, row, self.record, self.rules
        )
        return None if reason == GO_ON else int(reason)

    def _list_and_rate(self) -> tuple[int, int]:
        state, moves, record, rules = self.state, self.moves, self.record, self.rules
        if isinstance(self.neighbourhood, Neighbourhood):
            return kernels.list_and_rate(self.neighbourhood.kernel, state, moves, record, rules)
        find_critical_path(state)
        self._refresh_view()
        with self.blaming("neighbourhood", self.neighbourhood):
            rows = np.asarray(self.neighbourhood.moves(self.view, self.rng), np.int64).reshape(-1, 3)
        count = min(len(rows), len(moves.u))
        for target, column in zip(moves[:3], rows[:count].T, strict=True):
            target[:count] = np.where(column < 0, self.instance.n_operations, column)
        return count, kernels.rate(state, moves, count, record, rules)

    def select(self) -> int:
        """Ask the selector; row in `self.moves`, -1 for none, -2 for a score that is not a number."""
        count, scores, selection = self._count, self.record.scores, self.selection
        if selection.score is not None:
            kernels.score_moves(selection.score, self.state, self.moves, count, selection.parameters, scores)
            return kernels.pick(self.moves, count, scores, self.rules.sample, self.state.rng)
        moves = self.candidates()
        with self.blaming("selector", self.selector):
            if hasattr(self.selector, "score_moves"):
                return self.pick(self.selector.score_moves(self.view, moves))
            choice = self.selector.select(self.view, moves, self.rng)
        if choice is None:
            return -1
        rows = self._rows
        if isinstance(choice, bool | np.bool_) or not hasattr(choice, "__index__") or not 0 <= int(choice) < len(rows):
            raise PluginError(
                f"selector {part_name(self.selector)!r} returned {choice!r} at step {self.step}, "
                f"expected a row from 0 to {len(rows) - 1} or None"
            )
        return int(rows[int(choice)])

    def candidates(self) -> Moves:
        """The admissible moves, as a selector written in Python gets them beside `self.view`."""
        self._refresh_view()
        self._rows = np.flatnonzero(self.moves.admissible[: self._count])
        return self.moves.rows(self._rows)

    def pick(self, scores: Any) -> int:
        """Row of one of the candidates by their scores: the best or a sample, as for a compiled selector."""
        values = np.asarray(scores, np.float64)
        if values.shape != self._rows.shape:
            raise PluginError(
                f"selector {part_name(self.selector)!r} gave scores of shape {values.shape} "
                f"for {len(self._rows)} moves at step {self.step}"
            )
        self.record.scores[self._rows] = values
        return int(kernels.pick(self.moves, self._count, self.record.scores, self.rules.sample, self.state.rng))

    def neighbours(self) -> NDArray[np.uint32]:
        """The machine orders after each of the moves just listed, a row each, as an `Evaluator` reads them."""
        order = self.state.order[np.argsort(self.instance.machine[self.state.order], kind="stable")]
        rows = np.empty((self._count, len(order)), np.uint32)
        list_neighbours(self.moves, self._count, order, np.argsort(order), rows)
        return rows

    def take_makespans(self, makespans: NDArray[np.int32]) -> None:
        """Rate the moves just listed by these."""
        if (makespans < 0).any():
            self.record.counters[CULPRIT] = int(makespans.argmin())
            self.check_contract(kernels.BAD_MOVE)
        moves, count = self.moves, self._count
        moves.value[:count] = makespans
        wanted = makespans < (self.best_makespan if self.rules.aspiration else 0)
        moves.admissible[:count] = (moves.idle[:count] >= 0) | wanted
        self._admissible = int(moves.admissible[:count].sum())

    @contextmanager
    def blaming(self, kind: str, part: Any) -> Iterator[None]:
        """What a part raises in here becomes an error that names the part and the step."""
        try:
            yield
        except (PluginError, CtrlC):
            raise
        except BaseException as error:
            who = f"{kind} {part_name(part)!r}"
            raise PluginError(f"{who} failed at step {self.step}: {type(error).__name__}: {error}") from error

    def _refresh_view(self) -> None:
        self.view.step = self.step
        self.view.incumbent = self.best_makespan


def rate_together(evaluator: Evaluator, searches: Sequence[Search]) -> None:
    """Rate the moves that the searches have just listed by exact makespans, all in one call of the evaluator."""
    orders = [search.neighbours() for search in searches]
    counts = [len(rows) for rows in orders]
    instances = [search.instance for search, count in zip(searches, counts, strict=True) for _ in range(count)]
    makespans = evaluator.evaluate(instances, [row for rows in orders for row in rows]).length
    for search, own in zip(searches, np.split(makespans, np.cumsum(counts)[:-1]), strict=True):
        search.take_makespans(own)


def compiled_form(selector: Any) -> CompiledSelector | None:
    """What the compiled gear runs: the selector itself, or the form of it that a selector object offers."""
    form = selector if isinstance(selector, CompiledSelector) else getattr(selector, "compiled", None)
    return form if isinstance(form, CompiledSelector) else None


def _choose_gear(neighbourhood: Any, selector: Any, wanted: str | None, evaluator: Evaluator | None) -> str:
    compiled = isinstance(neighbourhood, Neighbourhood) and compiled_form(selector) is not None and evaluator is None
    if not isinstance(neighbourhood, Neighbourhood) and not hasattr(neighbourhood, "moves"):
        raise PluginError(f"neighbourhood {part_name(neighbourhood)!r} has neither a kernel nor a moves method")
    if compiled_form(selector) is None and not hasattr(selector, "select"):
        raise PluginError(f"selector {part_name(selector)!r} has neither a scoring kernel nor a select method")
    if wanted not in (None, COMPILED, PYTHON):
        raise PluginError(f"unknown gear {wanted!r}, expected {COMPILED} or {PYTHON}")
    if wanted == COMPILED and not compiled:
        raise PluginError(
            f"no compiled gear for neighbourhood {part_name(neighbourhood)!r} with selector {part_name(selector)!r}: "
            "both must offer kernels, and no evaluator be given"
        )
    return wanted or (COMPILED if compiled else PYTHON)
