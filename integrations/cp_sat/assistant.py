"""CP-SAT beside a running search: when it gets a core, and what it does with it."""

from __future__ import annotations

import time
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import numpy as np

from integrations.cp_sat.model import JobShopModel, Window, random_window
from integrations.cp_sat.solver import Incumbent, attempt
from l2s_plugin.schedule import Schedule

# Up to so many operations, CP-SAT gets this share of one core: proofs are likely up to 15x10, possible up to 15x15, and
# beyond that where bound and makespan are close; elsewhere the search makes more of the time. The longer the search has
# found nothing, the more CP-SAT gets.
_TINY = 50  # CP-SAT begins at once: it needs hundredths of a second
_SMALL = 150
_SHARES = ((_SMALL, 0.5), (250, 0.1))
_LEAST_SHARE = 0.03
_CLOSE = 1.02  # makespan / bound
_STALLED = ((0.8, 10.0), (0.5, 3.0))  # fraction of the run without improvement, and how much more that gives CP-SAT
_SLOW_SEARCH_SHARE = 0.5  # a large network or Python code as selector: few steps, and windows find more
_MOST_FOR_PROOF = 5000  # operations; CP-SAT would still be reading the model when its turn is over
_FIRST_TURN = 0.5  # seconds; turns without a proof double
_WINDOW_SECONDS = 0.5


class Assistant:
    """Takes turns at improving the incumbent and at proving that nothing is better.

    A turn is a proof attempt, with the incumbent as a hint, or a series of windows. Turns of the two kinds alternate;
    a proof attempt ends when the search finds a better schedule, and the next one begins with that. On a single worker,
    the search has to wait during a turn.
    """

    def __init__(self, incumbent: Incumbent, workers: int, options: dict[str, Any]) -> None:
        self._incumbent = incumbent
        self._monitor = incumbent.monitor
        self._instance = incumbent.monitor.instance
        self._most = 1.0 if workers > 1 else 0.5
        self._rng = np.random.default_rng(incumbent.monitor.way.seed)
        self._options = options
        self._pool = ThreadPoolExecutor(1, "cp-sat-turn")
        self._turn: Future[None] | None = None
        self._dismissed = False
        self._used = 0.0  # seconds
        self._turns = 0
        self._turn_seconds = _FIRST_TURN
        self._window_size = 5.0 * self._instance.n_machines

    def cores(self, slow_search: bool = False) -> int:
        """Begin or end a turn; returns how many cores CP-SAT has until it is asked again. Raises what a turn raised."""
        if self._turn is not None and self._turn.done():
            self._turn.result()
            self._turn = None
        schedule = self._incumbent.schedule
        if self._turn is None and schedule is not None:
            kind, seconds = self._next_turn(slow_search)
            if seconds > 0:
                self._turn = self._pool.submit(self._take_turn, schedule, kind, seconds)
        return 0 if self._turn is None else 1

    def __enter__(self) -> Assistant:
        return self

    def __exit__(self, *error: object) -> None:
        """End the turn, if any; what it found is with the incumbent."""
        self._dismissed = True
        self._pool.shutdown()
        if self._turn is not None:
            self._turn.result()

    def _next_turn(self, slow_search: bool) -> tuple[str, float]:
        """What to do next, and for how many seconds: 0 while the search goes on alone."""
        found, _, best = self._monitor.history[-1]
        elapsed = self._monitor.seconds
        since = elapsed - found
        kinds = _kinds(self._instance.n_operations, slow_search)
        kind = kinds[self._turns % len(kinds)]
        if self._turns == 0 and self._instance.n_operations <= _TINY:
            return kind, self._turn_seconds
        if self._turns == 0 and since < max(0.1, 0.1 * elapsed):
            return kind, 0.0  # the search is still in the middle of its first descent
        more = next((factor for fraction, factor in _STALLED if since > fraction * elapsed), 1.0)
        close = best <= _CLOSE * self._monitor.lower_bound
        share = min(self._most, more * _share(self._instance.n_operations, slow_search, close))
        if share == 1 and "proof" in kinds and not slow_search:
            return "proof", float("inf")  # until it succeeds, or the search finds a better schedule
        return kind, self._turn_seconds if self._used + self._turn_seconds / 2 <= share * elapsed else 0.0

    def _take_turn(self, schedule: Schedule, kind: str, seconds: float) -> None:
        begin = time.perf_counter()
        if kind == "proof":
            self._prove(schedule, seconds)
        else:
            self._windows(schedule, begin + seconds)
        self._turns += 1
        self._used += time.perf_counter() - begin

    def _prove(self, schedule: Schedule, seconds: float) -> None:
        """Ask for a better schedule or the proof that there is none."""
        incumbent = self._incumbent
        model = JobShopModel(self._instance, schedule.makespan, self._monitor.proven)
        model.hint(schedule)
        incumbent.attempt(model, seconds, lambda: self._over() or incumbent.schedule is not schedule, **self._given())
        if incumbent.schedule is schedule:
            self._turn_seconds *= 2

    def _windows(self, schedule: Schedule, until: float) -> None:
        """Schedule windows of the incumbent anew, as many as time allows; success pays for more."""
        size = self._window_size
        while time.perf_counter() < until and not self._over():
            window = Window(schedule, *random_window(self._instance, int(size), self._rng), self._monitor.lower_bound)
            if window.hopeless:
                size = min(size * 1.02, self._instance.n_operations)
                continue
            begin = time.perf_counter()
            found: list[Schedule] = []
            status = attempt(window, _WINDOW_SECONDS, found.append, over=self._over, **self._given())
            seconds = time.perf_counter() - begin
            if found:
                self._incumbent.offer(found[-1])
                self._used -= seconds
            elif status == "UNKNOWN":
                size = max(0.9 * size, 10)
            elif seconds < 0.3 * _WINDOW_SECONDS:
                size = min(1.05 * size, self._instance.n_operations)
            schedule = self._incumbent.schedule or schedule
        self._window_size = size

    def _given(self) -> dict[str, Any]:
        return {**self._options, "seed": int(self._rng.integers(2**31))}

    def _over(self) -> bool:
        best = self._monitor.best
        return (best is not None and best <= self._monitor.target) or self._dismissed or self._monitor.out_of_time()


def _share(n_operations: int, slow_search: bool, close: bool) -> float:
    if slow_search:
        return _SLOW_SEARCH_SHARE
    return next((share for most, share in _SHARES if n_operations <= most), _LEAST_SHARE if close else 0.0)


def _kinds(n_operations: int, slow_search: bool) -> tuple[str, ...]:
    """What turns are for, in this order, over and over."""
    if n_operations > _MOST_FOR_PROOF:
        return ("windows",)
    return ("proof",) if n_operations <= _SMALL and not slow_search else ("proof", "windows")
