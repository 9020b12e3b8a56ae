"""n-step REINFORCE (paper, algorithm 1): the policy samples n moves of every trajectory, and learns from them.

Shapes: n moves, B trajectories.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812

from heuristics.training.algorithms import Batch, TrainingError
from heuristics.training.config import TrainingConfig
from heuristics.training.environment import Environment
from heuristics.training.learner import Learner
from heuristics.training.torchrun import Processes
from l2s_plugin.policy.config import PolicyConfig
from l2s_plugin.policy.tpm_cam.graphs import GraphBatch
from l2s_plugin.policy.tpm_cam.network import PolicyNetwork, frozen_statistics

_EPS = 1e-5
_CRITIC_WEIGHT = 0.5


class Reinforce(Learner):
    """Network and critic; several processes learn from their shares of a batch and average gradients."""

    def __init__(self, config: TrainingConfig, processes: Processes, device: str) -> None:
        assert isinstance(config.policy, PolicyConfig)
        torch.manual_seed(config.seed)
        self.network = PolicyNetwork(config.policy).to(device).train()
        width = config.policy.embedding_width
        self._critic = nn.Sequential(nn.Linear(width, 64), nn.Tanh(), nn.Linear(64, 1)).to(device)
        self._critic.requires_grad_(config.baseline == "critic")
        super().__init__(config, processes, {"network": self.network, "critic": self._critic})

    def learn(self, batch: Batch) -> dict[str, float]:
        """Go through a batch, learning from every n moves."""
        config, seed = self._config, int(batch.rng.integers(2**31))
        environment = Environment(
            batch.instances, config.host, config.neighbourhood, self.network.config.features, config.reward,
            config.start, seed,
        )  # fmt: skip
        rows, count = [], config.steps // config.horizon
        for k in range(count):
            loss, figures = self._stretch(environment, batch)
            self.update(loss, batch)
            rows.append(figures)
            batch.progress((k + 1) / count)
        means = {key: float(np.mean([row[key] for row in rows])) for key in rows[0]}
        means["improvement"] = 100 * float(np.mean(1 - environment.incumbents / environment.initial_makespans))
        # processes normalise by their own nodes; what they gathered is averaged once per batch
        self._processes.average([buffer for buffer in self.network.buffers() if buffer.is_floating_point()])
        total = self._processes.total(np.array(list(means.values())))
        return dict(zip(means, (total / self._processes.count).tolist(), strict=True))

    def _stretch(self, environment: Environment, batch: Batch) -> tuple[Tensor, dict[str, Any]]:
        """Make n moves; the loss, and figures about them."""
        moves, rewards, values = [], [], []
        for _ in range(self._config.horizon):
            scores, value = self._look(environment.observe())
            if not torch.isfinite(scores).all():
                raise TrainingError(f"the scores in batch {batch.number} are no finite numbers")
            moves.append(sample(scores, environment.n_actions, batch.rng))
            rewards.append(environment.step(moves[-1].actions))
            values.append(value)
        if self._config.baseline == "critic":
            with torch.no_grad(), frozen_statistics(self.network):
                values.append(self._look(environment.observe())[1])
        return stretch_loss(moves, rewards, values, self._config)

    def _look(self, seen: GraphBatch) -> tuple[Tensor, Tensor]:
        """Scores of the moves (M), and what the critic expects of the schedules (B)."""
        scores, graphs = self.network.scores_and_embedding(seen)
        return scores, self._critic(graphs).squeeze(1)


class Sampled(NamedTuple):
    """A move for every trajectory."""

    actions: NDArray[np.int64]  # (B), -1 for the dummy action
    log_probability: Tensor  # (B), 0 for the dummy action
    entropy: Tensor  # (B)
    chosen: Tensor  # (B), false for the dummy action


def sample(scores: Tensor, counts: NDArray[np.int64], rng: np.random.Generator) -> Sampled:
    """Draw a move from the softmax over each trajectory's scores; `scores` (M) has `counts` (B) in a row.

    The random numbers come from numpy, so that they are the same whatever the device.
    """
    widest = max(int(counts.max()), 1)
    there = np.arange(widest) < counts[:, None]
    mask = torch.as_tensor(there, device=scores.device)
    table = scores.new_full(mask.shape, -torch.inf).masked_scatter(mask, scores)
    chosen = torch.as_tensor(counts > 0, device=scores.device)
    table = torch.where(chosen.unsqueeze(1), table, torch.zeros_like(table))
    log_probabilities = F.log_softmax(table, dim=1)
    gumbel = torch.as_tensor(rng.gumbel(size=there.shape), dtype=torch.float32, device=scores.device)
    picked = torch.argmax(log_probabilities.detach() + gumbel, dim=1)
    probabilities = log_probabilities.exp()
    entropy = -(probabilities * log_probabilities.masked_fill(~mask, 0.0)).sum(dim=1) * chosen
    log_probability = log_probabilities.gather(1, picked.unsqueeze(1)).squeeze(1) * chosen
    actions = torch.where(chosen, picked, -1).cpu().numpy()
    return Sampled(actions, log_probability, entropy, chosen)


def stretch_loss(
    moves: Sequence[Sampled], earned: Sequence[NDArray[np.float64]], expected: Sequence[Tensor], config: TrainingConfig
) -> tuple[Tensor, dict[str, Any]]:
    """The loss whose gradient raises the probability of moves that did better than expected, and figures about it.

    n moves with what they earned; a critic's values before each of them and after the last.
    """
    log_probabilities, entropies, chosen = (torch.stack(column) for column in list(zip(*moves, strict=True))[1:])
    rewards = torch.as_tensor(np.stack(earned), dtype=torch.float32, device=entropies.device)
    count = chosen.sum().clamp(min=1)
    figures = {"reward": float(rewards.mean()), "entropy": float(entropies.detach().sum() / count)}
    if config.baseline == "returns":
        advantages = normalised(returns(rewards, config.discount), chosen)
        loss = -(log_probabilities * advantages * chosen).sum(dim=0).mean()
    else:
        values = torch.stack(list(expected))
        advantages = generalised_advantages(rewards, values.detach(), config.discount, config.trace)
        critic_loss = ((values[:-1] - values[:-1].detach() - advantages) ** 2 * chosen).sum() / count
        figures["critic_loss"] = float(critic_loss.detach())
        scale = (advantages * chosen).pow(2).mean().sqrt() + _EPS
        loss = -(log_probabilities * advantages / scale * chosen).sum() / count + _CRITIC_WEIGHT * critic_loss
    return loss - config.entropy * entropies.sum() / count, figures


def returns(rewards: Tensor, discount: float) -> Tensor:
    """G_t = r_t + discount * G_(t+1), nothing after the last of the n moves, (n, B) -> (n, B)."""
    return generalised_advantages(rewards, rewards.new_zeros(len(rewards) + 1, 1), discount, 1.0)


def normalised(values: Tensor, chosen: Tensor) -> Tensor:
    """Mean 0 and deviation 1 over the n moves of each instance, as the authors do; dummy actions do not count."""
    count = chosen.sum(dim=0).clamp(min=1)
    centred = (values - (values * chosen).sum(dim=0) / count) * chosen
    return centred / ((centred**2).sum(dim=0) / count).sqrt().add(_EPS)


def generalised_advantages(rewards: Tensor, values: Tensor, discount: float, trace: float) -> Tensor:
    """A_t = delta_t + discount * trace * A_(t+1), where delta_t = r_t + discount * V_(t+1) - V_t, (n, B)."""
    advantage, rows = torch.zeros_like(rewards[0]), []
    for delta in (rewards + discount * values[1:] - values[:-1]).flip(0):
        advantage = delta + discount * trace * advantage
        rows.append(advantage)
    return torch.stack(rows[::-1])
