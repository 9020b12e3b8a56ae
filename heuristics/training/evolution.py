"""The cross-entropy method: rules are tried out in whole searches, and the best of them say where to look next.

No gradients, so the figure that counts is improved itself. For policies of a few weights.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from heuristics.training.algorithms import Batch
from heuristics.training.config import TrainingConfig
from heuristics.training.torchrun import Processes
from heuristics.training.trials import RuleTraining, Weights
from l2s_plugin.errors import L2SError
from l2s_plugin.kernels.move_features import COMMON, N_MOVE_FEATURES

ELITE = 4  # one in so many of those tried says where to look next
LONGER = 4  # how many times `steps` a good policy must last
_INERTIA = 0.5  # how much of the spread stays: luck must not narrow it too soon


class Evolution(RuleTraining):
    """Lets one generation of rules search on the instances of a batch; the best of them make the next rule.

    A drift stays where it is.
    """

    kept: ClassVar[tuple[str, ...]] = ("rule", "spread")

    def __init__(self, config: TrainingConfig, processes: Processes, device: str) -> None:
        super().__init__(config, processes, device)
        self.spread = np.where(np.isin(np.arange(N_MOVE_FEATURES), COMMON), 0.0, 1.0)  # of the next rules around it

    def learn(self, batch: Batch) -> dict[str, float]:
        """One generation; every process tries its share of the rules."""
        config, processes = self.config, self.processes
        trial = self.trial(batch, (config.steps, LONGER * config.steps))

        def results_of(tried: Weights) -> Weights:
            own, results = slice(processes.rank, None, processes.count), np.zeros(len(tried))
            selectors = [self.selector(np.vstack((rule, self.rule[1:]))) for rule in tried[own]]
            results[own] = trial.results(selectors, processes.threads)
            return processes.total(results)

        self.rule[0], self.spread, left = next_generation(
            self.rule[0], self.spread, config.population, results_of, batch.rng
        )
        return {"improvement": 100 - left, "spread": float(self.spread[self.spread > 0].mean())}

    def restore(self, state: Mapping[str, NDArray[Any]]) -> None:
        """Go on from a state."""
        if (state["spread"] < 0).any():
            raise L2SError("'spread' holds negative numbers")
        super().restore(state)


def next_generation(
    centre: Weights,
    spread: Weights,
    population: int,
    results_of: Callable[[Weights], Sequence[float] | Weights],
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
