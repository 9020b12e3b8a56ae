"""Processes of this machine as an executor: one that dies takes its own task with it, and nothing else.

The pool of the standard library ends all its processes when one of them dies. Here each of a pool of threads hands its
calls to such a pool of a single process; one that is broken is not used again.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
import threading
from collections.abc import Callable
from concurrent.futures import Future, ProcessPoolExecutor, ThreadPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from functools import partial
from multiprocessing.process import BaseProcess
from typing import Any
from weakref import WeakSet

from l2s_plugin.devices import available_cores
from l2s_plugin.errors import whole_number


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
        self._workers: dict[ProcessPoolExecutor, BaseProcess] = {}
        self._idle: list[ProcessPoolExecutor] = []
        self._killed = False
        _pools.add(self)

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        return super().submit(self._run, partial(fn, *args, **kwargs))

    def _run(self, call: Callable[[], Any]) -> Any:
        context = multiprocessing.get_context("spawn")
        with self._lock:
            if self._killed:
                raise WorkerDied("the pool was killed")
            self._idle = [worker for worker in self._idle if self._workers[worker].is_alive()]
            worker = self._idle.pop() if self._idle else ProcessPoolExecutor(1, context, _begin)
            answer = worker.submit(call)
            (self._workers[worker],) = worker._processes.values()
        try:
            return answer.result()
        except BrokenProcessPool:
            worker.shutdown()  # the process is joined
            with self._lock:
                code = self._workers.pop(worker).exitcode
            raise WorkerDied(f"the worker process died (exit code {code})") from None
        finally:
            with self._lock:
                if worker in self._workers:
                    self._idle.append(worker)

    def interrupt(self) -> None:
        """Ask the running searches for their incumbents, as Ctrl-C does."""
        with self._lock:
            for worker, process in self._workers.items():
                if worker not in self._idle and process.is_alive() and process.pid:
                    os.kill(process.pid, signal.SIGINT)

    def kill(self) -> None:
        """End everything at once; what is running fails with `WorkerDied`."""
        with self._lock:
            self._killed = True
            for process in self._workers.values():
                process.kill()
        self.shutdown(wait=False, cancel_futures=True)

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """See `concurrent.futures.Executor`."""
        super().shutdown(wait, cancel_futures=cancel_futures)
        if wait:
            for worker in self._idle:
                worker.shutdown()


_pools: WeakSet[ProcessPool] = WeakSet()


def _kill_all() -> None:
    for pool in tuple(_pools):
        pool.kill()


threading._register_atexit(_kill_all)  # type: ignore[attr-defined]  # before threads that wait for processes are joined


def _begin() -> None:
    """In a new process: only searches are to be stopped, they listen while they run; and everything ends with us."""
    if signal.getsignal(signal.SIGINT) != signal.SIG_IGN:
        signal.signal(signal.SIGINT, lambda *_: None)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    keep_to_one_thread()


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
