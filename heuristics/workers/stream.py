"""Run tasks on any executor: outcomes stream in, and a task that was lost with its worker runs again."""

from __future__ import annotations

import os
import traceback
import uuid
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, CancelledError, Executor, Future, wait
from dataclasses import dataclass
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


@dataclass
class _Attempt:
    task: Any
    tries: int = 0


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
    `KeyboardInterrupt`.

    Parameters
    ----------
    function, tasks
        Both go to other processes: a function of a module, and data that can be pickled.
    executor
        An executor, which stays open; or a function that makes one, called again when it breaks; or None for a
        `ProcessPool`.
    tries
        How often a task is begun at most.
    interrupted
        Asked ten times a second; True has the same effect as Ctrl-C.
    """
    whole_number("tries", tries, 1)
    if not (executor is None or isinstance(executor, Executor) or callable(executor)):
        hint = "; its get_executor() is one" if hasattr(executor, "get_executor") else ""
        raise L2SError(f"not an executor: {' '.join(repr(executor).split())}{hint}")
    return _stream(function, tasks, executor, tries, interrupted)


def _stream(
    function: Callable[[Any], Any],
    tasks: Iterable[Any],
    executor: Executors,
    tries: int,
    interrupted: Callable[[], bool],
) -> Iterator[Outcome]:
    run = _Run(function, deque(map(_Attempt, tasks)), _Source(executor), tries)
    finished = False
    try:
        while run.waiting or run.running:
            yield from run.submit()
            yield from run.settle(interrupted)
        finished = True
    except KeyboardInterrupt:
        yield from run.rescue()
        raise
    finally:
        for future in run.running:  # of an executor that stays open
            future.cancel()
        run.source.close(finished)


class _Source:
    """The executor in use: given, or made here and then ours to replace and to close."""

    def __init__(self, given: Executors) -> None:
        self._make: Callable[[], Executor] | None = None if isinstance(given, Executor) else given or ProcessPool
        self.executor = given if isinstance(given, Executor) else (given or ProcessPool)()

    @property
    def capacity(self) -> int | None:
        """How many tasks run at once, where the executor says so."""
        return getattr(self.executor, "_max_workers", None)

    def submit(self, function: Callable[..., Any], *arguments: Any) -> Future[Any]:
        """Submit to the executor, or to its successor if it turns out to be broken."""
        try:
            return self.executor.submit(function, *arguments)
        except RuntimeError:  # broken or shut down
            if self._make is None:
                raise
            self.executor = self._make()
            return self.executor.submit(function, *arguments)

    def close(self, finished: bool) -> None:
        if self._make is None:
            return
        if finished:
            self.executor.shutdown()
        elif isinstance(self.executor, ProcessPool):
            self.executor.kill()
        else:
            self.executor.shutdown(wait=False)  # all that was submitted is cancelled; loky has no cancel_futures


@dataclass
class _Run:
    function: Callable[[Any], Any]
    waiting: deque[_Attempt]
    source: _Source
    tries: int

    def __post_init__(self) -> None:
        self.running: dict[Future[Any], _Attempt] = {}

    def submit(self) -> Iterator[Outcome]:
        """Keep all workers busy, without a queue: when a pool breaks, what it had not begun is not lost."""
        while self.waiting and len(self.running) < (self.source.capacity or len(self.running) + 1):
            attempt = self.waiting.popleft()
            attempt.tries += 1
            try:
                self.running[self.source.submit(_guarded, _process(), self.function, attempt.task)] = attempt
            except RuntimeError as error:
                yield Outcome(attempt.task, error=f"the executor takes no more tasks: {error}", tries=attempt.tries)

    def settle(self, interrupted: Callable[[], bool]) -> Iterator[Outcome]:
        """Wait until something is finished."""
        done: set[Future[Any]] = set()
        while self.running and not done:
            if interrupted():
                raise KeyboardInterrupt
            done, _ = wait(self.running, _LOOK, FIRST_COMPLETED)
        for future in done:
            attempt = self.running.pop(future)
            outcome = _outcome(future, attempt)
            if outcome is not None:
                yield outcome
            elif attempt.tries < self.tries and not _given_up(future):
                self.waiting.append(attempt)
            else:
                times = f"{attempt.tries} times" if attempt.tries > 1 else "once"
                yield Outcome(attempt.task, error=f"lost {times}: {_loss(future)}", tries=attempt.tries)

    def rescue(self) -> Iterator[Outcome]:
        """What the running tasks have, if they hear of the interrupt."""
        for future in self.running:
            future.cancel()
        interrupt_threads()
        _, deaf = wait(self.running, _GRACE)
        if deaf and isinstance(self.source.executor, ProcessPool):
            self.source.executor.interrupt()
            wait(deaf, _GRACE)
        for future, attempt in self.running.items():
            outcome = _outcome(future, attempt) if future.done() else None
            if outcome is not None:
                yield outcome


def _process() -> tuple[str, int]:
    """Which process this is, among those of all machines."""
    return _HERE, os.getpid()


def _guarded(origin: tuple[str, int], function: Callable[[Any], Any], task: Any) -> tuple[Any, str | None, str]:
    """Value, error and details; an exception of the future itself then always means that the task was lost."""
    if origin != _process():  # how many threads torch has here is for the user to say
        keep_to_one_thread()
    try:
        with ctrl_c_told_apart():
            return function(task), None, ""
    except CtrlC:
        raise
    except BaseException as error:
        return None, describe(error), "" if isinstance(error, L2SError) else traceback.format_exc()


def _outcome(future: Future[Any], attempt: _Attempt) -> Outcome | None:
    """None when the task was lost."""
    if future.cancelled() or future.exception() is not None:
        return None
    value, error, details = future.result()
    return Outcome(attempt.task, value, error, details, attempt.tries)


def _given_up(future: Future[Any]) -> bool:
    """Whether the executor has tried again by itself: dask does, until a task has cost it four workers."""
    return not future.cancelled() and type(future.exception()).__name__ == "KilledWorker"


def _loss(future: Future[Any]) -> str:
    error = CancelledError("cancelled") if future.cancelled() else future.exception()
    text = " ".join(str(error).split()) or type(error).__name__
    return text if len(text) <= 200 else f"{text[:200]} ..."
