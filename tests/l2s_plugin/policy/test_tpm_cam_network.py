"""The readable network reproduces the authors' code, and its architecture says what it is."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from l2s_plugin import generate
from l2s_plugin.errors import L2SError
from l2s_plugin.instance import Instance
from l2s_plugin.policy.config import PolicyConfig
from l2s_plugin.policy.importer import map_authors_keys
from l2s_plugin.policy.tpm_cam.graphs import batch_graphs, node_features
from l2s_plugin.schedule import Schedule
from tests.policies import random_weights
from tests.reference import NORMALISATIONS, GoldenCase, golden_cases, golden_policy

torch = pytest.importorskip("torch")
pytest.importorskip("torch_geometric")

from l2s_plugin.policy.tpm_cam.network import GraphBatchNorm, PolicyNetwork, arcs_of, frozen_statistics  # noqa: E402
from tests.l2s_plugin.policy.networks import (  # noqa: E402
    Moves,
    State,
    assert_close,
    batches,
    configs,
    reference,
    reference_scores,
)

TINY = Instance.from_jobs([[(0, 3), (1, 2)], [(1, 4)]])


@pytest.fixture(params=NORMALISATIONS)
def authors(request: pytest.FixtureRequest) -> PolicyNetwork:
    """The network with the authors' weights."""
    config, weights = golden_policy(request.param)
    return PolicyNetwork.trained(config, weights)


@pytest.mark.parametrize("case", golden_cases(), ids=lambda case: case.name)
def test_reproduces_scores_and_graph_embeddings_of_the_authors_code(case, authors: PolicyNetwork) -> None:
    normalisation = authors.config.normalisation
    schedule = Schedule.from_machine_orders(case.instance, case.machine_orders)
    batch = batch_graphs([schedule], [case.moves.T])
    with torch.no_grad():
        np.testing.assert_allclose(authors(batch), case.scores[normalisation], rtol=1e-5)
        embedding = case.graph_embedding[normalisation]
        np.testing.assert_allclose(authors.embed(batch)[1][0], embedding, atol=1e-5 * np.abs(embedding).max())


@settings(deadline=None, max_examples=30)
@given(configs(), batches())
def test_a_batch_gives_every_state_the_scores_it_gets_alone(
    config: PolicyConfig, batch: list[tuple[State, Moves]]
) -> None:
    network, _ = reference(config, 0)
    states, moves = ([row[k] for row in batch] for k in (0, 1))
    alone = [reference_scores(network, [state], [pairs])[0] for state, pairs in batch]
    assert_close(reference_scores(network, states, moves), alone)


@pytest.mark.parametrize("normalisation", NORMALISATIONS)
def test_reproduces_the_golden_scores_in_one_batch(normalisation: str) -> None:
    config, weights = golden_policy(normalisation)
    cases = [case for case in golden_cases() if isinstance(case, GoldenCase)]
    schedules = [Schedule.from_machine_orders(case.instance, case.machine_orders) for case in cases]
    scores = PolicyNetwork.trained(config, weights).scores(schedules, [tuple(case.moves.T) for case in cases])
    for case, row in zip(cases, scores, strict=True):
        np.testing.assert_allclose(row, case.scores[normalisation], rtol=1e-5)


@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("embedding", ["tpm", "cam", "both"])
@pytest.mark.parametrize("normalisation", NORMALISATIONS)
def test_gradients_are_finite_differences(embedding: str, normalisation: str, training: bool) -> None:
    """Along a random direction in each tensor, in double precision: training follows the slope of the scores."""
    config = PolicyConfig(
        width=6, layers=2, heads=2, embedding=embedding, normalisation=normalisation, action_width=4, action_layers=2
    )
    network, _ = reference(config, 1)
    network.train(training)
    rng = np.random.default_rng(0)
    schedules = [Schedule.from_linear_order(generate.uniform(4, 3, seed), np.arange(12)) for seed in (1, 2)]
    batch = batch_graphs(schedules, [(rng.integers(12, size=5), rng.integers(12, size=5)) for _ in schedules])
    importance = torch.as_tensor(rng.normal(size=10))

    def loss() -> torch.Tensor:
        return network(batch) @ importance

    loss().backward()
    for name, parameter in network.named_parameters():
        direction = torch.as_tensor(rng.normal(size=tuple(parameter.shape)))
        ends = []
        with torch.no_grad():
            for step in (1e-6, -2e-6):
                parameter += step * direction
                ends.append(float(loss()))
            parameter += 1e-6 * direction
        slope = float((parameter.grad * direction).sum())
        assert slope == pytest.approx((ends[0] - ends[1]) / 2e-6, rel=1e-5, abs=1e-8), name


def test_in_training_statistics_are_those_of_the_whole_batch_and_are_gathered() -> None:
    config = PolicyConfig(width=4, layers=1, embedding="tpm", action_width=3, action_layers=1)
    network, _ = reference(config, 0)
    schedules = [Schedule.from_linear_order(TINY, order) for order in ([0, 1, 2], [2, 0, 1])]
    before = network.tpm.layers[0].norm.running_mean.clone()
    batch = batch_graphs(schedules, [([1], [2])] * 2)
    alone = network(batch)
    together = network.train()(batch)
    assert not torch.allclose(alone, together)
    assert not torch.allclose(before, network.tpm.layers[0].norm.running_mean)
    together.sum().backward()
    assert all(parameter.grad is not None for parameter in network.parameters())


