"""Where training begins: weights of the hints that make a good rule by themselves.

The network then learns to do better than that rule.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from heuristics.training.config import TrainingConfig
from heuristics.training.evolution import Trial, Weights, next_generation
from heuristics.training.instances import parse_size
from l2s_plugin.policy.selector import hint_rule

_POPULATION = 24
_INSTANCES = 8  # of each size, new in every generation
_FIRST_GUESS = np.array([2.0, 0.0, 0.0, 0.0])  # the rule `boltzmann`
_FIRST_SPREAD = np.array([2.0, 3.0, 3.0, 3.0])


def tune_hints(config: TrainingConfig) -> Weights:
    """Weights of the hints for searches of `steps` moves, and longer ones, on the sizes to train for."""
    rng = np.random.default_rng((config.seed, 0))
    centre, spread = _FIRST_GUESS, _FIRST_SPREAD
    for _ in range(config.warm_up):
        seeds = rng.integers(2**31, size=(_INSTANCES, len(config.sizes)))
        instances = [
            parse_size(size).instance(int(seed)) for row in seeds for size, seed in zip(config.sizes, row, strict=True)
        ]
        results_of = partial(_results, Trial(config, instances, seed=int(rng.integers(2**31))))
        centre, spread, _ = next_generation(centre, spread, _POPULATION, results_of, rng)
    return centre


def _results(trial: Trial, tried: Weights) -> list[float]:
    return trial.results([hint_rule(weights) for weights in tried])
