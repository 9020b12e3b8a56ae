"""Imitation: a network over graphs learns to choose as a rule over moves does, in the states that it visits itself.

The loss is the Kullback-Leibler divergence from the teacher's distribution over the moves to the network's. The teacher
sees an estimate of every move; the network has to find out from the graph what a swap leads to.
"""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from heuristics.training.algorithms import Batch
from heuristics.training.config import TrainingConfig
from heuristics.training.environment import Environment
from heuristics.training.learner import Learner
from heuristics.training.reinforce import sample
from heuristics.training.torchrun import Processes
from l2s_plugin.errors import L2SError
from l2s_plugin.kernels.move_features import MoveFeature
from l2s_plugin.policy.config import GraphPolicyConfig, MovePolicyConfig
from l2s_plugin.policy.graph.network import GraphNetwork
from l2s_plugin.policy.library import find_policy

BOLTZMANN = "boltzmann"
_TEMPERATURE = 0.5  # mean durations
_OUT_OF_REACH = -30.0  # score of a move beyond the teacher's margin


class Imitation(Learner):
    """The network that imitates, in the host it is to serve."""

    def __init__(self, config: TrainingConfig, processes: Processes, device: str) -> None:
        assert isinstance(config.policy, GraphPolicyConfig)
        torch.manual_seed(config.seed)
        self.network = GraphNetwork(config.policy).to(device)
        self._device = device
        self._teacher = Teacher(config.teacher)
        super().__init__(config, processes, {"network": self.network})

    def learn(self, batch: Batch) -> dict[str, float]:
        """Follow trajectories of the network, and learn from every state on the way."""
        config, seed = self._config, int(batch.rng.integers(2**31))
        environment = Environment(batch.instances, config.host, config.neighbourhood, start=config.start, seed=seed)
        total = 0.0
        for k in range(config.steps):
            seen, features = environment.surroundings(self._device)
            counts = environment.n_actions
            scores = self.network(seen)
            loss = divergence(torch.as_tensor(self._teacher.scores(features), device=self._device), scores, counts)
            self.update(loss, batch)
            total += float(loss.detach())
            environment.step(sample(scores.detach(), counts, batch.rng).actions)
            batch.progress((k + 1) / config.steps)
        improvement = 100 * float(np.mean(1 - environment.incumbents / environment.initial_makespans))
        figures = np.array([improvement, total / config.steps])
        improvement, kl = (self._processes.total(figures) / self._processes.count).tolist()
        return {"improvement": improvement, "divergence": kl}


class Teacher:
    """Scores of moves by what is known about them: `boltzmann`, or an installed policy over moves."""

    def __init__(self, name: str) -> None:
        self._rule, self._margin = np.zeros(len(MoveFeature), np.float32), np.inf
        self._rule[MoveFeature.CHANGE] = -1 / _TEMPERATURE
        if name != BOLTZMANN:
            policy = find_policy(name)
            if not isinstance(policy.config, MovePolicyConfig) or policy.config.drift:
                raise L2SError(f"teacher {name!r} must be {BOLTZMANN} or a policy over moves without drift")
            self._rule, self._margin = np.asarray(policy.weights["rule"], np.float32), policy.config.margin

    def scores(self, features: NDArray[np.float32]) -> NDArray[np.float32]:
        """(M, features) -> (M)"""
        reach = features[:, MoveFeature.ABOVE_BEST] <= self._margin
        return np.where(reach, features @ self._rule, np.float32(_OUT_OF_REACH))


def divergence(teacher: Tensor, scores: Tensor, counts: NDArray[np.int64]) -> Tensor:
    """KL(softmax(teacher) || softmax(scores)), the mean over the states; `counts` (B) moves each in a row of (M)."""
    graph = torch.as_tensor(np.repeat(np.arange(len(counts)), counts), device=scores.device)
    wanted, chosen = (log_softmax(x, graph, len(counts)) for x in (teacher, scores))
    return (wanted.exp() * (wanted - chosen)).sum() / max(int((counts > 0).sum()), 1)


def log_softmax(x: Tensor, graph: Tensor, count: int) -> Tensor:
    """Over the numbers of each graph."""
    highest = x.new_full((count,), -torch.inf).scatter_reduce(0, graph, x.detach(), "amax")
    x = x - highest[graph]
    return x - x.new_zeros(count).index_add(0, graph, x.exp()).log()[graph]
