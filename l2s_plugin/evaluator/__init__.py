"""Times of schedules: earliest and latest starts and makespans of many machine orders in one call.

Two engines give identical answers: a compiled critical-path method on the CPU and the paper's message passing
in torch on any device. This is the one place that computes times from orders at the surface.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from l2s_plugin.devices import available_cores, check_device
from l2s_plugin.errors import L2SError, unknown_name
from l2s_plugin.evaluator import compiled
from l2s_plugin.evaluator.batch import Batch, pack
from l2s_plugin.evaluator.compiled import SolutionTimes
from l2s_plugin.instance import Instance, IntArray

__all__ = ["ENGINES", "Batch", "Evaluation", "Evaluator", "SolutionTimes", "pack"]

ENGINES = ("auto", "compiled", "message-passing")


@dataclass(frozen=True, eq=False)
class Evaluation:
    """Times of a batch of solutions; `evaluation[b]` is solution b alone.

    A solution whose machine orders wait for each other in a cycle has no times: `feasible` is False, and its
    makespan, `length`, `est` and `lst` are -1. Latest starts are those that keep the value of the objective.
    """

    est: IntArray  # earliest start of every operation, all solutions one after the other
    lst: IntArray  # latest start, likewise
    offset: NDArray[np.int64]  # solution b owns the entries `offset[b]` up to, not including, `offset[b + 1]` of these
    makespan: IntArray  # per solution
    feasible: NDArray[np.bool_]
    length: IntArray  # of the longest path: the makespan, or the largest lateness plus `Instance.offset`

    def __len__(self) -> int:
        return len(self.makespan)

    def __getitem__(self, solution: int) -> SolutionTimes:
        solution = range(len(self))[solution]
        own = slice(self.offset[solution], self.offset[solution + 1])
        makespan, length = int(self.makespan[solution]), int(self.length[solution])
        return SolutionTimes(self.est[own], self.lst[own], makespan, bool(self.feasible[solution]), length)


class Evaluator:
    """Computes earliest starts, latest starts and makespans of batches of solutions.

    Parameters
    ----------
    device
        "cpu", or any other device torch knows ("cuda", "cuda:1", "mps", ...).
    engine
        "compiled" (CPU only), "message-passing" (any device, needs torch), or "auto": compiled on the CPU,
        message passing elsewhere. The answers are the same.
    threads
        At most so many threads for the compiled engine, by default one per available core. Small batches use
        one, and a single solution always does. The answers are the same.
    """

    def __init__(self, device: str = "cpu", engine: str = "auto", threads: int | None = None) -> None:
        self.device = str(device)
        if engine not in ENGINES:
            raise unknown_name("evaluator engine", str(engine), ENGINES)
        if threads is not None and threads < 1:
            raise L2SError(f"threads must be at least 1, got {threads}")
        self.threads = threads
        on_cpu = self.device == "cpu"
        self.engine = engine if engine != "auto" else "compiled" if on_cpu else "message-passing"
        if self.engine == "compiled" and not on_cpu:
            raise L2SError(f"the compiled engine runs on cpu only, not on {self.device!r}; use message-passing")
        if self.engine == "message-passing":
            check_device(self.device)

    @classmethod
    def of(cls, given: Any) -> Evaluator:
        """An evaluator, or the one of that name: an engine, with its device behind a colon (`message-passing:cuda`)."""
        if isinstance(given, Evaluator):
            return given
        if not isinstance(given, str):
            raise L2SError(f"evaluator must be an Evaluator or its name, got {given!r}")
        engine, _, device = given.partition(":")
        return cls(device or "cpu", engine)

    def evaluate(
        self, instances: Instance | Sequence[Instance], orders: Sequence[ArrayLike] | NDArray[Any]
    ) -> Evaluation:
        """Evaluate a batch of solutions.

        Parameters
        ----------
        instances
            The instance that all solutions are of, or one instance per solution.
        orders
            One flat integer array per solution (or the rows of a 2-D array): every operation once, machine by machine,
            in processing order, as `Schedule.order` has them.
        """
        return self.evaluate_packed(pack(instances, orders))

    def evaluate_packed(self, batch: Batch) -> Evaluation:
        """Evaluate a batch that was packed before (`pack`), for callers who evaluate it more than once."""
        if self.engine == "compiled":
            times = compiled.evaluate(batch, self.threads or available_cores())
        else:
            from l2s_plugin.evaluator import message_passing

            compiled.check(batch)
            times = message_passing.evaluate_batch(batch, self.device)
        return Evaluation(times.est, times.lst, batch.offset, times.makespan, times.feasible, times.length)

    def __repr__(self) -> str:
        return f"Evaluator(device={self.device!r}, engine={self.engine!r})"
