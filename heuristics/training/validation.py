"""How good a policy is: the mean gap its searches leave on instances that no training batch contains."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from heuristics.training.config import TrainingConfig
from heuristics.training.instances import parse_size
from heuristics.training.trials import Trial
from l2s_plugin.bounds import lower_bound

FIRST_SEED = 3_000_000_000  # training batches take their instances from below


class Validation:
    """The same searches every time: instances, first schedules and random numbers are fixed.

    Parameters
    ----------
    config
        Size, number and steps of the searches, and the host.
    threads
        Searches at once.
    first
        Number of the first instance: beyond those of a training run, none had a say in what it kept.
    """

    def __init__(self, config: TrainingConfig, threads: int = 1, first: int = 0) -> None:
        size = parse_size(config.validation_size or config.sizes[0])
        instances = [size.instance(FIRST_SEED + first + k) for k in range(config.validation_instances)]
        self._threads = threads
        self._bounds = [lower_bound(instance) for instance in instances]
        self._trial = Trial(config, instances, first, [config.validation_steps], first)

    def gap_of(self, selector: Any) -> float:
        """Mean percentage above the lower bound that searches with this selector reach."""
        return float(np.mean(self.gaps_of(selector)))

    def gaps_of(self, selector: Any) -> list[float]:
        """The same of every instance."""

        def gap(k: int) -> float:
            bound = self._bounds[k]
            return 100 * (self._trial.makespans(selector, k, bound)[-1] / max(bound, 1) - 1)

        with ThreadPoolExecutor(self._threads) as pool:
            return list(pool.map(gap, range(len(self._bounds))))
