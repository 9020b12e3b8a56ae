"""Processes of this machine as an executor: one that dies takes its own task with it, and nothing else.

The pool of the standard library ends all its processes when one of them dies. Here every process has a thread of its
own that hands it one task at a time over a pipe, and starts another process when it finds the pipe closed.
"""

from __future__ import annotations

import atexit
import multiprocessing
import os
import pickle
import signal
import sys
import threading
from collections.abc import Callable
from concurrent.futures import Executor, Future
from multiprocessing.connection import Connection
from queue import Empty, SimpleQueue
from typing import Any

from l2s_plugin.devices import available_cores
from l2s_plugin.errors import whole_number

Call = tuple[Callable[..., Any], tuple[Any, ...], dict[str, Any]]


class WorkerDied(RuntimeError):  # noqa: N818 - says what happened
    """The process that ran a task ended before the task did."""


class ProcessPool(Executor):
    """Runs calls in freshly started ("spawn") processes, each of which keeps to one thread.

    Programs need the usual `if __name__ == "__main__":`, because every process imports the main module.

    Parameters
    ----------
    processes
        How many at most; as many as there are cores when None.
    """

    def __init__(self, processes: int | None = None) -> None:
        if processes is not None:
            whole_number("processes", processes, 1)
        self._max_workers = processes or available_cores()  # the name other executors have for it
        self._calls: SimpleQueue[tuple[Future[Any], Call] | None] = SimpleQueue()
        self._lock = threading.Lock()
        self._threads: list[threading.Thread] = []
        self._workers: set[_Worker] = set()
        self._closed = self._killed = False
        # before multiprocessing waits for processes that wait for us
        atexit.register(self.kill)

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        with self._lock:
            if self._closed:
                raise RuntimeError("cannot schedule new futures after shutdown")
            future: Future[Any] = Future()
            self._calls.put((future, (fn, args, kwargs)))
            if len(self._threads) < self._max_workers:
                self._threads.append(threading.Thread(target=self._serve, daemon=True))
                self._threads[-1].start()
        return future

    def _serve(self) -> None:
        """Hand calls to one process, or to its successor when it dies, until there are no more."""
        worker: _Worker | None = None
        while (entry := self._calls.get()) is not None:
            future, call = entry
            if not future.set_running_or_notify_cancel():
                continue
            try:
                worker = worker or self._hire()
                succeeded, value = worker.run(call)
            except Exception as error:
                if isinstance(error, WorkerDied):
                    self._dismiss(worker)
                    worker = None
                future.set_exception(error)
            else:
                future.set_result(value) if succeeded else future.set_exception(value)
        self._dismiss(worker)

    def _hire(self) -> _Worker:
        with self._lock:
            if self._killed:
                raise WorkerDied("the pool was killed")
            worker = _Worker()
            self._workers.add(worker)
        return worker

    def _dismiss(self, worker: _Worker | None) -> None:
        if worker is not None:
            with self._lock:
                self._workers.discard(worker)
            worker.close()

    def interrupt(self) -> None:
        """Ask the running searches for their incumbents, as Ctrl-C does."""
        with self._lock:
            for worker in self._workers:
                worker.interrupt()

    def kill(self) -> None:
        """End everything at once; what is running fails with `WorkerDied`."""
        with self._lock:
            self._killed = True
            for worker in self._workers:
                worker.process.kill()
        self.shutdown(wait=False, cancel_futures=True)
        atexit.unregister(self.kill)

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """See `concurrent.futures.Executor`."""
        with self._lock:
            self._closed = True
        if cancel_futures:
            self._cancel_waiting()
        for _ in self._threads:
            self._calls.put(None)
        if wait:
            for thread in self._threads:
                thread.join()
            atexit.unregister(self.kill)

    def _cancel_waiting(self) -> None:
        while True:
            try:
                entry = self._calls.get_nowait()
            except Empty:
                return
            if entry is not None:
                entry[0].cancel()
                entry[0].set_running_or_notify_cancel()


class _Worker:
    """One process and our end of the pipe to it."""

    def __init__(self) -> None:
        context = multiprocessing.get_context("spawn")
        self._connection, theirs = context.Pipe()
        self.process = context.Process(target=_work, args=(theirs,), daemon=True)
        self._busy = False
        self.process.start()
        theirs.close()  # or we would not notice its end

    def run(self, call: Call) -> tuple[bool, Any]:
        """Whether the call succeeded, and what it returned or raised."""
        message = pickle.dumps(call)
        self._busy = True
        try:
            self._connection.send_bytes(message)
            answer = self._connection.recv_bytes()
        except (EOFError, OSError):
            self.process.join()
            raise WorkerDied(f"the worker process died (exit code {self.process.exitcode})") from None
        finally:
            self._busy = False
        return pickle.loads(answer)

    def interrupt(self) -> None:
        if self._busy and self.process.is_alive() and self.process.pid:
            os.kill(self.process.pid, signal.SIGINT)

    def close(self) -> None:
        self._connection.close()
        self.process.join()


def _work(connection: Connection) -> None:
    """Life of a process: answer calls until the other end closes the pipe."""
    if signal.getsignal(signal.SIGINT) != signal.SIG_IGN:
        signal.signal(
            signal.SIGINT, lambda *_: None
        )  # searches listen to it while they run; nothing else is to be stopped
    threading.Thread(target=_end_with_parent, daemon=True).start()
    keep_to_one_thread()
    while True:
        try:
            message = connection.recv_bytes()
        except EOFError:
            return
        connection.send_bytes(_answer(message))


def _answer(message: bytes) -> bytes:
    try:
        function, args, kwargs = pickle.loads(message)
        return pickle.dumps((True, function(*args, **kwargs)))
    except BaseException as error:
        try:
            return pickle.dumps((False, error))
        except Exception:
            return pickle.dumps((False, RuntimeError(f"{type(error).__name__}: {error}")))


def _end_with_parent() -> None:
    """A search that nobody waits for any more would only take the cores from others."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def keep_to_one_thread() -> None:
    """Searches side by side share the cores: libraries that start threads of their own shall use one."""
    os.environ |= {"OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}  # read when they are imported
    if "torch" in sys.modules:
        sys.modules["torch"].set_num_threads(1)
