"""Whole searches by policies in training: how good the schedule is at the end, however late a choice bears fruit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
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
from l2s_plugin.kernels.move_features import N_MOVE_FEATURES, MoveFeature
from l2s_plugin.policy.checkpoint import Policy
from l2s_plugin.policy.selector import L2SSelector

Weights = NDArray[np.float64]

_SHARPNESS = 3.0  # of the rule that training begins with: the smallest estimate, with some noise


class Trial:
    """The same searches for all that is tried: on these instances, from the same schedules, with the same seeds.

    Parameters
    ----------
    config
        The host, its neighbourhoods, which the instances take in turn, and the rule of the first schedules.
    milestones
        Numbers of steps after which results are taken.
    first
        Number of the first instance.
    """

    def __init__(
        self,
        config: TrainingConfig,
        instances: Sequence[Instance],
        seed: int,
        milestones: Sequence[int],
        first: int = 0,
    ) -> None:
        self._host, self._neighbourhoods = config.host, config.neighbourhood.split(",")
        self._instances, self._first, self._seed, self._milestones = instances, first, seed, milestones
        self._starts = [dispatch(instance, config.start).linear_order for instance in instances]

    def makespans(self, selector: Any, k: int, bound: int = -1) -> list[int]:
        """Of instance `k`: that of the first schedule, then the best after each milestone; the bound ends a search."""
        instance = self._instances[k]
        neighbourhood = self._neighbourhoods[(self._first + k) % len(self._neighbourhoods)]
        search = Search(instance, neighbourhood, selector, host_memory(self._host, instance), self._seed + k)
        search.start(self._starts[k])
        makespans = [search.best_makespan]
        for steps in self._milestones:
            while search.run(steps, bound) == EVENTS_FULL:
                search.take_events()
            makespans.append(search.best_makespan)
        return makespans

    def left(self, selector: Any, k: int) -> float:
        """What a selector leaves of the first makespan of instance `k`, in percent, on average over the milestones."""
        first, *best = self.makespans(selector, k)
        return float(np.mean([100 * makespan / max(first, 1) for makespan in best]))

    def results(self, selectors: Sequence[Any], threads: int = 1) -> list[float]:
        """What each selector leaves, on average over the instances."""

        def result(selector: Any) -> float:
            return float(np.mean([self.left(selector, k) for k in range(len(self._instances))]))

        with ThreadPoolExecutor(threads) as pool:
            return list(pool.map(result, selectors))


def selector_of(config: TrainingConfig, weights: Mapping[str, Any]) -> L2SSelector:
    """The policy in training as the selector it is to be: in local search by sampling, as in the paper; in tabu search
    by the best score, see `L2SSelector.for_host`."""
    return L2SSelector(Policy("in training", config.policy, weights), sample=config.host == "local-search")


def first_rule(config: TrainingConfig) -> Weights:
    """Where the training of a policy over moves begins: a row of weights, and two of drift if it has drift."""
    rows = np.zeros((3 if "drift" in config.policy.shapes() else 1, N_MOVE_FEATURES))
    rows[0, MoveFeature.CHANGE] = -_SHARPNESS
    return rows


def weights_of(rule: Weights) -> dict[str, Weights]:
    """Such rows as the weights of a policy."""
    return {"rule": rule[0]} | ({"drift": rule[1:]} if len(rule) > 1 else {})
