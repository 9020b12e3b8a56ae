"""Progress of a search on standard error: a live line on a terminal, a few lines a second elsewhere."""

from __future__ import annotations

import os
import shutil
import threading
import time
from types import TracebackType
from typing import TYPE_CHECKING, TextIO

from integrations.cli.terminal import shown

if TYPE_CHECKING:
    from heuristics.result import Improvement
    from l2s_plugin.stop import Progress

INTERVAL = 0.2  # seconds between two lines


class ProgressDisplay:
    """Shows the incumbent while a search runs; use it as a context manager.

    `improved` is the listener of the search. `looked` is a stop condition that never stops: searches ask it several
    times a second, which keeps bound, speed and remaining time up to date between two improvements.

    Parameters
    ----------
    stream
        Where to write.
    seconds
        The time limit, from which the remaining time follows.
    title
        A line to begin with; it waits for the first improvement, as a run may be refused until then.
    label
        What every line begins with.
    """

    def __init__(self, stream: TextIO, seconds: float | None, title: str = "", label: str = "") -> None:
        self._stream = stream
        self._limit = seconds
        self._title = shown(title)
        self._label = shown(label)
        self._live = stream.isatty() and os.environ.get("TERM") != "dumb"
        self._event: Improvement | None = None
        self._bound, self._source = 0, ""
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
            self._advance(event)

    def looked(self, progress: Progress) -> bool:
        with self._lock:
            self._advance(progress)
        return False

    def _advance(self, news: Improvement | Progress) -> None:
        self._step, self._seconds = max(news.step, self._step), news.seconds
        if news.lower_bound >= self._bound:
            self._bound, self._source = news.lower_bound, f" ({news.bound_source})" if news.bound_source else ""
        if (self._news or self._live) and time.perf_counter() - self._drawn >= INTERVAL:
            self._draw()

    def _draw(self) -> None:
        if self._event is None:
            return
        self._drawn = time.perf_counter()
        self._news = False
        title = f"{self._label}{self._title}\n" if self._title else ""
        self._title = ""
        self._write(title + (self._live_line(self._event) if self._live else self._plain_line(self._event)))

    def _live_line(self, event: Improvement) -> str:
        parts = [self._incumbent(event)]
        if self._step:
            speed = self._step / max(self._seconds, 1e-3)
            parts.append(f"{speed:,.{0 if speed >= 10 else 1}f} steps/s")
        if self._limit is None:
            parts += [f"{self._step:,} steps", f"{self._seconds:.0f} s"]
        else:
            parts.append(f"{max(self._limit - self._seconds, 0):.0f} s left")
        text = self._label + ", ".join(parts)
        return f"\r{text[: shutil.get_terminal_size().columns - 1]}\x1b[K"

    def _plain_line(self, event: Improvement) -> str:
        return f"{self._label}{event.seconds:8.2f} s, step {event.step:,}: {self._incumbent(event)}\n"

    def _incumbent(self, event: Improvement) -> str:
        gap = 100 * (event.makespan / self._bound - 1) if self._bound else 0.0
        return f"makespan {event.makespan}, bound {self._bound}{self._source}, gap {gap:.2f} %"

    def _write(self, text: str) -> None:
        if self._broken:
            return
        try:
            self._stream.write(text)
            self._stream.flush()
        except OSError:  # whoever read it has gone: no reason to end the search
            self._broken = True
