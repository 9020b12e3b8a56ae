"""How good a policy is: the mean gap its searches leave on instances that no training batch contains."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from numpy.typing import NDArray

from heuristics.hosts.dispatching import dispatch
from heuristics.loop.search import Search
from heuristics.training.config import TrainingConfig
from heuristics.training.environment import host_memory
from heuristics.training.instances import parse_size
from l2s_plugin.bounds import lower_bound
from l2s_plugin.instance import Instance
from l2s_plugin.policy.checkpoint import Policy
from l2s_plugin.policy.selector import L2SSelector

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
        self._config = config
        self._threads = threads
        self._first = first
        self._instances = [size.instance(FIRST_SEED + first + k) for k in range(config.validation_instances)]
        self._bounds = [lower_bound(instance) for instance in self._instances]
        self._starts = starts(config, self._instances)
        self._neighbourhoods = config.neighbourhood.split(",")

    def gap_of(self, selector: Any) -> float:
        """Mean percentage above the lower bound that searches with this selector reach."""
        return float(np.mean(self.gaps_of(selector)))

    def gaps_of(self, selector: Any) -> list[float]:
        """The same of every instance."""
        with ThreadPoolExecutor(self._threads) as pool:
            return list(pool.map(lambda k: self._search(k, selector), range(len(self._instances))))

    def _search(self, k: int, selector: Any) -> float:
        instance, bound = self._instances[k], self._bounds[k]
        memory = host_memory(self._config.host, instance)
        number = self._first + k
        neighbourhood = self._neighbourhoods[number % len(self._neighbourhoods)]
        search = Search(instance, neighbourhood, selector, memory, seed=number)
        search.start(self._starts[k])
        while search.step < self._config.validation_steps and search.best_makespan > bound:
            before = search.step
            search.run(self._config.validation_steps, target=bound)
            search.take_events()
            if search.step == before:  # no moves left
                break
        return 100 * (search.best_makespan / max(bound, 1) - 1)


def selector_of(config: TrainingConfig, weights: Mapping[str, Any]) -> L2SSelector:
    """The policy in training as the selector it is to be: in local search by sampling, as in the paper; in tabu search
    by the best score, see `L2SSelector.for_host`."""
    return L2SSelector(Policy("in training", config.policy, weights), sample=config.host == "local-search")


def starts(config: TrainingConfig, instances: Sequence[Instance]) -> list[NDArray[np.int32]]:
    """The first schedules, as linear orders."""
    return [dispatch(instance, config.start).linear_order for instance in instances]
