"""A cell: one run of one method on one instance with one seed; small, picklable, and recognised when run again.

Cells run here, in several processes or on a cluster, and each result is kept as soon as it is there: a JSON line on
disk, so that a killed run loses one cell at most.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, replace
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import Any

from heuristics.configuration import Configuration, run
from heuristics.workers.processes import ProcessPool
from heuristics.workers.stream import stream
from integrations.cli.parameters import LEARNED, takes
from l2s_plugin import __version__
from l2s_plugin.errors import L2SError
from l2s_plugin.files import append_text, read_bytes
from l2s_plugin.formats.l2s_json import L2SJson
from l2s_plugin.loader import load
from l2s_plugin.policy.library import describe, find_policy, installed_policies
from l2s_plugin.records import check, parse_json

Report = Callable[[int, int, float, dict[str, Any]], None]  # done, all, seconds left, newest row

_ROW = {  # what the tables and curves are made of; a row holds more
    "key": str, "group": str, "label": str, "instance": str, "method": str, "seed": int, "makespan": int,
    "lower_bound": int, "upper_bound": int | None, "steps": int, "seconds": float, "time_limit": float | None,
    "history": list[tuple[float, int, int]],
}  # fmt: skip


@dataclass(frozen=True)
class Cell:
    """What to run; two equal cells are the same work. `content` stands for what names and paths do not tell."""

    instance: str
    group: str
    way: Configuration
    content: str

    @property
    def key(self) -> str:
        """Recognises a finished cell in the results of an earlier run."""
        return f"{self} | {self.content}"

    def __str__(self) -> str:
        parts = {name: value for name, value in self.way.given.items() if name not in ("stop", "seed", "workers")}
        settings = ", ".join(f"{name}={value}" for name, value in {"method": self.way.method, **parts}.items())
        stop = self.way.limits
        budget = f"{stop.steps} steps" if stop.steps is not None else f"{stop.seconds:g} s"
        return f"{self.instance} | {settings} | {budget} | seed {self.way.seed}"


def cells_of(groups: Mapping[str, Iterable[str]], ways: Iterable[Configuration], seeds: int) -> list[Cell]:
    """Every way on every instance with every seed; a change of instance, policies or package is new work."""
    instances = {name: _digest(L2SJson().write(load(name))) for names in groups.values() for name in names}
    policies = [(way, f"policies {_policies(way)}, version {__version__}") for way in ways]
    return [
        Cell(name, group, replace(way, seed=seed), f"instance {instances[name]}, {others}")
        for group, names in groups.items()
        for way, others in policies
        for name in names
        for seed in range(1, seeds + 1)
    ]


def _policies(way: Configuration) -> str:
    """A digest of the policies that may decide: the one named, and those installed, which are the defaults."""
    name, _, policy = (way.selector or "").partition(":")
    files = [find_policy(policy).source] if policy and name in LEARNED else []
    if takes(str(way.method), "polisher") or name in LEARNED:
        installed = (describe(name, load_it) for name, load_it in installed_policies())
        files += [each["source"] for each in installed if each["error"] is None]
    return _digest(*map(read_bytes, files)) if files else "none"


def _digest(*parts: bytes) -> str:
    return sha256(b"".join(sha256(part).digest() for part in parts)).hexdigest()[:16]


def run_cell(cell: Cell) -> dict[str, Any]:
    """Run a cell; the row that is kept."""
    way, stop = cell.way, cell.way.limits
    result = run(load(cell.instance), way)
    row = {"key": cell.key, "group": cell.group, "label": str(way), "seed": way.seed}
    row |= {"step_limit": stop.steps, "time_limit": stop.seconds, "init": way.initial}
    return row | {name: value for name, value in result.to_dict().items() if name not in row}


class Store:
    """The results of a benchmark in a folder; without a folder they are kept in memory only."""

    def __init__(self, folder: Path | None) -> None:
        self.folder = folder
        self.rows: dict[str, dict[str, Any]] = {}
        if folder is not None:
            try:
                folder.mkdir(parents=True, exist_ok=True)
                self._read(folder / "cells.jsonl")
            except OSError as error:
                raise L2SError(f"cannot use {folder}: {error.strerror}") from error

    def _read(self, path: Path) -> None:
        if not path.exists():
            return
        lines = path.read_bytes().split(b"\n")
        whole = lines[:-1]  # what follows the last line end is a line that was being written when the run was killed
        for number, line in enumerate(whole, 1):
            try:
                row = check(parse_json(line, "line"), _ROW, "cell")
                if min(row["makespan"], row["steps"], row["seconds"]) < 0:
                    raise L2SError("numbers below 0")
            except L2SError as error:
                message = f"{path}:{number}: not a finished cell ({error}); remove the line to run it again"
                raise L2SError(message) from error
            self.rows[row["key"]] = row
        if lines[-1]:
            with path.open("rb+") as file:
                file.truncate(sum(len(line) + 1 for line in whole))

    def add(self, row: dict[str, Any]) -> None:
        """Keep a finished cell."""
        self.rows[row["key"]] = row
        if self.folder is not None:
            append_text(self.folder / "cells.jsonl", json.dumps(row) + "\n")


def run_cells(
    cells: Sequence[Cell], store: Store, processes: int, report: Report, executor: Executor | None = None
) -> bool:
    """Run what the store does not have yet; False when interrupted."""
    missing = [cell for cell in cells if cell.key not in store.rows]
    begin = time.perf_counter()
    try:
        for done, row in enumerate(_results(missing, processes, executor), 1):
            if row["stopped_by"] == "interrupt":  # cut short: not a result
                return False
            store.add(row)
            left = (time.perf_counter() - begin) / done * (len(missing) - done)
            report(done, len(missing), left, row)
    except KeyboardInterrupt:
        return False
    return True


def _results(cells: Sequence[Cell], processes: int, executor: Executor | None) -> Iterator[dict[str, Any]]:
    if processes == 1 and executor is None:
        for cell in cells:
            try:
                yield run_cell(cell)
            except L2SError as error:
                raise L2SError(f"{cell}: {error}") from None
        return
    for outcome in stream(run_cell, cells, executor or partial(ProcessPool, processes)):
        if outcome.error is not None:
            raise L2SError(f"{outcome.task}: {outcome.error}")
        yield outcome.value
