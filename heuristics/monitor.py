"""Watches a run: the clock, the stop criterion, signals, the history, and the observers."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType, NoneType
from typing import Any

from heuristics.configuration import Configuration, part_name
from heuristics.loop.kernels import FOREVER
from heuristics.loop.search import Search
from heuristics.result import LITERATURE, ONE_MACHINE, Improvement, Result
from l2s_plugin import bounds
from l2s_plugin.containment import CtrlC, describe
from l2s_plugin.errors import PluginError
from l2s_plugin.instance import Instance
from l2s_plugin.kernels.state import HALT
from l2s_plugin.registry import Registry, default_registry
from l2s_plugin.schedule import Schedule
from l2s_plugin.stop import Progress

Listener = Callable[[Improvement], None]

_NAMELESS = (Schedule, Result, NoneType)  # a schedule to begin with has no name

_in_threads: set[Monitor] = set()  # runs in other threads than the main one, which alone hears signals


class SearchError(PluginError):
    """A part of the search failed; `result` holds the best schedule found before, `results` those of a whole batch."""

    def __init__(self, message: str, result: Result) -> None:
        super().__init__(message)
        self.result = result
        self.results = [result]

    def __reduce__(self) -> tuple[type[SearchError], tuple[str, Result]]:
        return type(self), (str(self), self.result)


class Monitor:
    """One run of one method. Use it as a context manager: the clock starts, and Ctrl-C and SIGTERM end the run with its
    incumbent. `finish` then makes the result.

    `way` is how the run was asked to search, `registry` where names are looked up, `history` the (seconds, steps,
    makespan) of every incumbent; `stopped_by` says why the run is over, and is empty while it is not.

    In here, as in searches, makespans and bounds are those of the longest path; what leaves the run, in events and
    results, is the value of the objective: less by `Instance.offset`.
    """

    def __init__(
        self, instance: Instance, way: Configuration, listener: Listener | None = None, registry: Registry | None = None
    ) -> None:
        self.instance = instance
        self.way = way
        self.stop = way.limits
        self.registry = registry or default_registry()
        self.history: list[tuple[float, int, int]] = []
        self._last = 0  # the first step at which the best makespan was found, whoever reports first
        self.stopped_by = ""
        self.proven = self._literature = 0
        self._proof = ONE_MACHINE
        self._failure: BaseException | None = None
        self._listener = listener
        self._lock = threading.Lock()
        self._handlers: dict[int, Any] = {}
        self._searches: set[Search] = set()
        self._timer: threading.Timer | None = None
        self._begin = time.perf_counter()

    def start(self) -> None:
        """Start the clock; the lower bound is computed while it runs."""
        self._begin = time.perf_counter()
        self.proven = bounds.lower_bound(self.instance)
        self._literature = bounds.known_bound(self.instance) if self.way.known_bounds else 0

    def __enter__(self) -> Monitor:
        if threading.current_thread() is threading.main_thread():
            for number in (signal.SIGINT, signal.SIGTERM):
                if signal.getsignal(number) != signal.SIG_IGN:  # as after nohup: then it stays ignored
                    self._handlers[number] = signal.signal(number, self._interrupt)
        else:
            _in_threads.add(self)
        self.start()
        if self.stop.seconds is not None:
            self._timer = threading.Timer(min(self.left, threading.TIMEOUT_MAX), self._halt)
            self._timer.daemon = True
            self._timer.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._timer is not None:
            self._timer.cancel()
        _in_threads.discard(self)
        for number, handler in self._handlers.items():
            signal.signal(number, handler)

    def _interrupt(self, number: int, frame: FrameType | None) -> None:
        if self.stopped_by == "interrupt":  # asked a second time: do not wait for the current batch of steps
            raise CtrlC
        self.interrupt()

    def interrupt(self) -> None:
        """End the run with its incumbent."""
        self.stopped_by = "interrupt"
        self._halt()

    def watch(self, search: Search) -> None:
        """Let a search give up the step it is in when the run is over; with some selectors one takes seconds."""
        self._searches.add(search)
        if self.out_of_time():
            self._halt()

    def _halt(self) -> None:
        for search in tuple(self._searches):
            search.state.progress[HALT] = 1

    @property
    def seconds(self) -> float:
        return time.perf_counter() - self._begin

    @property
    def left(self) -> float:
        """Seconds until the time limit."""
        return float("inf") if self.stop.seconds is None else max(self.stop.seconds - self.seconds, 0.0)

    @property
    def lower_bound(self) -> int:
        """The best bound: `proven` by this run, or looked up."""
        return max(self.proven, self._literature)

    @property
    def bound_source(self) -> str:
        return LITERATURE if self._literature > self.proven else self._proof

    @property
    def target(self) -> int:
        """The makespan at which the run ends."""
        wanted = -1 if self.stop.makespan is None else self.stop.makespan + self.instance.offset
        return max(self.lower_bound, wanted)

    def prove(self, bound: int, source: str) -> None:
        """Take note of a bound that a part of this run has proven."""
        with self._lock:
            if bound > self.proven:
                self._proof, self.proven = source, bound

    @property
    def best(self) -> int | None:
        """Makespan of the best schedule so far."""
        return self.history[-1][2] if self.history else None

    def record(self, step: int, makespan: int) -> None:
        """Take note of a schedule; a new incumbent goes into the history and to the observers."""
        with self._lock:
            if self.history and makespan >= self.history[-1][2]:
                if makespan == self.history[-1][2]:
                    self._last = min(self._last, step)
                return
            seconds, self._last = self.seconds, step
            if self.history:  # searches side by side count each for itself, but the steps of a run never fall
                step = max(step, self.history[-1][1])
            self.history.append((seconds, step, makespan))
            offset, source = self.instance.offset, self.bound_source
            value, bound = makespan - offset, self.lower_bound - offset
            improvement = Improvement(self.instance, seconds, step, value, bound, source)
            if self._listener is not None:
                self._listener(improvement)
            self.registry.observe("l2s_incumbent", event=improvement)

    def note(self, search: Search, workers: int = 1, others: int = 0) -> None:
        """Record what a search has found since the last time.

        It took a step for each of the workers at once; uneven `others` took so many.
        """
        most = FOREVER if self.stop.steps is None else self.stop.steps
        for step, makespan in search.take_events():
            with self.contained():
                self.record(min(step * workers + others, most), makespan)

    def should_stop(self, step: int) -> bool:
        """Whether the run is over after `step` steps; `stopped_by` then says why."""
        if not self.stopped_by:
            reason = self._reason(step)
            self.stopped_by = self.stopped_by or reason  # a signal may have come meanwhile
        return bool(self.stopped_by)

    def out_of_time(self) -> bool:
        """Whether the clock, a signal or a failure ends the run; never true for a limit in steps."""
        if self.stopped_by in ("interrupt", "error"):
            return True
        return self.stop.seconds is not None and self.seconds >= self.stop.seconds

    @contextmanager
    def contained(self) -> Iterator[None]:
        """Whatever goes wrong in here ends the run, and `finish` raises it together with the incumbent."""
        try:
            yield
        except CtrlC:
            if not self.history:  # nothing to lose
                raise
        except BaseException as error:
            self.fail(error)

    def fail(self, error: BaseException) -> None:
        """End the run because a part of it failed; `finish` then raises, with the incumbent."""
        self.stopped_by = "error"
        self._failure = self._failure or error
        self._halt()

    def _reason(self, step: int) -> str:
        stop, best = self.stop, self.best
        if best is not None:
            if best <= self.lower_bound:
                return "optimal" if best <= self.proven else "known bound"
            if best <= self.target:
                return "target"
        if stop.steps is not None and step >= stop.steps:
            return "steps"
        if stop.seconds is not None and self.seconds >= stop.seconds:
            return "seconds"
        if stop.no_improvement is not None and step - self._last >= stop.no_improvement:
            return "no improvement"
        if stop.conditions and best is not None:
            value, bound = best - self.instance.offset, self.lower_bound - self.instance.offset
            progress = Progress(step, self.seconds, value, self._last, bound, self.bound_source)
            if any(condition(progress) for condition in stop.conditions):
                return "condition"
        return ""

    def finish(
        self,
        best: Schedule | Any,
        steps: int = 0,
        workers: int = 1,
        search: Search | None = None,
        method: str = "",
        seconds: float | None = None,
        horizon: int | None = None,
        **parts: Any,
    ) -> Result:
        """The verified result, of which the observers are told; raises `SearchError` after a failure.

        `best` is the incumbent, a schedule or a linear order; `method` and `seconds` are given where they are not those
        of the configuration and the clock. The result names the selector, neighbourhood and gear of `search`, and
        further `parts`, given as names or as the objects.
        """
        seconds = self.seconds if seconds is None else seconds
        schedule = best if isinstance(best, Schedule) else Schedule.from_linear_order(self.instance, best)
        schedule.verify()
        if search is not None:
            parts |= {"selector": search.selector, "neighbourhood": search.neighbourhood, "gear": search.gear}
        result = Result(
            schedule=schedule,
            lower_bound=self.lower_bound - self.instance.offset,
            bound_source=self.bound_source,
            method=method or part_name(self.way.method),
            steps=steps,
            seconds=seconds,
            seed=self.way.seed,
            workers=workers,
            horizon=horizon,
            stopped_by=self.stopped_by,
            history=[(at, step, makespan - self.instance.offset) for at, step, makespan in self.history],
            **{field: part_name(part) for field, part in parts.items() if not isinstance(part, _NAMELESS)},
        )
        self.registry.observe("l2s_search_finished", instance=self.instance, result=result)
        if self._failure is not None:
            raise SearchError(describe(self._failure), result) from self._failure
        return result


class Pace:
    """How many steps to take between two looks at the clock: about a thirtieth of a second's worth, and more where very
    many searches take turns, for a look at each of them has its price."""

    def __init__(self, searches: int = 1) -> None:
        self._seconds = 0.03 * max(1, searches / 64)
        self._chunk = 1  # a learned selector may take a second per step, in the compiled gear, too
        self._last = time.perf_counter()

    def next(self, taken: int | None = None) -> int:
        """The next number; `taken` says how many steps were taken since the last one, if not as many as that."""
        self._chunk = taken or self._chunk
        now = time.perf_counter()
        elapsed, self._last = max(now - self._last, 1e-6), now
        self._chunk = max(1, min(self._chunk * 4, int(self._chunk * self._seconds / elapsed)))
        return self._chunk


def interrupt_threads() -> None:
    """End the runs in other threads of this process with their incumbents, as Ctrl-C ends one in the main thread."""
    for monitor in tuple(_in_threads):
        monitor.interrupt()
