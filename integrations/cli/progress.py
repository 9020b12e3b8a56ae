"""Progress on standard error: a line that renews itself on a terminal, and a few lines that stay elsewhere."""

from __future__ import annotations

import math
import os
import shutil
import threading
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Any, TextIO

from integrations.cli.terminal import shown

if TYPE_CHECKING:
    from heuristics.result import Improvement
    from l2s_plugin.stop import Progress

INTERVAL = 0.2  # seconds between two lines
_BAR = 20  # characters


class Line:
    """Where progress is written; `live` on a terminal, where a line takes the place of the one before."""

    def __init__(self, stream: TextIO) -> None:
        self.live = stream.isatty() and os.environ.get("TERM") != "dumb"
        self._stream = stream
        self._drawn = float("-inf")

    @property
    def due(self) -> bool:
        """Whether it is time for another line."""
        return time.perf_counter() - self._drawn >= INTERVAL

    def write(self, text: str, stays: bool = False) -> None:
        """Write a line; one that does not stay is cut to the width of the terminal."""
        self._drawn = time.perf_counter()
        text = shown(text)
        if self.live:
            text = f"\r{text if stays else text[: shutil.get_terminal_size().columns - 1]}\x1b[K"
        with suppress(OSError):  # whoever read it has gone: no reason to end the run
            self._stream.write(text + "\n" * (stays or not self.live))
            self._stream.flush()


class ProgressDisplay(Line):
    """Shows the incumbent while a search runs; use it as a context manager.

    `improved` is the listener of the search. `looked` is a stop condition that never stops: searches ask it several
    times a second, which keeps bound, speed and remaining time up to date between two improvements. The `title` waits
    for the first improvement, as a run may be refused until then; every line begins with the `label`.
    """

    def __init__(self, stream: TextIO, seconds: float | None, title: str = "", label: str = "") -> None:
        super().__init__(stream)
        self._limit, self._title, self._label = seconds, title, label
        self._event: Improvement | None = None
        self._bound, self._source = 0, ""
        self._step, self._seconds = 0, 0.0
        self._news = False
        self._lock = threading.Lock()  # improvements come from the threads of all workers

    def __enter__(self) -> ProgressDisplay:
        return self

    def __exit__(self, *failure: object) -> None:
        with self._lock:
            if self.live:
                self.write("")
            elif self._news:
                self._draw()

    def improved(self, event: Improvement) -> None:
        with self._lock:
            self._event, self._news = event, True
            self._advance(event)

    def looked(self, progress: Progress) -> bool:
        with self._lock:
            self._advance(progress)
        return False

    def _advance(self, news: Improvement | Progress) -> None:
        self._step, self._seconds = max(news.step, self._step), news.seconds
        if news.lower_bound >= self._bound:
            self._bound, self._source = news.lower_bound, f" ({news.bound_source})" if news.bound_source else ""
        if (self._news or self.live) and self.due:
            self._draw()

    def _draw(self) -> None:
        event, self._news = self._event, False
        if event is None:
            return
        if self._title:
            self.write(self._label + self._title, stays=True)
            self._title = ""
        gap = 100 * (event.makespan / self._bound - 1) if self._bound else 0.0
        text = f"makespan {event.makespan}, bound {self._bound}{self._source}, gap {gap:.2f} %"
        if self.live:
            text += self._pace()
        else:
            text = f"{event.seconds:8.2f} s, step {event.step:,}: {text}"
        self.write(self._label + text)

    def _pace(self) -> str:
        speed = self._step / max(self._seconds, 1e-3)
        text = f", {speed:,.{0 if speed >= 10 else 1}f} steps/s" if self._step else ""
        if self._limit is None:
            return f"{text}, {self._step:,} steps, {self._seconds:.0f} s"
        return f"{text}, {max(self._limit - self._seconds, 0):.0f} s left"


class TrainingDisplay(Line):
    """A bar within each batch, on a terminal, and a line that stays for the first batch and every validation."""

    def __init__(self, stream: TextIO, batches: int) -> None:
        super().__init__(stream)
        self._batches = batches
        self._latest = ""
        self._begin = time.perf_counter()
        self._before: int | None = None  # batches of an earlier run, with which this one goes on

    def advance(self, batch: int, share: float) -> None:
        """So much of a batch is done: one may take minutes."""
        if self.live and self.due:
            bar = f"[{'#' * round(_BAR * share):{_BAR}}]"
            self.write(f"{bar} batch {batch}/{self._batches}, {self._left(batch - 1 + share)}{self._latest}")

    def show(self, figures: dict[str, Any]) -> None:
        """A batch is done."""
        batch, first, validated = figures["batch"], not self._latest, "validation" in figures
        text = f"batch {batch}/{self._batches}, {figures['size']}: improved by {figures['improvement']:.2f} %"
        text += "".join(f", {name} {figures[name]:.2f}" for name in ("entropy", "spread", "slope") if name in figures)
        self._latest = f"; {text}"
        text += f", {self._left(batch)}"
        if validated:
            text += f", validation {figures['validation']:.3f} %"
        if self.live or first or validated:
            self.write(text, stays=validated)

    def _left(self, done: float) -> str:
        """The time that is left at the pace of this run so far."""
        if self._before is None:
            self._before = math.ceil(done) - 1
        pace = (time.perf_counter() - self._begin) / (done - self._before)
        return f"{duration(pace * (self._batches - done))} left"


def duration(seconds: float) -> str:
    """Roughly, for people."""
    minutes = round(seconds / 60)
    if minutes >= 60:
        return f"{minutes // 60} h {minutes % 60:02d} min"
    return f"{minutes} min" if seconds >= 100 else f"{seconds:.0f} s"
