"""Losses and returns, against slow and obvious ones."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import l2s_plugin as l2s
from heuristics.training.config import TrainingConfig
from heuristics.training.environment import DUMMY, Environment
from l2s_plugin.policy.config import PolicyConfig

torch = pytest.importorskip("torch")

from heuristics.training.reinforce import (  # noqa: E402
    generalised_advantages,
    normalised,
    returns,
    sample,
    stretch_loss,
)
from l2s_plugin.policy.tpm_cam.network import PolicyNetwork  # noqa: E402

tables = st.integers(1, 6).flatmap(
    lambda n: st.lists(st.lists(st.floats(-5, 5, width=32), min_size=3, max_size=3), min_size=n, max_size=n)
)


@given(tables, st.sampled_from([1.0, 0.9, 0.0]))
def test_returns_are_discounted_sums(rows: list[list[float]], discount: float) -> None:
    found = returns(torch.tensor(rows), discount)
    for t in range(len(rows)):
        for b in range(3):
            expected = sum(discount**k * rows[t + k][b] for k in range(len(rows) - t))
            assert float(found[t, b]) == pytest.approx(expected, abs=1e-4)


@given(tables, st.lists(st.booleans(), min_size=18, max_size=18))
def test_returns_are_normalised_over_the_moves_of_each_instance(rows: list[list[float]], flags: list[bool]) -> None:
    chosen = np.array(flags[: 3 * len(rows)]).reshape(-1, 3)
    found = normalised(torch.tensor(rows, dtype=torch.float64), torch.tensor(chosen).double()).numpy()
    for b in range(3):
        own = np.array(rows)[chosen[:, b], b]
        expected = (own - own.mean()) / (own.std() + 1e-5) if len(own) else own
        np.testing.assert_allclose(found[chosen[:, b], b], expected, atol=1e-6)
        assert not found[~chosen[:, b], b].any()


@given(tables, st.sampled_from([1.0, 0.9]), st.sampled_from([1.0, 0.5, 0.0]))
def test_generalised_advantages_are_sums_of_temporal_differences(
    rows: list[list[float]], discount: float, trace: float
) -> None:
    rewards, values = torch.tensor(rows), torch.tensor(rows).flip(1)
    last = torch.tensor([0.5, -1.0, 2.0])
    values = torch.cat((values, last.unsqueeze(0)))
    found = generalised_advantages(rewards, values, discount, trace)
    deltas = (rewards + discount * values[1:] - values[:-1]).numpy()
    for t in range(len(rows)):
        expected = sum((discount * trace) ** k * deltas[t + k] for k in range(len(rows) - t))
        np.testing.assert_allclose(found[t].numpy(), expected, atol=1e-4)


def test_probabilities_are_those_of_the_network() -> None:
    instances = [l2s.generate.uniform(5, 5, seed) for seed in range(3)]
    environment = Environment(instances)
    network = PolicyNetwork(PolicyConfig(width=8, layers=2, action_width=8, action_layers=1)).eval()
    graphs = environment.observe()
    counts = environment.n_actions
    with torch.no_grad():
        scores = network(graphs)
        moves = sample(scores, counts, np.random.default_rng(0))
    for action, b, row in zip(moves.actions, range(3), scores.split(counts.tolist()), strict=True):
        own = torch.log_softmax(row, 0)
        assert float(moves.log_probability[b]) == pytest.approx(float(own[action]), abs=1e-5)
        assert float(moves.entropy[b]) == pytest.approx(float(-(own.exp() * own).sum()), abs=1e-5)


def test_moves_are_drawn_as_often_as_their_probability_says() -> None:
    scores = torch.tensor([0.0, 1.0, 2.0, 5.0]).repeat(2000)
    counts = np.tile([3, 0, 1], 2000)
    moves = sample(scores, counts, np.random.default_rng(1))
    drawn = moves.actions.reshape(-1, 3)
    shares = np.bincount(drawn[:, 0], minlength=3) / 2000
    np.testing.assert_allclose(shares, torch.softmax(scores[:3], 0), atol=0.04)
    assert set(drawn[:, 1]) == {DUMMY}
    assert set(drawn[:, 2]) == {0}
    assert not moves.log_probability.reshape(-1, 3)[:, 1:].any()


@pytest.mark.parametrize("baseline", ["returns", "critic"])
@settings(deadline=None, max_examples=20)
@given(st.integers(0, 1000))
def test_the_loss_raises_what_earned_more(baseline: str, seed: int) -> None:
    """Two moves to choose from, one of which earns 1: its score must be pushed up, the other's down."""
    rng = np.random.default_rng(seed)
    config = TrainingConfig(baseline=baseline, discount=0.0, reward="decrement")
    scores = torch.zeros(2, requires_grad=True)
    moves = [sample(scores.repeat(8), np.full(8, 2), rng) for _ in range(8)]
    values = [torch.full((8,), 0.5)] * 9
    loss, figures = stretch_loss(moves, [each.actions.astype(float) for each in moves], values, config)
    loss.backward()
    assert scores.grad is not None
    assert scores.grad[0] > 0 > scores.grad[1]
    assert 0 <= figures["reward"] <= 1
    assert figures["entropy"] == pytest.approx(np.log(2), abs=1e-5)


def test_dummy_actions_leave_no_gradient() -> None:
    scores = torch.zeros(0, requires_grad=True)
    moves = [sample(scores, np.zeros(4, int), np.random.default_rng(0))] * 3
    loss, _ = stretch_loss(moves, [np.zeros(4)] * 3, [], TrainingConfig())
    assert float(loss.detach()) == 0
