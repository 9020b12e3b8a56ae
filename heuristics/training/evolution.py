"""The cross-entropy method: weights are tried out in whole searches, and the best of them say where to look next.

No gradients, so the figure that counts is improved itself - how good the schedule is at the end of a search -, however
long the search and however late a choice bears fruit. For policies of a few weights.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from numpy.typing import NDArray

from heuristics.hosts.dispatching import dispatch
from heuristics.loop.kernels import EVENTS_FULL
from heuristics.loop.search import Search
from heuristics.training.config import TrainingConfig
from heuristics.training.environment import host_memory
from l2s_plugin.instance import Instance
from l2s_plugin.kernels.move_features import COMMON, N_MOVE_FEATURES

Weights = NDArray[np.float64]

ELITE = 4  # one in so many of those tried says where to look next
LONGER = 4  # how many times `steps` a good policy must last
FIRST_SPREAD = np.where(np.isin(np.arange(N_MOVE_FEATURES), COMMON), 0.0, 1.0)
_INERTIA = 0.5  # how much of the spread stays: luck must not narrow it too soon


def next_generation(
    centre: Weights,
    spread: Weights,
    population: int,
    results_of: Callable[[Weights], Sequence[float]],
    rng: np.random.Generator,
) -> tuple[Weights, Weights, float]:
    """Try weights around `centre`, itself among them; the new centre and spread, and the mean result of the best.

    `results_of` gives the result of each row of weights; less is better.
    """
    tried = np.vstack((centre, rng.normal(centre, spread, (population - 1, len(centre)))))
    results = np.asarray(results_of(tried))
    best = np.argsort(results, kind="stable")[: max(population // ELITE, 1)]
    elite = tried[best]
    spread = np.where(spread > 0, _INERTIA * spread + (1 - _INERTIA) * elite.std(axis=0), 0.0)
    return elite.mean(axis=0), spread, float(results[best].mean())


class Trial:
    """The same searches for all that is tried: on these instances, from the same schedules, with the same seeds.

    What counts is how much of the first makespan is left after each of the `milestones`, numbers of steps.
    """

    def __init__(
        self,
        config: TrainingConfig,
        instances: Sequence[Instance],
        seed: int,
        threads: int = 1,
        milestones: Sequence[int] | None = None,
    ) -> None:
        self._config = config
        self._instances = instances
        self._starts = [dispatch(instance, config.start).linear_order for instance in instances]
        self._neighbourhoods = config.neighbourhood.split(",")
        self._seed = seed
        self._threads = threads
        self._milestones = milestones or (config.steps, LONGER * config.steps)

    def results(self, selectors: Sequence[Any]) -> list[float]:
        """What each selector leaves of the first makespans, in percent, on average over instances."""
        with ThreadPoolExecutor(self._threads) as pool:
            return list(pool.map(self._result, selectors))

    def _result(self, selector: Any) -> float:
        return float(np.mean([self.search(selector, k) for k in range(len(self._instances))]))

    def search(self, selector: Any, k: int) -> float:
        """What a selector leaves of the first makespan of instance `k`, in percent."""
        instance, config = self._instances[k], self._config
        neighbourhood = self._neighbourhoods[k % len(self._neighbourhoods)]
        search = Search(instance, neighbourhood, selector, host_memory(config.host, instance), self._seed + k)
        search.start(self._starts[k])
        first, left = max(search.best_makespan, 1), []
        for steps in self._milestones:
            while search.run(steps) == EVENTS_FULL:
                search.take_events()
            left.append(100 * search.best_makespan / first)
        return float(np.mean(left))
