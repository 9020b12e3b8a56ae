"""Whole searches by policies in training: how good the schedule is at the end, however late a choice bears fruit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from heuristics.loop.kernels import EVENTS_FULL
from heuristics.loop.search import Search
from heuristics.training.algorithms import Arrays, Batch
from heuristics.training.config import TrainingConfig
from heuristics.training.environment import host_memory
from heuristics.training.instances import parse_size
from heuristics.training.starts import starts
from heuristics.training.torchrun import Processes
from l2s_plugin.bounds import lower_bound
from l2s_plugin.errors import L2SError
from l2s_plugin.instance import Instance
from l2s_plugin.kernels.move_features import N_MOVE_FEATURES, MoveFeature
from l2s_plugin.policy.checkpoint import Policy
from l2s_plugin.policy.config import MovePolicyConfig
from l2s_plugin.policy.library import find_policy
from l2s_plugin.policy.selector import L2SSelector

Weights = NDArray[np.float64]

FIRST_SEED = 3_000_000_000  # of instances to validate on; training batches take theirs from below
_SHARPNESS = 3.0  # of the rule that training begins with: the smallest estimate, with some noise


class Trial:
    """The same searches for all that is tried: on these instances, from the same schedules, with the same seeds.

    Results are taken after the numbers of steps in `milestones`. The instances, numbered from `first`, take the
    neighbourhoods of the configuration in turn.
    """

    def __init__(
        self,
        config: TrainingConfig,
        instances: Sequence[Instance],
        seed: int,
        milestones: Sequence[int],
        first: int = 0,
        threads: int = 1,
    ) -> None:
        self._host, self._neighbourhoods = config.host, config.neighbourhood.split(",")
        self._first, self._seed, self._milestones = first, seed, milestones
        self.starts = starts(config, instances, seed, threads)

    def makespans(self, selector: Any, k: int, bound: int = -1) -> list[int]:
        """Of search `k`: what it is compared with, the makespan of its first schedule or of that which it is drawn to;
        then the best after each milestone. The bound ends a search."""
        start = self.starts[k]
        neighbourhood = self._neighbourhoods[(self._first + k) % len(self._neighbourhoods)]
        memory = host_memory(self._host, start.instance)
        search = Search(start.instance, neighbourhood, selector, memory, self._seed + k)
        search.start(start.order, None if start.drawn_to is None else start.drawn_to.order)
        makespans = [search.best_makespan if start.drawn_to is None else start.drawn_to.makespan]
        for steps in self._milestones:
            while search.run(steps, bound) == EVENTS_FULL:
                search.take_events()
            makespans.append(search.best_makespan)
        return makespans

    def left(self, selector: Any, k: int) -> float:
        """What a selector leaves of the makespan that search `k` is compared with, in percent, on average over the
        milestones."""
        first, *best = self.makespans(selector, k)
        return float(np.mean([100 * makespan / max(first, 1) for makespan in best]))

    def results(self, selectors: Sequence[Any], threads: int = 1) -> list[float]:
        """What each selector leaves, on average over the searches."""

        def result(selector: Any) -> float:
            return float(np.mean([self.left(selector, k) for k in range(len(self.starts))]))

        with ThreadPoolExecutor(threads) as pool:
            return list(pool.map(result, selectors))


class Validation(Trial):
    """How good a policy is: the gap its searches leave on instances that no training batch contains.

    Instances are numbered from `first`: beyond those of a training run, none had a say in what it kept.
    """

    def __init__(self, config: TrainingConfig, threads: int = 1, first: int = 0) -> None:
        size = parse_size(config.validation_size or config.sizes[0])
        instances = [size.instance(FIRST_SEED + first + k) for k in range(config.validation_instances)]
        super().__init__(config, instances, first, [config.validation_steps], first, threads)
        self._threads, self._bounds = threads, [lower_bound(start.instance) for start in self.starts]

    def gap_of(self, selector: Any) -> float:
        """Mean percentage above the lower bound that searches with this selector reach."""
        return float(np.mean(self.gaps_of(selector)))

    def gaps_of(self, selector: Any) -> list[float]:
        """The same of every instance."""

        def gap(k: int) -> float:
            bound = self._bounds[k]
            return 100 * (self.makespans(selector, k, bound)[-1] / max(bound, 1) - 1)

        with ThreadPoolExecutor(self._threads) as pool:
            return list(pool.map(gap, range(len(self._bounds))))


class RuleTraining:
    """What the algorithms for policies over moves share: a rule of weights in a row, with two rows of drift if it has
    drift, which they try out in whole searches."""

    whole_searches: ClassVar[bool] = True
    kept: ClassVar[tuple[str, ...]]  # the arrays to go on from

    def __init__(self, config: TrainingConfig, processes: Processes, device: str) -> None:
        self.config, self.processes = config, processes
        self.rule = np.zeros((3 if "drift" in config.policy.shapes() else 1, N_MOVE_FEATURES))
        self.rule[0, MoveFeature.CHANGE] = -_SHARPNESS
        if config.begin_with:
            self.rule = _rule_of(find_policy(config.begin_with), len(self.rule))

    def trial(self, batch: Batch, milestones: Sequence[int]) -> Trial:
        """The searches of a batch."""
        seed, threads = int(batch.rng.integers(2**31)), self.processes.threads
        return Trial(self.config, batch.instances, seed, milestones, threads=threads)

    def selector(self, rule: Weights) -> L2SSelector:
        """What searches by a rule."""
        return selector_of(self.config, _weights(rule))

    def weights(self) -> Arrays:
        """The rule and its drift."""
        return _weights(self.rule)

    def state(self) -> Arrays:
        """The rule, and what the next one depends on."""
        return {name: getattr(self, name) for name in self.kept}

    def restore(self, state: Mapping[str, NDArray[Any]]) -> None:
        """Go on from a state."""
        for name in self.kept:
            setattr(self, name, state[name].copy())


def _rule_of(policy: Policy, rows: int) -> Weights:
    """The weights of a policy over moves, in so many rows."""
    if not isinstance(policy.config, MovePolicyConfig) or policy.config.drift > (rows > 1):
        kind = "over moves" if rows > 1 else "over moves without drift"
        raise L2SError(f"begin_with {policy.name!r} must be a policy {kind}")
    rule = np.zeros((rows, N_MOVE_FEATURES))
    for row, weights in zip(rule, (policy.weights["rule"], *policy.weights.get("drift", ())), strict=False):
        row[:] = weights
    return rule


def _weights(rule: Weights) -> Arrays:
    return {"rule": rule[0]} | ({"drift": rule[1:]} if len(rule) > 1 else {})


def selector_of(config: TrainingConfig, weights: Mapping[str, Any]) -> L2SSelector:
    """The policy in training as the selector it is to be: in local search by sampling, as in the paper; in tabu search
    by the best score, see `L2SSelector.for_host`."""
    return L2SSelector(Policy("in training", config.policy, weights), sample=config.host == "local-search")
