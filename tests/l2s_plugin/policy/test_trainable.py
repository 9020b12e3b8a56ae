"""The form that is trained computes what the readable network computes, gradients and statistics included."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from l2s_plugin.kernels import layers
from l2s_plugin.policy.config import PolicyConfig
from l2s_plugin.policy.graph import batch_graphs

torch = pytest.importorskip("torch")

from l2s_plugin.policy.trainable import TrainableNetwork  # noqa: E402
from tests.l2s_plugin.policy.networks import Moves, State, batches, configs, hints, reference  # noqa: E402


@pytest.mark.parametrize("training", [True, False])
@settings(deadline=None, max_examples=60)
@given(configs(), batches(), st.integers(0, 100))
def test_scores_gradients_and_statistics_are_those_of_the_reference(
    training: bool, config: PolicyConfig, batch: list[tuple[State, Moves]], seed: int
) -> None:
    expected, _ = reference(config, seed)
    network = TrainableNetwork(config).to(torch.float64)
    network.load_state_dict(expected.state_dict())
    states, moves = ([row[k] for row in batch] for k in (0, 1))
    graphs = batch_graphs(states, moves, config.features, hints(moves))
    weight = torch.linspace(-1, 1, len(graphs.u), dtype=torch.float64)
    scores = []
    for form in (expected.train(training), network.train(training)):
        scores.append(form(graphs))
        (scores[-1] * weight).sum().backward()
    size = max(1.0, float(scores[0].detach().abs().max())) if len(graphs.u) else 1.0
    torch.testing.assert_close(scores[1], scores[0], rtol=1e-7, atol=1e-7 * size)
    for (name, one), (_, other) in zip(expected.named_parameters(), network.named_parameters(), strict=True):
        if one.grad is not None and other.grad is not None:
            size = max(1.0, float(one.grad.abs().max()))
            torch.testing.assert_close(other.grad, one.grad, rtol=1e-6, atol=1e-7 * size, msg=name)
    for (name, one), (_, other) in zip(expected.named_buffers(), network.named_buffers(), strict=True):
        torch.testing.assert_close(other, one, msg=name)


@settings(deadline=None, max_examples=100)
@given(configs(), batches(), st.integers(0, 100), st.integers(0, 3))
def test_compiled_layers_give_the_scores_gradients_and_statistics_of_the_reference(
    config: PolicyConfig, batch: list[tuple[State, Moves]], seed: int, silent: int
) -> None:
    """On a CPU, in float32; also where no gradient comes from some of the graphs."""
    _compare_with_the_reference(config, batch, seed, silent)


@settings(deadline=None, max_examples=5)
@given(configs(), batches(), st.integers(0, 100))
def test_layers_mean_the_same_interpreted(config: PolicyConfig, batch: list[tuple[State, Moves]], seed: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        for name in ("aggregate", "aggregate_back", "rectify", "rectify_back", "attend", "attend_back"):
            patch.setattr(layers, name, getattr(layers, name).py_func)
        _compare_with_the_reference(config, batch, seed, silent=1)


def _compare_with_the_reference(config: PolicyConfig, batch: list[tuple[State, Moves]], seed: int, silent: int) -> None:
    expected, _ = reference(config, seed)
    network = TrainableNetwork(config)
    network.load_state_dict(expected.state_dict())
    states, moves = ([row[k] for row in batch] for k in (0, 1))
    graphs = batch_graphs(states, moves, config.features, hints(moves))
    weight = torch.linspace(-1, 1, len(graphs.u)) * torch.as_tensor(graphs.move_graph != silent)
    for _ in range(2):  # the second time, work space is used again
        expected.zero_grad()
        network.zero_grad()
        scores = [form(graphs) for form in (expected.train(), network.train())]
        for values in scores:
            (values * weight).sum().backward()
    assert scores[1].dtype == torch.float32
    _assert_alike(scores[1], scores[0], "scores")
    for (name, one), (_, other) in zip(expected.named_parameters(), network.named_parameters(), strict=True):
        # batch normalisation takes away what is added before it
        gradients = [torch.zeros_like(one) if form.grad is None else form.grad for form in (one, other)]
        _assert_alike(gradients[1], gradients[0], name)
    for (name, one), (_, other) in zip(expected.named_buffers(), network.named_buffers(), strict=True):
        _assert_alike(other, one, name)


def _assert_alike(value: torch.Tensor, expected: torch.Tensor, name: str) -> None:
    size = max(1.0, float(expected.detach().abs().max())) if expected.numel() else 1.0
    torch.testing.assert_close(value.double(), expected.double(), rtol=0, atol=2e-4 * size, msg=name)


@settings(deadline=None, max_examples=20)
@given(configs(), batches())
def test_the_graph_embedding_is_that_of_the_reference(config: PolicyConfig, batch: list[tuple[State, Moves]]) -> None:
    expected, _ = reference(config, 0)
    network = TrainableNetwork(config).to(torch.float64).eval()
    network.load_state_dict(expected.state_dict())
    states, moves = ([row[k] for row in batch] for k in (0, 1))
    graphs = batch_graphs(states, moves, config.features, hints(moves))
    torch.testing.assert_close(network.scores_and_embedding(graphs)[1], expected.embed(graphs)[1])
