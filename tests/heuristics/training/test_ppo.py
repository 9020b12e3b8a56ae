"""Proximal policy optimisation: what earned more becomes likelier, and what was not chosen leaves no trace."""

from __future__ import annotations

import numpy as np
import pytest

from heuristics.training.config import PRESETS
from l2s_plugin.kernels.move_policy import N_MOVE_FEATURES, N_STATE_FEATURES

torch = pytest.importorskip("torch")

from torch import nn  # noqa: E402

from heuristics.training.ppo import Practice, learn  # noqa: E402
from heuristics.training.reinforce import sample  # noqa: E402
from l2s_plugin.policy.config import MovePolicyConfig  # noqa: E402
from l2s_plugin.policy.move_network import MoveNetwork  # noqa: E402
from l2s_plugin.policy.moves import MoveBatch  # noqa: E402

CONFIG = PRESETS["ppo"].with_changes({"discount": 0.0, "entropy": 0.0})


def practise(network: MoveNetwork, rng: np.random.Generator, counts: list[int]) -> tuple[Practice, torch.Tensor]:
    """Moves with random features; the higher the last feature of the move taken, the higher the reward."""
    practice, numbers = Practice(), np.array(counts)
    first = np.cumsum(numbers) - numbers
    for _ in range(32):
        batch = MoveBatch(
            rng.uniform(0, 1, (numbers.sum(), N_MOVE_FEATURES)).astype(np.float32),
            rng.uniform(0, 1, (len(counts), N_STATE_FEATURES)).astype(np.float32),
            numbers,
        )
        with torch.no_grad():
            scores, embedding = network.scores_and_embedding(batch)
        moves = sample(scores, numbers, rng)
        rewards = [
            batch.features[at + row, -1] if row >= 0 else 0.0 for at, row in zip(first, moves.actions, strict=True)
        ]
        practice.add(batch, embedding, moves, np.array(rewards, np.float64))
    return practice, embedding


def test_moves_that_earn_more_become_likelier() -> None:
    torch.manual_seed(0)
    rng = np.random.default_rng(0)
    network = MoveNetwork(MovePolicyConfig())
    critic = nn.Linear(MoveNetwork.embedding_width, 1)
    optimiser = torch.optim.Adam([*network.parameters(), *critic.parameters()], lr=1e-2)

    def update(loss: torch.Tensor) -> None:
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()

    rewards = []
    for _ in range(40):
        practice, last = practise(network, rng, [4, 7, 2, 0])
        figures = learn(network, critic, practice, last, CONFIG, rng, update)
        rewards.append(figures["reward"])
    assert rewards[-1] > rewards[0] + 0.1
    assert float(network.rule[-1]) > 0


def test_without_moves_there_is_nothing_to_learn_for_the_policy() -> None:
    network = MoveNetwork(MovePolicyConfig())
    critic = nn.Linear(MoveNetwork.embedding_width, 1)
    practice, last = practise(network, np.random.default_rng(1), [0, 0])

    def update(loss: torch.Tensor) -> None:
        assert torch.isfinite(loss)
        loss.backward()

    learn(network, critic, practice, last, CONFIG, np.random.default_rng(2), update)
    assert all(parameter.grad is None or not parameter.grad.any() for parameter in network.parameters())


def test_a_critic_sees_mean_and_least_of_the_moves() -> None:
    features = np.arange(3 * N_MOVE_FEATURES, dtype=np.float32).reshape(3, -1)
    states = np.ones((2, N_STATE_FEATURES), np.float32)
    network = MoveNetwork(MovePolicyConfig())
    _, embedding = network.scores_and_embedding(MoveBatch(features, states, np.array([2, 1])))
    expected = np.hstack([states, [features[:2].mean(0), features[2]], [features[0], features[2]]])
    np.testing.assert_allclose(embedding.detach().numpy(), expected)
