"""Where training begins: weights of the hints that make a good rule by themselves.

The rule has four weights and costs nothing, so its searches are simply run, with many weights, and the best of them say
where to look next (cross-entropy method). The network then learns to do better than that rule.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from heuristics.search import Search
from heuristics.training.config import TrainingConfig, parse_size
from heuristics.training.environment import host_memory
from heuristics.training.validation import starts
from l2s_plugin.bounds import lower_bound
from l2s_plugin.generate import uniform
from l2s_plugin.policy.selector import hint_rule

_POPULATION = 24
_ELITE = 6
_INSTANCES = 8  # of each size, new in every generation
_FIRST_GUESS = np.array([2.0, 0.0, 0.0, 0.0])  # the rule `boltzmann`
_FIRST_SPREAD = np.array([2.0, 3.0, 3.0, 3.0])
_LEAST_SPREAD = 0.1
_LONGER = 4  # how many times `steps` a good rule must last

Weights = NDArray[np.float64]


def tune_hints(config: TrainingConfig) -> Weights:
    """Weights of the hints for searches of `steps` moves, and longer ones, on the sizes to train for."""
    rng = np.random.default_rng((config.seed, 0))
    centre, spread = _FIRST_GUESS, _FIRST_SPREAD
    for _ in range(config.warm_up):
        seeds = rng.integers(2**31, size=(len(config.sizes), _INSTANCES))
        tried = np.vstack((centre, rng.normal(centre, spread, (_POPULATION - 1, len(centre)))))
        gaps = [_gap(config, weights, seeds) for weights in tried]
        elite = tried[np.argsort(gaps)[:_ELITE]]
        centre, spread = elite.mean(axis=0), np.maximum(elite.std(axis=0), _LEAST_SPREAD)
    return centre


def _gap(config: TrainingConfig, weights: Weights, seeds: NDArray[np.int64]) -> float:
    """Mean gap of the rule in the middle and at the end of long searches."""
    gaps: list[float] = []
    for size, row in zip(config.sizes, seeds, strict=True):
        for seed in row.tolist():
            gaps += _search(config, weights, parse_size(size), seed)
    return float(np.mean(gaps))


def _search(config: TrainingConfig, weights: Weights, size: tuple[int, int], seed: int) -> list[float]:
    instance = uniform(*size, seed)
    search = Search(instance, config.neighbourhood, hint_rule(weights), host_memory(config.host, instance), seed)
    search.start(starts(config, [instance])[0])
    gaps = []
    for steps in (config.steps, _LONGER * config.steps):
        search.run(steps)
        search.take_events()
        gaps.append(100 * (search.best_makespan / max(lower_bound(instance), 1) - 1))
    return gaps
