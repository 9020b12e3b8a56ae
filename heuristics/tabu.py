"""Tabu search: the selector picks among the moves that do not bring back what was just changed."""

from __future__ import annotations

from typing import Any

import numpy as np

from heuristics.memory import Memory
from heuristics.monitor import Listener
from heuristics.result import Result
from heuristics.trajectory import follow
from l2s_plugin.errors import L2SError
from l2s_plugin.instance import Instance, check_instance
from l2s_plugin.registry import Registry
from l2s_plugin.schedule import Schedule
from l2s_plugin.stop import Condition, Stop


def default_tenure(instance: Instance) -> tuple[int, int]:
    """Steps that a reversed arc stays forbidden: 0.8 (10 + jobs / machines), and half as much again at most.

    The form is that of Zhang et al. (2007); the factor was measured on the Taillard groups (benchmarks/search.py).
    """
    base = 0.8 * (10 + instance.n_jobs / instance.n_machines)
    return int(base), int(1.5 * base)


def tabu_memory(instance: Instance, tenure: tuple[int, int] | None) -> Memory:
    """The memory of a tabu search over one instance."""
    check_instance(instance)
    given = default_tenure(instance) if tenure is None else tenure
    whole = isinstance(given, tuple | list) and all(isinstance(steps, int | np.integer) for steps in given)
    if not whole or len(given) != 2 or not 1 <= given[0] <= given[1]:
        raise L2SError(f"tenure must be (low, high) in steps with 1 <= low <= high, got {tenure!r}")
    return Memory("tabu", tenure=(int(given[0]), int(given[1])), aspiration=True, wait=False)


def tabu_search(
    instance: Instance,
    selector: Any = "estimate",
    neighbourhood: Any = "n7",
    *,
    stop: Stop | Condition | None = None,
    time_limit: float | None = None,
    seed: int = 0,
    initial: str | Schedule | Result = "fdd/mwkr",
    tenure: tuple[int, int] | None = None,
    gear: str | None = None,
    listener: Listener | None = None,
    registry: Registry | None = None,
    known_bounds: bool = True,
) -> Result:
    """Follow one tabu search trajectory.

    The host keeps the memory (the arcs a move reverses may not be reversed back for a number of steps drawn from
    `tenure`), allows a forbidden move that promises a new incumbent, and takes any move when all are forbidden.
    Any selector picks among what is admissible. `tabu_search(instance, "greedy", "n5", ...)` is the paper's TSN5.

    Parameters are those of `local_search`, and

    tenure
        `(low, high)` in steps; `default_tenure(instance)` when None.
    """
    memory = tabu_memory(instance, tenure)
    return follow(
        "tabu",
        instance,
        neighbourhood,
        selector,
        memory,
        initial,
        stop,
        seed,
        gear,
        listener,
        registry,
        known_bounds,
        time_limit,
    )
