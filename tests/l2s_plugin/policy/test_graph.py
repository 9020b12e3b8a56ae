"""The network over the surroundings of moves: both forms give the same scores, whatever the shop and the company."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import l2s_plugin as l2s
from heuristics import dispatch, local_search, tabu_search
from heuristics.loop.memory import Memory
from heuristics.loop.search import Search
from l2s_plugin.errors import L2SError
from l2s_plugin.policy.config import GraphPolicyConfig
from l2s_plugin.policy.graph.network import GraphNetwork
from l2s_plugin.policy.graph.observation import observe
from l2s_plugin.policy.graph.scorer import GraphScorer
from l2s_plugin.policy.selector import L2SSelector
from l2s_plugin.schedule import Schedule
from tests.policies import random_policy, random_weights
from tests.strategies import instances

CONFIG = GraphPolicyConfig(width=16, hidden=24, layers=2, head=16)
DEEP = GraphPolicyConfig(width=8, hidden=8, layers=4, head=8)


def visited(instance, neighbourhood="n7", steps=20, seed=0):
    """A search that has made some moves, with what it could do next; None where there is nothing to do."""
    search = Search(instance, neighbourhood, "random", Memory(tenure=(2, 3)), seed, "python")
    search.start(dispatch(instance).linear_order)
    search.run(steps)
    return (search.view, search.candidates()) if search.list_candidates(steps + 1) is None else None


def reference(config, seen):
    network = GraphNetwork.trained(config, random_weights(config), "cpu")
    with torch.no_grad():
        scores = network(observe([state for state, _ in seen], [moves for _, moves in seen])).numpy()
    return np.split(scores, np.cumsum([len(moves.u) for _, moves in seen])[:-1])


@settings(max_examples=60, deadline=None)
@given(st.lists(instances(), min_size=1, max_size=3), st.sampled_from([CONFIG, DEEP]))
def test_the_compiled_network_scores_like_the_readable_one(shops, config):
    """Ragged and re-entrant jobs and durations of zero included; alone and in a batch."""
    seen = [found for shop in shops if (found := visited(shop)) is not None]
    if not seen:
        return
    scorer = GraphScorer(config, random_weights(config))
    together = reference(config, seen)
    for (state, moves), expected in zip(seen, together, strict=True):
        np.testing.assert_allclose(scorer.scores_batch([state], [moves])[0], expected, atol=1e-5)
        np.testing.assert_allclose(reference(config, [(state, moves)])[0], expected, atol=1e-5)


def test_more_moves_than_go_through_a_layer_at_once():
    state, moves = visited(l2s.load("ta71"), steps=3)
    assert len(moves.u) > 64
    scores = GraphScorer(CONFIG, random_weights(CONFIG)).scores_batch([state], [moves])[0]
    np.testing.assert_allclose(scores, reference(CONFIG, [(state, moves)])[0], atol=1e-5)


def test_a_score_depends_on_the_surroundings_alone():
    """Operations further away than there are layers may change as they like."""
    state, moves = visited(l2s.load("ta71"), "n5", steps=3)
    kernel = state.kernel_state
    scorer = GraphScorer(CONFIG, random_weights(CONFIG))
    before = scorer.scores_batch([state], [moves])[0]
    near = {int(x) for side in (moves.u, moves.v) for x in side}
    for _ in range(CONFIG.layers + 1):
        links = (kernel.job_pred, kernel.machine_pred, kernel.job_succ, kernel.machine_succ)
        near |= {int(link[x]) for x in near for link in links if x < len(kernel.order)}
    far = [x for x in range(len(kernel.order)) if x not in near]
    assert far
    kernel.duration[far] += 7
    np.testing.assert_array_equal(scorer.scores_batch([state], [moves])[0], before)


@settings(max_examples=40, deadline=None)
@given(instances())
def test_inputs_are_what_the_guide_says(shop):
    """Of every operation, from the times of the schedule alone."""
    found = visited(shop)
    if found is None:
        return
    state, moves = found
    seen, n = observe([state], [moves]), shop.n_operations
    schedule = Schedule.from_linear_order(shop, state.linear_order)
    unit = max(float(shop.duration.mean()), 1e-6)
    start, end, latest = schedule.start, schedule.end, schedule.lst
    tail = schedule.makespan - latest  # from the start of an operation to the end of the schedule
    order = [row.tolist() for row in schedule.machine_orders]
    before = {b: a for row in order for a, b in pairwise(row)}
    behind = {a: b for row in order for a, b in pairwise(row)}
    for x in range(n):
        around = (shop.job_pred[x], before.get(x, n), shop.job_succ[x], behind.get(x, n))
        assert seen.neighbours[x].tolist() == list(around)
        ends = [end[y] if y < n else 0 for y in around[:2]]
        tails = [tail[y] if y < n else 0 for y in around[2:]]
        gaps = [start[x] - e for e in ends] + [tail[x] - shop.duration[x] - t for t in tails]
        slack = latest[x] - start[x]
        expected = [shop.duration[x] / unit, np.log1p(slack / unit), slack == 0, *(min(g / unit, 4) for g in gaps)]
        expected.append(start[x] / max(schedule.makespan, 1))
        np.testing.assert_allclose(seen.nodes[x, :8], np.array(expected, float), atol=1e-5)


@pytest.mark.parametrize("host", [local_search, tabu_search])
def test_both_gears_follow_the_same_trajectory(host):
    selector = L2SSelector(random_policy(CONFIG))
    runs = [
        host(l2s.load("la21"), selector, "n5", stop=l2s.stop.steps(200), seed=3, gear=g) for g in ("compiled", "python")
    ]
    assert [run.gear for run in runs] == ["compiled", "python"]
    assert runs[0].schedule == runs[1].schedule


def test_a_device_other_than_the_cpu_asks_the_readable_network():
    """As far as that can be tried without one: the same device under another name."""
    compiled, asked = (L2SSelector(random_policy(CONFIG), device=device) for device in ("cpu", "cpu:0"))
    assert asked.compiled is None
    state, moves = visited(l2s.load("la21"))
    np.testing.assert_allclose(asked.score_moves(state, moves), compiled.score_moves(state, moves), atol=1e-5)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"width": 0}, "policy width must be a whole number from 1 to 4096, got 0"),
        ({"layers": 99}, "policy layers must be a whole number from 1 to 64, got 99"),
        ({"features": "2"}, "policy features must be 1, got '2'"),
    ],
)
def test_impossible_architectures_are_refused(options, message):
    with pytest.raises(L2SError, match=message):
        GraphPolicyConfig(**options)


def test_weights_of_another_network_are_refused():
    with pytest.raises(L2SError, match="missing"):
        GraphScorer(CONFIG, random_weights())
