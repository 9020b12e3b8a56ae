"""Architectures, states and moves of every kind for tests of the policy network, and the reference to compare with."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import strategies as st

from l2s_plugin.kernels.state import State, new_state, set_order
from l2s_plugin.policy.config import PolicyConfig
from tests.policies import random_weights
from tests.strategies import instances, linear_orders

torch = pytest.importorskip("torch")
torch.set_num_threads(1)  # the networks are tiny: more threads only wait for each other

Moves = tuple[np.ndarray, np.ndarray]


def configs() -> st.SearchStrategy[PolicyConfig]:
    """Small networks of every architecture."""
    return st.builds(
        PolicyConfig,
        width=st.sampled_from([4, 6, 18, 40]),
        layers=st.integers(1, 4),
        heads=st.sampled_from([1, 2]),
        embedding=st.sampled_from(["both", "tpm", "cam"]),
        aggregation=st.sampled_from(["mean", "sum"]),
        normalisation=st.sampled_from(["batch", "running"]),
        action_width=st.sampled_from([3, 8, 35]),
        action_layers=st.integers(1, 3),
        features=st.sampled_from(["paper", "scaled"]),
    )


@st.composite
def states_and_moves(draw: Any, **shape: Any) -> tuple[State, Moves]:
    """A state of a search (instances ragged, re-entrant, with zero durations) and some pairs of its operations."""
    instance = draw(instances(**shape))
    state = new_state(instance, 0)
    set_order(state, draw(linear_orders(instance)).astype(np.uint32))
    operation = st.integers(0, instance.n_operations - 1)
    pairs = draw(st.lists(st.tuples(operation, operation), max_size=12))
    u, v = np.array(pairs, np.uint32).reshape(-1, 2).T
    return state, (u, v)


def batches() -> st.SearchStrategy[list[tuple[State, Moves]]]:
    """States of different instances and sizes."""
    return st.lists(states_and_moves(), min_size=1, max_size=4)


def reference(config: PolicyConfig, seed: int, dtype: Any = torch.float64) -> tuple[Any, dict[str, np.ndarray]]:
    """The readable network with fixed random weights, ready for inference; and the weights."""
    from l2s_plugin.policy.tpm_cam.network import PolicyNetwork

    weights = random_weights(config, seed)
    return PolicyNetwork.trained(config, weights).to(dtype), weights


def reference_scores(network: Any, states: list[Any], moves: list[Moves]) -> list[np.ndarray]:
    """What the readable network says."""
    return network.scores(states, moves)


def assert_close(scores: list[np.ndarray], expected: list[np.ndarray]) -> None:
    """Within 1e-5 of the size of the scores."""
    size = max([1.0, *(float(np.abs(row).max()) for row in expected if len(row))])
    assert len(scores) == len(expected)
    for row, expected_row in zip(scores, expected, strict=True):
        np.testing.assert_allclose(row, expected_row, rtol=1e-5, atol=1e-5 * size)
