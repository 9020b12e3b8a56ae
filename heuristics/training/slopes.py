"""Mirrored trials: how the result of a search changes with every weight of a rule, from many short searches.

Each instance of a batch is searched twice from the same schedule, by the present weights plus and minus a deviation of
its own. Regressed on the deviations, the differences between the two are the slopes along all weights at once, and the
weights go downhill (evolution strategies with mirrored sampling: Brockhoff et al. 2010, Salimans et al. 2017). Like the
cross-entropy method it improves the figure that counts, but every search says something about every weight, so
that many more weights can be told apart.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import ClassVar

import numpy as np

from heuristics.training.algorithms import Batch
from heuristics.training.config import TrainingConfig
from heuristics.training.torchrun import Processes
from heuristics.training.trials import RuleTraining, Weights
from l2s_plugin.kernels.move_features import COMMON, N_MOVE_FEATURES, MoveFeature

SPREAD = 0.3  # of the deviations; the estimate's weight is about -3
MILESTONES = (0.1, 0.2, 0.4, 1.0)  # when results are taken, in parts of the search
_INERTIA = 0.7  # of the slopes, from batch to batch


class Slopes(RuleTraining):
    """Tries deviations from the rule on both sides, and goes where results are better."""

    kept: ClassVar[tuple[str, ...]] = ("rule", "slope")

    def __init__(self, config: TrainingConfig, processes: Processes, device: str) -> None:
        super().__init__(config, processes, device)
        self.slope = np.zeros(self.rule.size)  # along every weight, as far as known

    def learn(self, batch: Batch) -> dict[str, float]:
        """One step downhill; every process searches on its share of the instances."""
        config, processes, count = self.config, self.processes, len(batch.instances)
        trial = self.trial(batch, [max(round(part * config.steps), 1) for part in MILESTONES])

        def search(tried: Weights, k: int) -> float:
            return trial.left(self.selector(tried.reshape(self.rule.shape)), k)

        tried = deviations((count, self.rule.size), config.features, batch.rng)
        own = range(processes.rank, count, processes.count)
        results = processes.total(mirrored_results(search, self.rule.ravel(), tried, own, processes.threads))
        self.slope, slope = smoothed(self.slope, slopes(tried, results), batch.number)
        self.rule = self.rule - batch.learning_rate * slope.reshape(self.rule.shape)
        return {"improvement": 100 - float(results.mean()), "slope": float(np.abs(slope).max())}


def deviations(shape: tuple[int, int], features: Sequence[str], rng: np.random.Generator) -> Weights:
    """Random deviations, a row each; only weights of the given features differ, or all if there are none given."""
    feature = np.arange(shape[1]) % N_MOVE_FEATURES
    wanted = [MoveFeature[name.upper()] for name in features] or list(MoveFeature)
    free = np.isin(feature, wanted) & ~np.isin(feature, COMMON)
    return rng.normal(0, SPREAD, shape) * free


def mirrored_results(
    search: Callable[[Weights, int], float], centre: Weights, tried: Weights, own: range, threads: int = 1
) -> Weights:
    """Results (n, 2) of centre + deviation and centre - deviation on each instance of `own`, zeros for the others;
    `search` gives the result of weights on an instance."""
    results = np.zeros((len(tried), 2))
    with ThreadPoolExecutor(threads) as pool:
        pairs = list(pool.map(lambda k: [search(centre + s * tried[k], k) for s in (1, -1)], own))
    results[own] = np.reshape(pairs, (-1, 2))
    return results


def slopes(tried: Weights, results: Weights) -> Weights:
    """Change of the result with each weight; zero for weights that did not deviate."""
    free = tried.any(axis=0)
    found = np.zeros(tried.shape[1])
    found[free] = np.linalg.lstsq(tried[:, free], (results[:, 0] - results[:, 1]) / 2, rcond=None)[0]
    return found


def smoothed(before: Weights, now: Weights, batch: int) -> tuple[Weights, Weights]:
    """Slopes averaged over batches, to keep, and as the estimate after `batch` of them."""
    kept = _INERTIA * before + (1 - _INERTIA) * now
    return kept, kept / (1 - _INERTIA**batch)
