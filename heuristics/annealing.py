"""Annealed trajectories, for runs that have few steps for each operation: of large shops, or short ones.

Tabu search takes the best move that it may, and a large shop then ends in a web of paths that are nearly critical: a
move shortens one of many. Here moves are drawn, the more likely the smaller their estimate (`boltzmann`), at a
temperature that falls along the trajectory: first the web is loosened everywhere, then it settles.
"""

from __future__ import annotations

from dataclasses import replace

from heuristics.loop.search import Search
from l2s_plugin.selectors import per_duration
from l2s_plugin.selectors.rules import boltzmann

HOT, WARM, COLD = 0.5, 0.25, 0.14  # temperatures in mean durations: from nowhere, between members, and at the end
_TENURE = (4, 6)
_LEVELS = 50  # steps of the temperature, which is constant between them
_FEWEST = 100  # steps for an operation; annealing with fewer was not tried
_LARGE = 1000  # operations; ...
_MOST = 40_000  # ... with more steps than that for each of them, a population of tabu searches is better
_GROWTH = 5  # a shop of twice as many operations can do with 2^5 times as many for each
_SHORTEST, _LONGEST, _TRAJECTORIES = 500, 1500, 5  # steps for an operation in a trajectory; trajectories in a run


class Annealing:
    """Draws the moves of a search at the temperature of the step."""

    def __init__(self, search: Search, gear: str | None = None) -> None:
        drawing = search.prepare(boltzmann(), gear)
        rules = drawing.rules._replace(tenure_low=_TENURE[0], tenure_high=_TENURE[1])
        self.selection = replace(drawing, rules=rules, parameters=drawing.parameters.copy())
        self._per_duration = per_duration(search.instance)
        self._begun, self._length, self._hot = 0, 1, HOT

    def begin(self, step: int, length: int, hot: float) -> None:
        """A trajectory of that length begins with that temperature."""
        self._begun, self._length, self._hot = step, length, hot

    @property
    def end(self) -> int:
        """The step with which the trajectory ends."""
        return self._begun + self._length

    def cool(self, step: int) -> int:
        """Set the temperature of a step; returns the step with which that ends."""
        level = min((step - self._begun) * _LEVELS // self._length, _LEVELS - 1)
        temperature = self._hot * (COLD / self._hot) ** (level / (_LEVELS - 1))
        self.selection.parameters[0] = self._per_duration / temperature
        return self._begun - (-self._length * (level + 1) // _LEVELS)


def is_worthwhile(n_operations: int, steps: int | None) -> bool:
    """Whether to anneal in a run of so many steps, of all workers together; None: nobody knows how many."""
    if steps is None:
        return n_operations >= _LARGE
    return steps <= _MOST * (n_operations / _LARGE) ** _GROWTH * n_operations


def annealed_length(n_operations: int, step: int, horizon: int | None) -> int:
    """How long a trajectory should be that begins with that step of a run of `horizon` steps; 0: not worth it.

    A run has five of them, or more where they would be longer than 1500 steps for each operation, or fewer where they
    would be shorter than 500; what is left is shared among those that are still to come.
    """
    if horizon is None:
        return _LONGEST * n_operations
    left = horizon - step
    if left < _FEWEST * n_operations:
        return 0
    usual = min(max(horizon // _TRAJECTORIES, _SHORTEST * n_operations), _LONGEST * n_operations)
    return left // max(1, round(left / usual))
