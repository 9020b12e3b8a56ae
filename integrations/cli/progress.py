"""Progress of a search on standard error: a live line on a terminal, a few lines a second elsewhere."""

from __future__ import annotations

import os
import shutil
import threading
import time
from types import TracebackType
from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    from heuristics.result import Improvement
    from l2s_plugin.stop import Progress

INTERVAL = 0.2  # seconds between two lines


class ProgressDisplay:
    """Shows the incumbent while a search runs; use it as a context manager.

    `improved` is the listener of the search. `looked` is a stop condition that never stops: searches ask it several
    times a second, which keeps steps and remaining time up to date between two improvements.
    """

    def __init__(self, stream: TextIO, seconds: float | None) -> None:
        self._stream = stream
        self._limit = seconds
        self._live = stream.isatty() and os.environ.get("TERM") != "dumb"
        self._event: Improvement | None = None
        self._step = 0
        self._seconds = 0.0
        self._news = False
        self._drawn = float("-inf")
        self._broken = False
        self._lock = threading.Lock()  # improvements come from the threads of all workers

    def __enter__(self) -> ProgressDisplay:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        with self._lock:
            if self._live:
                self._write("\r\x1b[K")
            elif self._news:
                self._draw()

    def improved(self, event: Improvement) -> None:
        with self._lock:
            self._event = event
            self._news = True
            self._advance(event.step, event.seconds)

    def looked(self, progress: Progress) -> bool:
        with self._lock:
            self._advance(progress.step, progress.seconds)
        return False

    def _advance(self, step: int, seconds: float) -> None:
        self._step, self._seconds = max(step, self._step), seconds
        if (self._news or self._live) and time.perf_counter() - self._drawn >= INTERVAL:
            self._draw()

    def _draw(self) -> None:
        if self._event is None:
            return
        self._drawn = time.perf_counter()
        self._news = False
        self._write(self._live_line() if self._live else self._plain_line())

    def _live_line(self) -> str:
        clock = f"{self._seconds:.0f} s" if self._limit is None else f"{max(self._limit - self._seconds, 0):.0f} s left"
        text = f"{self._incumbent()}, {self._step:,} steps, {clock}"
        return f"\r{text[: shutil.get_terminal_size().columns - 1]}\x1b[K"

    def _plain_line(self) -> str:
        assert self._event is not None
        return f"{self._event.seconds:8.2f} s, step {self._event.step:,}: {self._incumbent()}\n"

    def _incumbent(self) -> str:
        assert self._event is not None
        makespan, bound = self._event.makespan, self._event.lower_bound
        gap = 100 * (makespan / bound - 1) if bound else 0.0
        return f"makespan {makespan}, bound {bound}, gap {gap:.2f} %"

    def _write(self, text: str) -> None:
        if self._broken:
            return
        try:
            self._stream.write(text)
            self._stream.flush()
        except OSError:  # whoever read it has gone: no reason to end the search
            self._broken = True