def test_arcs_and_features_of_a_small_graph() -> None:
    """Node 0 is the dummy start, 4 the dummy end; operation 2 comes before operation 1 on machine 1."""
    batch = batch_graphs([Schedule.from_linear_order(TINY, [2, 0, 1])], [([2], [1])])
    job_arcs, machine_arcs = ({tuple(arc) for arc in arcs.T.tolist()} for arcs in arcs_of(batch))
    assert job_arcs == {(0, 1), (1, 2), (0, 3), (2, 4), (3, 4)}
    assert machine_arcs == {(3, 2)}
    expected = [[0, 0, 0], [3, 0, 1], [2, 4, 4], [4, 0, 0], [0, 6, 6]]
    np.testing.assert_allclose(batch.features, expected / np.array([99, 1000, 1000]), rtol=1e-6)
    assert (batch.u.tolist(), batch.v.tolist()) == ([3], [2])


def test_scaled_features_do_not_depend_on_the_unit_of_time() -> None:
    minutes = Schedule.from_linear_order(TINY, [2, 0, 1])
    seconds = Instance(TINY.duration * 60, TINY.machine, TINY.job_offset, 2)
    rows = [
        batch_graphs([schedule], [([], [])], "scaled").features
        for schedule in (minutes, Schedule.from_linear_order(seconds, [2, 0, 1]))
    ]
    np.testing.assert_allclose(rows[0], rows[1], rtol=1e-6)
    assert rows[0][:, 0].max() == pytest.approx(1)


@settings(deadline=None, max_examples=20)
@given(batches())
def test_a_graph_is_the_same_from_a_state_and_from_its_schedule(batch: list[tuple[State, Moves]]) -> None:
    for state, moves in batch:
        offset = np.append(0, state.job_last + 1)
        instance = Instance(state.duration[:-1], state.machine[:-1], offset, int(state.machine.max()) + 1)
        schedule = Schedule.from_linear_order(instance, state.order.astype(np.int32))
        one, other = (batch_graphs([form], [moves]) for form in (state, schedule))
        for name, array in vars(one).items():
            np.testing.assert_array_equal(array, getattr(other, name), err_msg=name)
        times = (schedule.start, schedule.lst, schedule.makespan)
        np.testing.assert_array_equal(one.features, node_features(instance.duration, *times, "paper"))


@given(st.sampled_from(["tpm", "cam", "both"]), st.sampled_from([1, 2]))
def test_names_and_shapes_of_the_weights(embedding: str, heads: int) -> None:
    config = PolicyConfig(width=6, layers=2, heads=heads, embedding=embedding, action_width=5, action_layers=2)
    shapes = {name: tuple(value.shape) for name, value in PolicyNetwork(config).state_dict().items()}
    assert shapes == {name: value.shape for name, value in random_weights(config).items()}


def test_a_config_survives_its_json_form() -> None:
    config = PolicyConfig(width=12, heads=3, embedding="cam", features="scaled")
    assert PolicyConfig.from_dict(config.to_dict()) == config
    assert PolicyConfig.from_dict({}) == PolicyConfig()


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ({"widht": 64}, "did you mean width"),
        ({"width": 0}, "policy width must be a whole number from 1 to 4096, got 0"),
        ({"layers": 2.0}, "policy layers must be a whole number"),
        ({"heads": True}, "policy heads must be a whole number"),
        ({"width": 10, "heads": 4}, "not a multiple"),
        ({"embedding": "gin"}, "policy embedding must be both or tpm or cam, got 'gin'"),
        ({"features": None}, "policy features must be paper or scaled"),
        ([1], "must be an object"),
    ],
)
def test_a_wrong_config_is_one_clear_line(data, message: str) -> None:
    with pytest.raises(L2SError, match=message) as caught:
        PolicyConfig.from_dict(data)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("name", ["embedding_gin.GIN_layers.0.nn.2.weight", "policy.0.1.weight", "tpm.layers.0", ""])
def test_weights_of_other_networks_are_refused(name: str) -> None:
    with pytest.raises(L2SError, match="not one of the paper's network"):
        map_authors_keys({name: 0})
    with pytest.raises(L2SError, match="expected 0"):
        map_authors_keys({"embedding_gin.GIN_layers.0.eps": np.ones(1)})


def test_frozen_statistics_thaw_also_after_an_error() -> None:
    """A look at a state is not counted, and what comes after it is, whatever happened."""
    network = PolicyNetwork(PolicyConfig(width=8, layers=2, action_width=8, action_layers=1)).train()
    before = {name: buffer.clone() for name, buffer in network.named_buffers()}
    graph = torch.zeros(5, dtype=torch.long)

    def normalise() -> None:
        for module in network.modules():
            if isinstance(module, GraphBatchNorm):
                module(torch.randn(5, 8), graph)

    def look() -> None:
        with frozen_statistics(network):
            normalise()
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        look()
    for name, buffer in network.named_buffers():
        torch.testing.assert_close(buffer, before[name], msg=name)
    normalise()
    assert all((buffer != before[name]).any() for name, buffer in network.named_buffers())
