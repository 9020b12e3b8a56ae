"""A dask cluster as an executor for `heuristics.portfolio`, `heuristics.cooperate` and whatever else takes one.

>>> with executor_for("tcp://10.0.0.1:8786") as executor:  # doctest: +SKIP
...     best = portfolio("ta41", "memetic", seeds=range(64), executor=executor, stop=l2s.stop.seconds(60)).wait().best

l2s-plugin must be installed on the workers, too. `distributed` is imported on first use (extra `dask`).
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import BrokenExecutor, Executor, Future, InvalidStateError
from contextlib import suppress
from typing import Any

from heuristics.configuration import Configuration
from heuristics.monitor import Monitor
from heuristics.result import Result
from heuristics.workers.cooperation import cooperation
from integrations.libraries import library
from l2s_plugin.containment import describe
from l2s_plugin.devices import available_cores
from l2s_plugin.errors import L2SError
from l2s_plugin.instance import Instance

PATIENCE = 10.0  # seconds to wait for the scheduler's answer
_LOOK = 0.2  # seconds between two looks at the connection
_LOST = ("closing", "closed")
_CONNECTION = "the connection to the dask scheduler is lost"


class ClusterExecutor(Executor):
    """The workers of a dask cluster; ends the connection, and only that, when it is shut down."""

    def __init__(self, client: Any) -> None:
        self.client = client
        self._executor = client.get_executor(pure=False)  # pure tasks would not run a second time
        self._waiting: set[Future[Any]] = set()
        self._over = threading.Event()
        threading.Thread(target=self._watch, name="dask-connection", daemon=True).start()

    def _watch(self) -> None:
        """Fail what is waited for when the connection is lost: dask would let it wait for ever."""
        while not self._over.wait(_LOOK):
            if self.client.status in _LOST:
                for future in tuple(self._waiting):
                    with suppress(InvalidStateError):
                        future.set_exception(BrokenExecutor(_CONNECTION))

    @property
    def workers(self) -> int:
        """Threads of all workers together: how many searches run at once."""
        try:
            threads = sum(self.client.ncores().values())
        except Exception as error:  # dask has many, none of them common
            raise L2SError(f"{_CONNECTION}: {error}") from error
        if not threads:
            raise L2SError(f"the dask cluster at {self.client.scheduler.address} has no workers")
        return threads

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        try:
            future = self._executor.submit(fn, *args, **kwargs)
        except Exception as error:  # dask has many, none of them common
            raise BrokenExecutor(f"{_CONNECTION}: {error}") from error
        self._waiting.add(future)
        future.add_done_callback(self._waiting.discard)
        if self.client.status in _LOST:
            raise BrokenExecutor(_CONNECTION)
        return future

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """See `concurrent.futures.Executor`."""
        self._over.set()
        with suppress(Exception):  # of a scheduler that is lost; dask has many, none of them common
            if self.client.status == "running":
                self._executor.shutdown(wait=wait and not cancel_futures)
        with suppress(Exception):
            self.client.close()  # here: the garbage collector may come while dask holds a lock that this waits for


def cooperation_method(instance: Instance, way: Configuration, monitor: Monitor) -> Result:
    """What `cooperation` names: `heuristics.cooperate` on the cluster at `way.scheduler`, or on this machine."""
    if way.scheduler is None:
        return cooperation(instance, way.filled(workers=available_cores()), monitor)
    with executor_for(way.scheduler) as executor:
        return cooperation(instance, way.filled(workers=executor.workers), monitor, executor)


def executor_for(address: str, timeout: float = PATIENCE, tries: int = 3) -> ClusterExecutor:
    """Connect to the dask scheduler at `address`, such as `tcp://10.0.0.1:8786`."""
    if not address:  # dask would start a cluster of its own
        raise L2SError("which dask scheduler? for example tcp://10.0.0.1:8786")
    distributed = library("distributed", "dask")
    try:
        client = distributed.Client(address, timeout=timeout, set_as_default=False)
    except AssertionError as error:  # dask gives a thread of its own ten seconds to start: few on a loaded machine
        if tries > 1:
            return executor_for(address, timeout, tries - 1)
        raise L2SError(f"dask does not start on this machine: {describe(error)}") from error
    except (OSError, ValueError, TypeError) as error:
        reason = str(error).strip().partition("\n")[0] or type(error).__name__
        raise L2SError(f"no dask scheduler answers at {address}: {reason}") from error
    return ClusterExecutor(client)
