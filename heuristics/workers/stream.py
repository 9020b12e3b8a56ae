"""Run tasks on any executor: outcomes stream in, and a task that was lost with its worker runs again."""

from __future__ import annotations

import math
import os
import traceback
import uuid
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, CancelledError, Executor, Future, wait
from dataclasses import dataclass
from textwrap import shorten
from typing import Any

from heuristics.monitor import interrupt_threads
from heuristics.workers.processes import ProcessPool, keep_to_one_thread
from l2s_plugin.containment import CtrlC, ctrl_c_told_apart, describe
from l2s_plugin.errors import L2SError, whole_number

Executors = Executor | Callable[[], Executor] | None

TRIES = 3
_LOOK = 0.1  # seconds between two looks at `interrupted`
_GRACE = 1.0  # seconds that running tasks get to return their incumbents after Ctrl-C
_HERE = uuid.uuid4().hex  # another one in every process but forked ones, which have another number


@dataclass(frozen=True)
class Outcome:
    """What became of a task: a value, or else an error in one line.

    `details` is the traceback of an exception nobody foresaw, `tries` how often the task was begun.
    """

    task: Any
    value: Any = None
    error: str | None = None
    details: str = ""
    tries: int = 1


def stream(
    function: Callable[[Any], Any],
    tasks: Iterable[Any],
    executor: Executors = None,
    *,
    tries: int = TRIES,
    interrupted: Callable[[], bool] = lambda: False,
) -> Iterator[Outcome]:
    """Call `function(task)` for every task and yield the outcomes in the order in which they are there.

    A task that raises has failed. A task that is lost - its worker died, the cluster cancelled it - is given to the
    executor again, `tries` times in all. After Ctrl-C, the outcomes that can still be had follow, and then
    `KeyboardInterrupt`; `interrupted`, asked ten times a second, has the same effect when it says so.

    Function and tasks go to other processes; for `executor` and `tries` see `portfolio`.
    """
    whole_number("tries", tries, 1)
    if not (executor is None or isinstance(executor, Executor) or callable(executor)):
        hint = "; its get_executor() is one" if hasattr(executor, "get_executor") else ""
        raise L2SError(f"not an executor: {' '.join(repr(executor).split())}{hint}")
    return _Run(function, tasks, executor, tries).outcomes(interrupted)


class _Run:
    """Tasks, waiting and running with the number of times they were begun, and the executor: given, or made here and
    then ours to replace and to close."""

    def __init__(self, function: Callable[[Any], Any], tasks: Iterable[Any], given: Executors, tries: int) -> None:
        self._waiting = deque((task, 0) for task in tasks)
        self._running: dict[Future[Any], tuple[Any, int]] = {}
        self._function, self._tries = function, tries
        self._make = None if isinstance(given, Executor) else given or ProcessPool
        self._executor: Any = given

    def outcomes(self, interrupted: Callable[[], bool]) -> Iterator[Outcome]:
        if self._make is not None:
            self._executor = self._make()
        finished = False
        try:
            while self._waiting or self._running:
                yield from self._submit()
                yield from self._settle(interrupted)
            finished = True
        except KeyboardInterrupt:
            yield from self._rescue()
            raise
        finally:
            self._close(finished)

    def _submit(self) -> Iterator[Outcome]:
        """Keep all workers busy, without a queue: when a pool breaks, what it had not begun is not lost."""
        while self._waiting and len(self._running) < getattr(self._executor, "_max_workers", math.inf):
            task, tries = self._waiting.popleft()
            try:
                self._running[self._begin(task)] = task, tries + 1
            except RuntimeError as error:
                yield Outcome(task, error=f"the executor takes no more tasks: {error}", tries=tries + 1)

    def _begin(self, task: Any) -> Future[Any]:
        """Submit to the executor, or to its successor if it turns out to be broken."""
        call: Any = _guarded, (_HERE, os.getpid()), self._function, task
        try:
            return self._executor.submit(*call)
        except RuntimeError:  # broken or shut down
            if self._make is None:
                raise
            self._executor = self._make()
            return self._executor.submit(*call)

    def _settle(self, interrupted: Callable[[], bool]) -> Iterator[Outcome]:
        """Wait until something is finished."""
        done: set[Future[Any]] = set()
        while self._running and not done:
            if interrupted():
                raise KeyboardInterrupt
            done, _ = wait(self._running, _LOOK, FIRST_COMPLETED)
        for future in done:
            task, tries = self._running.pop(future)
            loss = _loss(future)
            if loss is None:
                yield Outcome(task, **future.result(), tries=tries)
            elif tries < self._tries and type(loss).__name__ != "KilledWorker":  # dask has tried again by itself
                self._waiting.append((task, tries))
            else:
                times = f"{tries} times" if tries > 1 else "once"
                reason = shorten(str(loss), 200, placeholder=" ...") or type(loss).__name__
                yield Outcome(task, error=f"lost {times}: {reason}", tries=tries)

    def _rescue(self) -> Iterator[Outcome]:
        """What the running tasks have, if they hear of the interrupt."""
        for future in self._running:
            future.cancel()
        interrupt_threads()
        _, deaf = wait(self._running, _GRACE)
        if deaf and isinstance(self._executor, ProcessPool):
            self._executor.interrupt()
            wait(deaf, _GRACE)
        for future, (task, tries) in self._running.items():
            if future.done() and _loss(future) is None:
                yield Outcome(task, **future.result(), tries=tries)

    def _close(self, finished: bool) -> None:
        for future in self._running:  # of an executor that stays open
            future.cancel()
        if self._make is None:
            return
        if finished:
            self._executor.shutdown()
        elif isinstance(self._executor, ProcessPool):
            self._executor.kill()
        else:
            self._executor.shutdown(wait=False)  # all that was submitted is cancelled; loky has no cancel_futures


def _guarded(origin: tuple[str, int], function: Callable[[Any], Any], task: Any) -> dict[str, Any]:
    """Value, or error and details; an exception of the future itself then always means that the task was lost."""
    if origin != (_HERE, os.getpid()):  # how many threads torch has here is for the user to say
        keep_to_one_thread()
    try:
        with ctrl_c_told_apart():
            return {"value": function(task)}
    except CtrlC:
        raise
    except BaseException as error:
        return {"error": describe(error), "details": "" if isinstance(error, L2SError) else traceback.format_exc()}


def _loss(future: Future[Any]) -> BaseException | None:
    """Why a finished task was lost, if it was."""
    return CancelledError("cancelled") if future.cancelled() else future.exception()
