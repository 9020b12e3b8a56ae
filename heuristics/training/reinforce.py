"""n-step REINFORCE (paper, algorithm 1): sampling of moves, and the loss of a stretch of n moves.

Shapes: n moves, B trajectories.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional as F  # noqa: N812

from heuristics.training.config import TrainingConfig

_EPS = 1e-5
_CRITIC_WEIGHT = 0.5


@dataclass
class Stretch:
    """What happened in up to n moves, a row each."""

    log_probabilities: list[Tensor] = field(default_factory=list)  # of the moves made (B)
    entropies: list[Tensor] = field(default_factory=list)  # (B)
    rewards: list[Tensor] = field(default_factory=list)  # (B)
    chosen: list[Tensor] = field(default_factory=list)  # (B), false for the dummy action
    values: list[Tensor] = field(default_factory=list)  # (B), by the critic, if there is one

    def add(self, moves: Sampled, rewards: NDArray[np.float64], values: Tensor | None) -> None:
        """One move of every trajectory."""
        self.log_probabilities.append(moves.log_probability)
        self.entropies.append(moves.entropy)
        self.chosen.append(moves.chosen)
        self.rewards.append(torch.as_tensor(rewards, dtype=torch.float32, device=moves.entropy.device))
        if values is not None:
            self.values.append(values)


@dataclass(frozen=True)
class Sampled:
    """A move for every trajectory."""

    actions: NDArray[np.int64]  # (B), -1 for the dummy action
    log_probability: Tensor  # (B), 0 for the dummy action
    entropy: Tensor  # (B)
    chosen: Tensor  # (B)


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


def stretch_loss(stretch: Stretch, last_value: Tensor | None, config: TrainingConfig) -> tuple[Tensor, dict[str, Any]]:
    """The loss whose gradient raises the probability of moves that did better than expected, and figures about it."""
    rewards, chosen = torch.stack(stretch.rewards), torch.stack(stretch.chosen).float()
    log_probabilities, entropies = torch.stack(stretch.log_probabilities), torch.stack(stretch.entropies)
    if last_value is None:
        advantages = normalised(returns(rewards, config.discount), chosen)
        policy_loss = -(log_probabilities * advantages * chosen).sum(dim=0).mean()
        critic_loss = policy_loss.new_zeros(())
    else:
        values = torch.stack(stretch.values)
        advantages = generalised_advantages(rewards, values.detach(), last_value, config.discount, config.trace)
        critic_loss = ((values - values.detach() - advantages) ** 2 * chosen).sum() / chosen.sum().clamp(min=1)
        scale = (advantages * chosen).pow(2).mean().sqrt() + _EPS
        policy_loss = -(log_probabilities * advantages / scale * chosen).sum() / chosen.sum().clamp(min=1)
    entropy = entropies.sum() / chosen.sum().clamp(min=1)
    loss = policy_loss + _CRITIC_WEIGHT * critic_loss - config.entropy * entropy
    figures = {"reward": float(rewards.mean()), "entropy": float(entropy.detach())}
    if last_value is not None:
        figures["critic_loss"] = float(critic_loss.detach())
    return loss, figures


def returns(rewards: Tensor, discount: float) -> Tensor:
    """G_t = r_t + discount * G_(t+1), nothing after the last of the n moves, (n, B) -> (n, B)."""
    total, rows = torch.zeros_like(rewards[0]), []
    for reward in rewards.flip(0):
        total = reward + discount * total
        rows.append(total)
    return torch.stack(rows[::-1])


def normalised(values: Tensor, chosen: Tensor) -> Tensor:
    """Mean 0 and deviation 1 over the n moves of each instance, as the authors do; dummy actions do not count."""
    count = chosen.sum(dim=0).clamp(min=1)
    centred = (values - (values * chosen).sum(dim=0) / count) * chosen
    return centred / ((centred**2).sum(dim=0) / count).sqrt().add(_EPS)


def generalised_advantages(
    rewards: Tensor, values: Tensor, last_value: Tensor, discount: float, trace: float
) -> Tensor:
    """A_t = delta_t + discount * trace * A_(t+1), where delta_t = r_t + discount * V_(t+1) - V_t, (n, B)."""
    following = torch.cat((values[1:], last_value.unsqueeze(0)))
    advantage, rows = torch.zeros_like(last_value), []
    for delta in (rewards + discount * following - values).flip(0):
        advantage = delta + discount * trace * advantage
        rows.append(advantage)
    return torch.stack(rows[::-1])
