"""Watches a run: the clock, the stop criterion, signals, the history, and the observers."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType, TracebackType
from typing import Any

from heuristics.result import LITERATURE, ONE_MACHINE, Improvement, Result
from heuristics.search import Search, part_name
from l2s_plugin import bounds
from l2s_plugin.containment import CtrlC, describe
from l2s_plugin.errors import PluginError
from l2s_plugin.instance import Instance
from l2s_plugin.kernels.state import HALT
from l2s_plugin.registry import Registry, default_registry
from l2s_plugin.schedule import Schedule
from l2s_plugin.stop import Progress, Stop

Listener = Callable[[Improvement], None]

_FOREVER = 2**62
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
    """One run of one host; use it as a context manager, so that Ctrl-C and SIGTERM end the run with its incumbent."""

    def __init__(
        self,
        instance: Instance,
        stop: Stop,
        listener: Listener | None = None,
        registry: Registry | None = None,
        known_bounds: bool = True,
    ) -> None:
        self._begin = time.perf_counter()
        self.instance = instance
        self.stop = stop
        self.proven, self._proof = bounds.lower_bound(instance), ONE_MACHINE
        self._literature = bounds.known_bound(instance) if known_bounds else 0
        self.history: list[tuple[float, int, int]] = []
        self.stopped_by = ""
        self._failure: BaseException | None = None
        self._listener = listener
        self._registry = registry or default_registry()
        self._lock = threading.Lock()
        self._handlers: dict[int, Any] = {}
        self._searches: set[Search] = set()
        left = threading.TIMEOUT_MAX if stop.seconds is None else max(stop.seconds - self.seconds, 0)
        self._timer = threading.Timer(min(left, threading.TIMEOUT_MAX), self._halt)
        self._timer.daemon = True

    def __enter__(self) -> Monitor:
        if threading.current_thread() is threading.main_thread():
            for number in (signal.SIGINT, signal.SIGTERM):
                if signal.getsignal(number) != signal.SIG_IGN:  # as after nohup: then it stays ignored
                    self._handlers[number] = signal.signal(number, self._interrupt)
        else:
            _in_threads.add(self)
        if self.stop.seconds is not None:
            self._timer.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
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
    def lower_bound(self) -> int:
        """The best bound: `proven` by this run, or looked up."""
        return max(self.proven, self._literature)

    @property
    def bound_source(self) -> str:
        return LITERATURE if self._literature > self.proven else self._proof

    @property
    def target(self) -> int:
        """The makespan at which the run ends."""
        return max(self.lower_bound, -1 if self.stop.makespan is None else self.stop.makespan)

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
                return
            seconds = self.seconds
            if self.history:  # searches side by side count each for itself, but the steps of a run never fall
                step = max(step, self.history[-1][1])
            self.history.append((seconds, step, makespan))
            improvement = Improvement(self.instance, seconds, step, makespan, self.lower_bound, self.bound_source)
            if self._listener is not None:
                self._listener(improvement)
            self._registry.observe("l2s_incumbent", event=improvement)

    def note(self, search: Search, workers: int = 1, others: int = 0) -> None:
        """Record what a search has found since the last time.

        It took a step for each of the workers at once; uneven `others` took so many.
        """
        most = _FOREVER if self.stop.steps is None else self.stop.steps
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
                return "optimal"
            if best <= self.target:
                return "target"
        last = self.history[-1][1] if self.history else 0
        if stop.steps is not None and step >= stop.steps:
            return "steps"
        if stop.seconds is not None and self.seconds >= stop.seconds:
            return "seconds"
        if stop.no_improvement is not None and step - last >= stop.no_improvement:
            return "no improvement"
        if stop.conditions and best is not None:
            progress = Progress(step, self.seconds, best, last, self.lower_bound, self.bound_source)
            if any(condition(progress) for condition in stop.conditions):
                return "condition"
        return ""

    def finish(
        self, method: str, search: Search, best: Any, seed: int, steps: int, workers: int = 1, **parts: Any
    ) -> Result:
        """The result of a search that ended with the incumbent, a schedule or a linear order; see `report`."""
        parts |= {"selector": search.selector, "neighbourhood": search.neighbourhood, "gear": search.gear}
        schedule = best if isinstance(best, Schedule) else Schedule.from_linear_order(self.instance, best)
        return self.report(method, schedule, seed, steps, workers, **parts)

    def report(
        self,
        method: str,
        schedule: Schedule,
        seed: int,
        steps: int = 0,
        workers: int = 1,
        seconds: float | None = None,
        **parts: Any,
    ) -> Result:
        """A verified result, of which the observers are told; raises `SearchError` after a failure.

        `seconds` are those until now, unless given. `parts` are fields of the result that name what the run was made
        of, given as names or as the objects.
        """
        seconds = self.seconds if seconds is None else seconds
        schedule.verify()
        result = Result(
            schedule=schedule,
            lower_bound=self.lower_bound,
            bound_source=self.bound_source,
            method=method,
            steps=steps,
            seconds=seconds,
            seed=seed,
            workers=workers,
            stopped_by=self.stopped_by,
            history=list(self.history),
            **{field: _name(part) for field, part in parts.items()},
        )
        self._registry.observe("l2s_search_finished", instance=self.instance, result=result)
        if self._failure is not None:
            raise SearchError(describe(self._failure), result) from self._failure
        return result


def _name(part: Any) -> str | None:
    """What a result calls a part; a schedule to begin with has no name."""
    if part is None or isinstance(part, str):
        return part
    return None if isinstance(part, Schedule | Result) else part_name(part)


class Pace:
    """How many steps to take between two looks at the clock: about a thirtieth of a second's worth."""

    def __init__(self) -> None:
        self._chunk = 1  # a learned selector may take a second per step, in the compiled gear, too
        self._last = time.perf_counter()

    def next(self) -> int:
        now = time.perf_counter()
        elapsed, self._last = max(now - self._last, 1e-6), now
        self._chunk = max(1, min(self._chunk * 4, int(self._chunk * 0.03 / elapsed)))
        return self._chunk


def interrupt_threads() -> None:
    """End the runs in other threads of this process with their incumbents, as Ctrl-C ends one in the main thread."""
    for monitor in tuple(_in_threads):
        monitor.interrupt()
