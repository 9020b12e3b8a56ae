"""A cell: one run of one method on one instance with one seed; small, picklable, and recognised when run again.

Cells run here, in several processes or on a cluster, and each result is kept as soon as it is there.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, replace
from functools import partial
from hashlib import sha256
from typing import Any

from heuristics.configuration import Configuration, run
from heuristics.workers.processes import ProcessPool
from heuristics.workers.stream import stream
from integrations.bench.store import Store
from integrations.cli.search_options import LEARNED, takes
from l2s_plugin import __version__
from l2s_plugin.errors import L2SError
from l2s_plugin.files import read_bytes
from l2s_plugin.formats.l2s_json import L2SJson
from l2s_plugin.loader import load
from l2s_plugin.policy.library import describe, find_policy, installed_policies

Report = Callable[[int, int, float, dict[str, Any]], None]  # done, all, seconds left, newest row


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
