"""Processes of this machine as an executor: one that dies takes its own task with it, and nothing else.

The pool of the standard library ends all its processes when one of them dies. Here each of a pool of threads hands its
call to a process over a pipe; one that is found closed is not used again.
"""

from __future__ import annotations

import multiprocessing
import os
import pickle
import signal
import sys
import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from multiprocessing.connection import Connection
from typing import Any
from weakref import WeakSet

from l2s_plugin.devices import available_cores
from l2s_plugin.errors import whole_number

Call = tuple[Callable[..., Any], tuple[Any, ...], dict[str, Any]]


class WorkerDied(RuntimeError):  # noqa: N818 - says what happened
    """The process that ran a task ended before the task did."""


class ProcessPool(ThreadPoolExecutor):
    """Runs calls in freshly started ("spawn") processes, each of which keeps to one thread.

    Programs need the usual `if __name__ == "__main__":`, because every process imports the main module.

    Parameters
    ----------
    processes
        How many at most; as many as there are cores when None.
    """

    def __init__(self, processes: int | None = None) -> None:
        super().__init__(available_cores() if processes is None else whole_number("processes", processes, 1))
        self._lock = threading.Lock()
        self._workers: set[_Worker] = set()
        self._idle: list[_Worker] = []
        self._killed = False
        _pools.add(self)

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        return super().submit(self._run, (fn, args, kwargs))

    def _run(self, call: Call) -> Any:
        message = pickle.dumps(call)
        with self._lock:
            if self._killed:
                raise WorkerDied("the pool was killed")
            worker = self._idle.pop() if self._idle else _Worker()
            self._workers.add(worker)
        try:
            answer = worker.ask(message)
        except WorkerDied:
            with self._lock:
                self._workers.remove(worker)
            raise
        self._idle.append(worker)
        succeeded, value = pickle.loads(answer)
        if not succeeded:
            raise value
        return value

    def interrupt(self) -> None:
        """Ask the running searches for their incumbents, as Ctrl-C does."""
        with self._lock:
            for worker in self._workers.difference(self._idle):
                if worker.process.is_alive() and worker.process.pid:
                    os.kill(worker.process.pid, signal.SIGINT)

    def kill(self) -> None:
        """End everything at once; what is running fails with `WorkerDied`."""
        with self._lock:
            self._killed = True
            for worker in self._workers:
                worker.process.kill()
        self.shutdown(wait=False, cancel_futures=True)

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """See `concurrent.futures.Executor`."""
        super().shutdown(wait, cancel_futures=cancel_futures)
        if wait:
            for worker in self._idle:
                worker.close()


_pools: WeakSet[ProcessPool] = WeakSet()


def _kill_all() -> None:
    for pool in tuple(_pools):
        pool.kill()


threading._register_atexit(_kill_all)  # type: ignore[attr-defined]  # before threads that wait for processes are joined


class _Worker:
    """One process and our end of the pipe to it."""

    def __init__(self) -> None:
        context = multiprocessing.get_context("spawn")
        self._connection, theirs = context.Pipe()
        self.process = context.Process(target=_work, args=(theirs,), daemon=True)
        self.process.start()
        theirs.close()  # or we would not notice its end

    def ask(self, message: bytes) -> bytes:
        """Send a call and wait for the answer."""
        try:
            self._connection.send_bytes(message)
            return self._connection.recv_bytes()
        except (EOFError, OSError):
            self.close()
            raise WorkerDied(f"the worker process died (exit code {self.process.exitcode})") from None

    def close(self) -> None:
        self._connection.close()
        self.process.join()


def _work(connection: Connection) -> None:
    """Life of a process: answer calls until the other end closes the pipe."""
    if signal.getsignal(signal.SIGINT) != signal.SIG_IGN:
        signal.signal(signal.SIGINT, lambda *_: None)  # searches listen while they run; nothing else is to be stopped
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
