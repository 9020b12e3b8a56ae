"""Local search: take the selected move, again and again."""

from __future__ import annotations

from typing import Any

from heuristics.memory import Memory
from heuristics.monitor import Listener
from heuristics.result import Result
from heuristics.search import selector_for
from heuristics.trajectory import follow
from l2s_plugin.errors import L2SError, whole_number
from l2s_plugin.instance import Instance
from l2s_plugin.registry import Registry
from l2s_plugin.schedule import Schedule
from l2s_plugin.stop import Condition, Stop

RECENT = 100  # schedules to restart from (paper, appendix D)


def local_memory(
    selector: Any, forbid_undo: bool | None, recent: int, annealing: tuple[float, float] | None = None
) -> Memory:
    """The memory of a local search with that selector."""
    if annealing is not None and not (annealing[0] > 0 and 0 < annealing[1] <= 1):
        raise L2SError(f"annealing needs a positive temperature and a cooling in (0, 1], got {annealing}")
    recent = whole_number("recent", recent)
    if forbid_undo is None:
        forbid_undo = getattr(selector, "forbid_undo", False)
    return Memory(tenure=(1, 1) if forbid_undo else (0, 0), recent=recent, annealing=annealing)


def local_search(
    instance: Instance,
    selector: Any = "best-improvement",
    neighbourhood: Any = "n5",
    *,
    stop: Stop | Condition | None = None,
    time_limit: float | None = None,
    seed: int = 0,
    initial: str | Schedule | Result = "fdd/mwkr",
    forbid_undo: bool | None = None,
    recent: int = RECENT,
    annealing: tuple[float, float] | None = None,
    gear: str | None = None,
    listener: Listener | None = None,
    registry: Registry | None = None,
    known_bounds: bool = True,
) -> Result:
    """Improve a schedule move by move, whatever move the selector picks.

    A selector that refuses all moves (as `best-improvement` does in a local optimum) makes the search restart from
    one of the `recent` latest schedules, with a random move first: the selector would only go the same way again. A
    schedule without moves ends it.

    Parameters
    ----------
    instance
        What to schedule.
    selector, neighbourhood
        A registered name, or an object that follows the contract of `l2s_plugin.selectors`, `.neighbourhoods`.
    stop, time_limit
        When to end: see `l2s_plugin.stop`; `time_limit=30` is short for `stop=l2s.stop.seconds(30)`. The clock runs
        from the first schedule on; what is compiled does not count.
    seed
        Same seed, same trajectory, when the stop is in steps.
    initial
        A dispatching rule, a schedule, or a result.
    forbid_undo
        Leave out the move that undoes the last one, as the paper's authors do. None leaves it to the selector: the
        learned ones and the paper's rules want it.
    recent
        How many schedules to remember for restarts; 0 ends the search instead.
    annealing
        `(temperature, cooling)`: accept a worse schedule with probability exp(-increase / temperature), the
        temperature multiplied by `cooling` after every step. With `selector="random"` this is simulated annealing.
    gear
        `"compiled"` or `"python"`; chosen from what selector and neighbourhood offer when None.
    listener
        Called with an `Improvement` whenever a better schedule is found.
    known_bounds
        Whether to end at the literature's bound of a classic benchmark; False to compare methods.
    """
    selector = selector_for("local-search", selector, registry)
    memory = local_memory(selector, forbid_undo, recent, annealing)
    return follow(
        "local-search",
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
