"""Run cells, here or in several processes, and keep each result as soon as it is there."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from multiprocessing import get_context
from typing import Any

from integrations.bench.cells import Cell, run_cell
from integrations.bench.store import Store
from l2s_plugin.errors import L2SError

Report = Callable[[int, int, float, dict[str, Any]], None]  # done, all, seconds left, newest row


def run(cells: Sequence[Cell], store: Store, processes: int, report: Report) -> bool:
    """Run what the store does not have yet; False when interrupted."""
    missing = [cell for cell in cells if cell.key not in store.rows]
    begin = time.perf_counter()
    try:
        for done, row in enumerate(_results(missing, processes), 1):
            if row["stopped_by"] == "interrupt":  # cut short: not a result
                return False
            store.add(row)
            left = (time.perf_counter() - begin) / done * (len(missing) - done)
            report(done, len(missing), left, row)
    except KeyboardInterrupt:
        return False
    return True


def _results(cells: Sequence[Cell], processes: int) -> Iterator[dict[str, Any]]:
    if processes == 1:
        for cell in cells:
            yield _run(cell)
        return
    with ProcessPoolExecutor(processes, mp_context=get_context("spawn"), initializer=_one_thread) as pool:
        waiting = iter(cells)
        running: set[Future[dict[str, Any]]] = set()
        try:
            while True:
                for cell in waiting:
                    running.add(pool.submit(_run, cell))
                    if len(running) >= 2 * processes:  # few in the queue: Ctrl-C ends soon
                        break
                if not running:
                    return
                finished, running = wait(running, return_when=FIRST_COMPLETED)
                for future in finished:
                    yield future.result()
        finally:
            pool.shutdown(wait=False, cancel_futures=True)


def _run(cell: Cell) -> dict[str, Any]:
    try:
        return run_cell(cell)
    except L2SError as error:
        raise L2SError(f"{cell.key}: {error}") from None


def _one_thread() -> None:
    """Runs side by side share the cores: each keeps to one."""
    os.environ["OMP_NUM_THREADS"] = "1"
