"""Everything that the command line prints goes through here: lines for people or programs, and progress.

Progress on standard error is a line that renews itself on a terminal, and a few lines that stay elsewhere.
"""

from __future__ import annotations

import io
import math
import os
import re
import shutil
import sys
import threading
import time
import warnings
from contextlib import suppress
from typing import TYPE_CHECKING, Any, TextIO

import click

from l2s_plugin.objectives import MAKESPAN

if TYPE_CHECKING:
    from heuristics.result import Improvement
    from l2s_plugin.stop import Progress

INTERVAL = 0.2  # seconds between two lines of progress
_BAR = 20  # characters

# control characters but tab and line end, what turns the direction of text around, and halves of surrogate pairs
_UNSAFE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")


def shown(text: str) -> str:
    """The text without power over the terminal: names come from files. The escapes are those of JSON."""
    return _UNSAFE.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


def echo(text: str, err: bool = False) -> None:
    """Print a line; nobody has to read standard error, but a standard output that fails is an `OSError`."""
    try:
        click.echo(shown(text), err=err)
    except OSError:
        if not err:
            raise


class _Unheard(io.TextIOWrapper):
    """A standard error that never fails: its reader may leave, and the run goes on."""

    def write(self, text: str) -> int:
        with suppress(OSError):
            super().write(text)
        return len(text)

    def flush(self) -> None:
        with suppress(OSError):
            super().flush()


def prepare_streams() -> None:
    """Make the standard streams safe to use, whatever they are connected to.

    A stream that was closed (`>&-`) is opened again, so that no file gets its number: standard output fails from then
    on, standard error is silent.
    """
    for number, (name, mode) in enumerate((("stdin", os.O_RDONLY), ("stdout", os.O_RDONLY), ("stderr", os.O_WRONLY))):
        if getattr(sys, name) is None:
            os.dup2(os.open(os.devnull, mode), number)
            setattr(sys, name, open(number, "w" if number else "r", closefd=False))  # noqa: SIM115
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")
    binary = open(2, "wb", closefd=False)  # noqa: SIM115
    sys.stderr = _Unheard(binary, sys.stderr.encoding, "backslashreplace", line_buffering=True)
    warnings.formatwarning = _one_line


def _one_line(
    message: Warning | str, category: type[Warning], filename: str, lineno: int, line: str | None = None
) -> str:
    return f"{category.__name__}: {shown(' '.join(str(message).split()))}\n"


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
        self._bound, self._source = -math.inf, ""
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
        text = f"{event.instance.objective} {event.makespan}, bound {self._bound}{self._source}"
        if event.instance.objective == MAKESPAN:
            text += f", gap {100 * (event.makespan / self._bound - 1) if self._bound else 0.0:.2f} %"
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
