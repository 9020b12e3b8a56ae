"""Proximal policy optimisation (Schulman et al. 2017): a stretch of moves is learned from several times.

For policies over moves, which are cheap: the environment makes tens of thousands of moves per second, and so does the
network. Shapes: n moves of B trajectories, N = n B of them together, at most W candidate moves each.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812

from heuristics.training.config import TrainingConfig
from heuristics.training.reinforce import Sampled, generalised_advantages
from l2s_plugin.policy.move_network import MoveNetwork
from l2s_plugin.policy.moves import MoveBatch

_EPS = 1e-6
_CRITIC_WEIGHT = 0.5
_CLIP = 0.2  # how far, relatively, a probability may go from where it was before it is left alone
_PARTS = 2  # a stretch is learned from in so many parts


@dataclass
class Practice:
    """What happened in n moves, a row each."""

    seen: list[MoveBatch] = field(default_factory=list)
    embeddings: list[Tensor] = field(default_factory=list)  # (B, ...), for the critic
    moves: list[Sampled] = field(default_factory=list)
    rewards: list[NDArray[np.float64]] = field(default_factory=list)  # (B)

    def add(self, seen: MoveBatch, embedding: Tensor, moves: Sampled, rewards: NDArray[np.float64]) -> None:
        """One move of every trajectory."""
        self.seen.append(seen)
        self.embeddings.append(embedding)
        self.moves.append(moves)
        self.rewards.append(rewards)

    def table(self) -> tuple[Tensor, Tensor]:
        """Features (N, W, 26) of all candidate moves, and which of the places are taken (N, W)."""
        counts = np.concatenate([batch.counts for batch in self.seen])
        mask = np.arange(max(int(counts.max()), 1)) < counts[:, None]
        features = np.zeros((*mask.shape, self.seen[0].features.shape[1]), np.float32)
        features[mask] = np.concatenate([batch.features for batch in self.seen])
        return torch.as_tensor(features), torch.as_tensor(mask)


def learn(
    network: MoveNetwork,
    critic: nn.Module,
    practice: Practice,
    last_embedding: Tensor,
    config: TrainingConfig,
    rng: np.random.Generator,
    update: Callable[[Tensor], None],
) -> dict[str, Any]:
    """Improve network and critic, `config.epochs` times over the practice; returns figures about it."""
    device = last_embedding.device
    embeddings = torch.cat(practice.embeddings)
    rewards = torch.as_tensor(np.stack(practice.rewards), dtype=torch.float32, device=device)
    with torch.no_grad():
        values = critic(embeddings).view_as(rewards)
        last = critic(last_embedding).squeeze(1)
    advantages = generalised_advantages(rewards, values, last, config.discount, config.trace).flatten()
    returns = advantages + values.flatten()
    explained = 1 - float(advantages.square().mean() / returns.var().clamp(min=_EPS))
    advantages = (advantages - advantages.mean()) / (advantages.std() + _EPS)
    features, mask = (part.to(device) for part in practice.table())
    actions = torch.as_tensor(np.concatenate([moves.actions for moves in practice.moves]), device=device).clamp(min=0)
    before = torch.cat([moves.log_probability for moves in practice.moves])
    chosen = torch.cat([moves.chosen for moves in practice.moves]).float()
    for _ in range(config.epochs):
        for rows in torch.as_tensor(rng.permutation(len(actions)), device=device).tensor_split(_PARTS):
            scores = network(features[rows]).masked_fill(~mask[rows], -torch.inf)
            scores = torch.where(chosen[rows].bool().unsqueeze(1), scores, 0.0)
            log_probabilities = F.log_softmax(scores, dim=1)
            now = log_probabilities.gather(1, actions[rows].unsqueeze(1)).squeeze(1)
            ratio = (now - before[rows]).exp()
            gain = torch.minimum(ratio * advantages[rows], ratio.clamp(1 - _CLIP, 1 + _CLIP) * advantages[rows])
            entropy = -(log_probabilities.exp() * log_probabilities.masked_fill(~mask[rows], 0.0)).sum(dim=1)
            critic_loss = (critic(embeddings[rows]).squeeze(1) - returns[rows]).square().mean()
            policy_loss = -((gain + config.entropy * entropy) * chosen[rows]).mean()
            update(policy_loss + _CRITIC_WEIGHT * critic_loss)
    entropy = torch.stack([moves.entropy for moves in practice.moves])
    return {"reward": float(rewards.mean()), "entropy": float(entropy.mean()), "explained": explained}
