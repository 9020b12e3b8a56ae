"""The compiled forward pass gives the reference network's scores, and keeps to its own memory."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from l2s_plugin.errors import L2SError
from l2s_plugin.generate import taillard
from l2s_plugin.kernels.matmul import product
from l2s_plugin.kernels.state import new_state, set_order
from l2s_plugin.kernels.view import StateView
from l2s_plugin.policy.config import PolicyConfig
from l2s_plugin.policy.tpm_cam.scorer import CompiledNetwork, PaperScorer
from l2s_plugin.schedule import Schedule
from tests.policies import random_weights
from tests.reference import NORMALISATIONS, golden_cases, golden_policy

torch = pytest.importorskip("torch")

from tests.l2s_plugin.policy.networks import (  # noqa: E402
    Moves,
    State,
    assert_close,
    batches,
    configs,
    reference,
    reference_scores,
)

SMALL = PolicyConfig(width=8, layers=2, action_width=8, action_layers=1)


def state_of(schedule: Schedule) -> State:
    state = new_state(schedule.instance, 0)
    set_order(state, schedule.linear_order.astype(np.uint32))
    return state


@settings(deadline=None, derandomize=True, max_examples=100)
@given(configs(), batches(), st.integers(0, 100))
def test_equals_the_reference(config: PolicyConfig, batch: list[tuple[State, Moves]], seed: int) -> None:
    states, moves = ([row[k] for row in batch] for k in (0, 1))
    network, weights = reference(config, seed)
    assert_close(PaperScorer(config, weights).scores_batch(states, moves), reference_scores(network, states, moves))


@pytest.mark.parametrize("normalisation", NORMALISATIONS)
@pytest.mark.parametrize("case", golden_cases(), ids=lambda case: case.name)
def test_reproduces_the_golden_scores(case, normalisation: str) -> None:
    config, weights = golden_policy(normalisation)
    state = state_of(Schedule.from_machine_orders(case.instance, case.machine_orders))
    (scores,) = PaperScorer(config, weights).scores_batch([state], [case.moves.T])
    np.testing.assert_allclose(scores, case.scores[normalisation], rtol=1e-5)


def test_a_larger_instance_than_before_and_a_smaller_one_get_the_right_work_space() -> None:
    """Two networks that have seen nothing else must say the same."""
    weights = random_weights(SMALL)
    network = CompiledNetwork(SMALL, weights)
    for n_jobs, n_machines in ((3, 2), (20, 5), (2, 2)):
        instance = taillard(n_jobs, n_machines, 1, 2)
        state = state_of(Schedule.from_linear_order(instance, np.arange(instance.n_operations)))
        pairs = np.arange(instance.n_operations, dtype=np.uint32), np.zeros(instance.n_operations, np.uint32)
        np.testing.assert_array_equal(
            network.scores([state], [pairs]), CompiledNetwork(SMALL, weights).scores([state], [pairs])
        )


def test_threads_with_states_of_their_own_share_a_network() -> None:
    instance = taillard(30, 10, 1, 2)
    states = [state_of(Schedule.from_linear_order(instance, np.arange(300))) for _ in range(8)]
    network = CompiledNetwork(SMALL, random_weights(SMALL))
    moves = np.arange(0, 100), np.arange(100, 200)
    expected = network.scores(states[:1], [moves])
    with ThreadPoolExecutor(4) as pool:
        for scores in pool.map(lambda state: [network.scores([state], [moves]) for _ in range(10)], states):
            np.testing.assert_array_equal(scores, [expected] * 10)


def test_both_forms_behind_one_interface() -> None:
    """A view, a kernel state and a schedule get the same scores, compiled on the CPU and by torch."""
    instance = taillard(6, 5, 1, 2)
    schedule = Schedule.from_linear_order(instance, np.arange(30))
    state = state_of(schedule)
    weights = random_weights(SMALL)
    compiled, by_torch = PaperScorer(SMALL, weights), PaperScorer(SMALL, weights, "cpu:0")
    assert compiled.selector("name", sample=True) is not None
    assert by_torch.selector("name", sample=True) is None
    u, v = [0, 5, 10], [6, 12, 3]
    (expected,) = compiled.scores_batch([state], [(u, v)])
    for scorer in (compiled, by_torch):
        assert scorer.scores_batch([], []) == []
        assert [len(scores) for scores in scorer.scores_batch([state] * 2, [([], []), (u, v)])] == [0, 3]
        for form in (state, StateView(instance, state), schedule):
            (scores,) = scorer.scores_batch([form], [(u, v)])
            assert scores.dtype == np.float32
            np.testing.assert_allclose(scores, expected, rtol=1e-5)


def test_a_missing_device_is_one_clear_line() -> None:
    for device in ("cuda:7", "nonsense"):
        with pytest.raises(L2SError, match=f"device '{device}' cannot be used") as caught:
            PaperScorer(SMALL, random_weights(SMALL), device)
        assert "\n" not in str(caught.value)


def test_bad_weights_and_moves_are_one_clear_line() -> None:
    weights = random_weights(SMALL)
    name = "action.layers.0.bias"
    for value, message in (
        (weights[name][:-1], r"shape of 'action.layers.0.bias' is \[7\], not \[8\]"),
        (np.full_like(weights[name], np.nan), "not finite"),
        (None, "missing 'action.layers.0.bias'"),
    ):
        broken = {**weights, name: value}
        if value is None:
            del broken[name]
        with pytest.raises(L2SError, match=message):
            PaperScorer(SMALL, broken)
    state = state_of(Schedule.from_linear_order(taillard(2, 2, 1, 2), np.arange(4)))
    scorer = PaperScorer(SMALL, weights)
    with pytest.raises(L2SError, match="operations from 0 to 3"):
        scorer.scores_batch([state], [([0], [4])])
    with pytest.raises(L2SError, match="state of a search or a schedule, got str"):
        scorer.scores_batch(["ft06"], [([0], [1])])
    with pytest.raises(L2SError, match="same length"):
        scorer.scores_batch([state], [([0], [1, 2])])
    with pytest.raises(L2SError, match="moves for 1"):
        scorer.scores_batch([state, state], [([0], [1])])


@given(st.integers(1, 70), st.integers(1, 40), st.integers(1, 70))
@settings(deadline=None, max_examples=100)
def test_products_of_every_shape(n: int, k: int, m: int) -> None:
    """Tiles, overlapping tiles at the edges, and matrices smaller than a tile."""
    rng = np.random.default_rng(n * k * m)
    a, b, start = (rng.random(shape, np.float32) for shape in ((n, k), (k, m), (m,)))
    out = np.full((n, m), np.nan, np.float32)
    product(a, b, start, out)
    np.testing.assert_allclose(out, a @ b + start, rtol=1e-4)
