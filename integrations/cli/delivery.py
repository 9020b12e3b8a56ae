"""Writes and prints the results of `l2s solve`, one instance after the other: what is done stays done."""

from __future__ import annotations

import json
from types import TracebackType
from typing import TYPE_CHECKING

import click

from integrations.cli.outputs import STANDARD_OUTPUT, Files
from l2s_plugin.files import write_text

if TYPE_CHECKING:
    from heuristics.result import Result


class Delivery:
    """Takes results one by one; use it as a context manager, so that a report about several is written at the end.

    Parameters
    ----------
    plans
        The files of every instance.
    as_json
        Print JSON, one object per line, instead of a summary.
    command
        What the report says about where it comes from.
    gantt_by
        Rows of the charts: `machine` or `job`.
    """

    def __init__(self, plans: list[Files], as_json: bool, command: str, gantt_by: str | None = None) -> None:
        self.results: list[Result] = []
        self._plans = plans
        self._as_json = as_json
        self._command = command
        self._drawing = {"by": gantt_by} if gantt_by else {}  # a plugin's renderer may know no such option
        self._silent = STANDARD_OUTPUT in plans[0]
        self._pages: dict[str, list[Result]] = {}

    def __enter__(self) -> Delivery:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        for path in list(self._pages):
            self._write_report(path)
        if len(self._plans) > 1 and self.results:
            self._say(f"\n{overview(self.results)}")

    def add(self, result: Result, note: str | None = None) -> None:
        """Print the summary of the next instance and write its files."""
        files = self._plans[len(self.results)]
        self._say("\n" * bool(self.results) + result.summary() + (f"\n{note}" if note else ""))
        self.results.append(result)
        if self._as_json:
            click.echo(result.to_json())
        self._write(result, files)
        if files.report:
            self._pages.setdefault(files.report, []).append(result)
            if all(later.report != files.report for later in self._plans[len(self.results) :]):
                self._write_report(files.report)

    def _write(self, result: Result, files: Files) -> None:
        if files.output:
            result.schedule.save(files.output)
            self._say(f"wrote {files.output}")
        if files.history:
            result.save_history(files.history)
            self._say(f"wrote {files.history}")
        if files.gantt:
            result.schedule.gantt(files.gantt, **self._drawing)
            self._say(f"wrote {files.gantt}")
        if files.stats_dir:
            write_text(files.stats_dir, json.dumps(result.to_dict(), indent=1) + "\n")
            self._say(f"wrote {files.stats_dir}")

    def _write_report(self, path: str) -> None:
        from integrations.report import save_report

        save_report(self._pages.pop(path), path, command=self._command)
        self._say(f"wrote {path}")

    def _say(self, text: str) -> None:
        """For people; standard output belongs to the program where data is printed."""
        if not self._as_json and not self._silent:
            click.echo(text)


def overview(results: list[Result]) -> str:
    """One line about several results."""
    optimal = sum(result.status == "OPTIMAL" for result in results)
    gap = 100 * sum(result.gap for result in results) / len(results)
    return f"{len(results)} instances: {optimal} proven optimal, mean gap to the bound {gap:.2f} %"
