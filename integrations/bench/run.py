"""Run cells, here, in several processes or on a cluster, and keep each result as soon as it is there."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor
from functools import partial
from typing import Any

from heuristics.workers.processes import ProcessPool
from heuristics.workers.stream import stream
from integrations.bench.cells import Cell, run_cell
from integrations.bench.store import Store
from l2s_plugin.errors import L2SError

Report = Callable[[int, int, float, dict[str, Any]], None]  # done, all, seconds left, newest row


def run(cells: Sequence[Cell], store: Store, processes: int, report: Report, executor: Executor | None = None) -> bool:
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
