"""Writes and prints the results of `l2s solve`, one instance after the other: what is done stays done."""

from __future__ import annotations

import json
import signal
import threading
from collections.abc import Callable
from functools import partial
from types import FrameType
from typing import TYPE_CHECKING, Any

from integrations.cli.paths import STANDARD_OUTPUT, Files
from integrations.cli.terminal import echo
from l2s_plugin.files import write_text

if TYPE_CHECKING:
    from heuristics import Replan
    from heuristics.result import Result

Again = tuple[str, str] | None  # what a command promises, and the command


class Delivery:
    """Takes results one by one; use it as a context manager, so that a report about several is written at the end.

    Files come before everything that is printed, and a file that cannot be written does not stop the others. `plans`
    are the files of every instance, `gantt_by` says what the rows of charts are: `machine` or `job`, and `sort_by`
    likewise how the rows of tables are sorted.
    """

    def __init__(
        self, plans: list[Files], as_json: bool, gantt_by: str | None = None, sort_by: str | None = None
    ) -> None:
        self.results: list[Result] = []
        self._plans = plans
        self._as_json = as_json
        self._drawing = {"by": gantt_by} if gantt_by else {}  # a plugin's renderer may know no such option
        self._sort_by = sort_by or "machine"
        self._silent = STANDARD_OUTPUT in plans[0].values()
        self._pages: dict[str, list[tuple[Result, Again]]] = {}
        self._unheard: OSError | None = None
        self._news: Replan | None = None

    def __enter__(self) -> Delivery:
        return self

    def __exit__(self, kind: type[BaseException] | None, *details: object) -> None:
        failures: list[Exception] = []
        lines = [line for path in list(self._pages) for line in self._write({path: self._save_report}, failures)]
        if len(self._plans) > 1 and self.results:
            lines.append(f"\n{overview(self.results)}")
        self._say(lines)
        failures += [self._unheard] if self._unheard else []
        if failures and kind is None:
            raise failures[0]

    def add(self, result: Result, again: Again = None, news: Replan | None = None) -> None:
        """Write the files of the next instance and print its summary, with the command to run it again.

        `news` is what there is to say about a plan beside its result: how it differs from the one before.
        """
        told = news or result
        files = self._plans[len(self.results)]
        self.results.append(result)
        failures: list[Exception] = []
        lines = self._write(self._tasks(result, again, files, news), failures)
        if self._as_json:
            self._print(partial(echo, json.dumps(told.to_dict())))
        else:
            summary = "\n" * (len(self.results) > 1) + told.summary()
            self._say([summary, *([": ".join(again)] if again else []), *lines])
        if failures:
            raise failures[0]
        if self._unheard and not set(files.values()) - {STANDARD_OUTPUT}:
            raise self._unheard  # nobody would notice the rest

    def _tasks(
        self, result: Result, again: Again, files: Files, news: Replan | None
    ) -> dict[str, Callable[[str], Any]]:
        """What to write where; standard output, whose reader may have left, comes last."""
        from l2s_plugin.tables import save_plan

        tasks: dict[str, Callable[[str], Any]] = {
            "--output": partial(save_plan, result.schedule, sort_by=self._sort_by),
            "--history": result.save_history,
            "--gantt": partial(result.schedule.gantt, **self._drawing),
            "--stats-dir": lambda path: write_text(path, json.dumps((news or result).to_dict(), indent=1) + "\n"),
        }
        page = files.get("--report")
        if page:
            self._pages.setdefault(page, []).append((result, again))
            self._news = news
            if all(later["--report"] != page for later in self._plans[len(self.results) :]):
                tasks["--report"] = self._save_report
        chosen = {files[option]: task for option, task in tasks.items() if option in files}
        return {path: chosen[path] for path in sorted(chosen, key=STANDARD_OUTPUT.__eq__)}

    def _write(self, tasks: dict[str, Callable[[str], Any]], failures: list[Exception]) -> list[str]:
        """Do every task, keep what goes wrong, and say what was written."""
        lines = []
        for path, save in tasks.items():
            try:
                if path == STANDARD_OUTPUT:
                    self._print(partial(save, path))
                else:
                    save(path)
                    lines.append(f"wrote {path}")
            except Exception as error:
                failures.append(error)
        return lines

    def _save_report(self, path: str) -> None:
        from integrations.report import save_report

        page = self._pages.pop(path)
        commands = "\n".join(again[1] for _, again in page if again)
        told: dict[str, Any] = {}
        if self._news is not None:  # the new plan beside the old one
            told = {"notes": self._news.notes, "before": self._news.old, "changes": self._news.changes}
        save_report([result for result, _ in page], path, command=commands or None, **told)

    def _say(self, lines: list[str]) -> None:
        """For people; standard output belongs to the program where data is printed."""
        if lines and not self._as_json and not self._silent:
            self._print(partial(echo, "\n".join(lines)))

    def _print(self, write: Callable[[], None]) -> None:
        """Print, until standard output fails: that is said at the end, after everything is written."""
        if self._unheard is None:
            try:
                write()
            except OSError as error:
                self._unheard = error


class Patience:
    """Ctrl-C and SIGTERM outside of a search: at once while there is nothing to lose, after the delivery otherwise.

    Searches listen themselves while they run. Set `found` when there is a schedule, and look at `asked` after it has
    been delivered.
    """

    def __init__(self) -> None:
        self.found = False
        self.asked = False
        self._handlers: dict[int, Any] = {}

    def __enter__(self) -> Patience:
        if threading.current_thread() is threading.main_thread():
            for number in (signal.SIGINT, signal.SIGTERM):
                if signal.getsignal(number) is not signal.SIG_IGN:
                    self._handlers[number] = signal.signal(number, self._hear)
        return self

    def __exit__(self, *failure: object) -> None:
        for number, handler in self._handlers.items():
            signal.signal(number, handler)

    def _hear(self, number: int, frame: FrameType | None) -> None:
        if not self.found:
            raise KeyboardInterrupt
        self.asked = True


def overview(results: list[Result]) -> str:
    """One line about several results."""
    verdicts = [result.verdict for result in results if result.value <= result.lower_bound]
    optimal = [
        f"{verdicts.count(verdict)} {verdict}" for verdict in sorted({"proven optimal", *verdicts}, reverse=True)
    ]
    gap = 100 * sum(result.gap for result in results) / len(results)
    return f"{len(results)} instances: {', '.join(optimal)}, mean gap to the bound {gap:.2f} %"
