"""Fused inference gives the reference network's scores, for every architecture and every kind of graph."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from l2s_plugin.errors import L2SError
from l2s_plugin.policy.config import PolicyConfig
from l2s_plugin.schedule import Schedule
from tests.reference import NORMALISATIONS, GoldenCase, golden_cases, golden_policy

torch = pytest.importorskip("torch")

from l2s_plugin.policy.fused import FusedNetwork  # noqa: E402
from tests.l2s_plugin.policy.networks import (  # noqa: E402
    Moves,
    State,
    assert_close,
    batches,
    configs,
    reference,
    reference_scores,
)


@settings(deadline=None, max_examples=150)
@given(configs(), batches(), st.integers(0, 100))
def test_equals_the_reference(config: PolicyConfig, batch: list[tuple[State, Moves]], seed: int) -> None:
    states, moves = ([row[k] for row in batch] for k in (0, 1))
    network, weights = reference(config, seed)
    expected = reference_scores(network, states, moves)
    assert_close(FusedNetwork(config, weights, dtype=torch.float64).scores(states, moves), expected)


@settings(deadline=None, derandomize=True, max_examples=50)
@given(configs(), batches())
def test_equals_the_reference_in_single_precision(config: PolicyConfig, batch: list[tuple[State, Moves]]) -> None:
    states, moves = ([row[k] for row in batch] for k in (0, 1))
    network, weights = reference(config, 0)
    scores = FusedNetwork(config, weights).scores(states, moves)
    assert_close(scores, reference_scores(network, states, moves))


@settings(deadline=None, max_examples=30)
@given(configs(), batches())
def test_a_batch_gives_every_state_the_scores_it_gets_alone(
    config: PolicyConfig, batch: list[tuple[State, Moves]]
) -> None:
    _, weights = reference(config, 0)
    fused = FusedNetwork(config, weights, dtype=torch.float64)
    states, moves = ([row[k] for row in batch] for k in (0, 1))
    alone = [fused.scores([state], [pairs])[0] for state, pairs in batch]
    assert_close(fused.scores(states, moves), alone)


@pytest.mark.parametrize("normalisation", NORMALISATIONS)
def test_reproduces_the_golden_scores_in_one_batch(normalisation: str) -> None:
    config, weights = golden_policy(normalisation)
    cases = [case for case in golden_cases() if isinstance(case, GoldenCase)]
    schedules = [Schedule.from_machine_orders(case.instance, case.machine_orders) for case in cases]
    scores = FusedNetwork(config, weights).scores(schedules, [case.moves.T for case in cases])
    for case, row in zip(cases, scores, strict=True):
        np.testing.assert_allclose(row, case.scores[normalisation], rtol=1e-5)


def test_a_missing_device_is_one_clear_line() -> None:
    config = PolicyConfig(width=4, layers=1, action_width=4, action_layers=1)
    _, weights = reference(config, 0)
    for device in ("cuda:7", "nonsense"):
        with pytest.raises(L2SError, match=f"device '{device}' cannot be used") as caught:
            FusedNetwork(config, weights, device)
        assert "\n" not in str(caught.value)


def test_needs_no_torch_geometric() -> None:
    code = "import sys, l2s_plugin.policy.fused, l2s_plugin.policy.compiled; sys.exit('torch_geometric' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0
