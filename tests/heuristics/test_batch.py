"""Searches in lock-step: every member goes the way it goes alone."""

from __future__ import annotations

import numpy as np
import pytest

import l2s_plugin as l2s
from heuristics import Result, dispatch, local_search, local_search_batch, tabu_search, tabu_search_batch
from heuristics.monitor import SearchError
from l2s_plugin.errors import L2SError
from l2s_plugin.instance import Instance
from l2s_plugin.policy import L2SSelector
from l2s_plugin.stop import no_improvement, seconds, steps, target
from tests.policies import random_policy

RAGGED = Instance.from_jobs([[(0, 3), (1, 2), (0, 5)], [(1, 4)], [(1, 2), (0, 6)], [(0, 1), (1, 1)]], 2, name="ragged")
SEEDS = [3, 1, 4, 1, 5]


def members() -> list[Instance]:
    return [l2s.load("ft06"), l2s.load("la16"), RAGGED, l2s.load("la16"), l2s.load("la01")]


def trajectory(result: Result) -> tuple:
    return (
        result.instance.name,
        result.schedule.order.tolist(),
        result.steps,
        [entry[1:] for entry in result.history],
        result.stopped_by,
        result.seed,
        result.method,
        result.selector,
    )


@pytest.mark.parametrize("device", ["cpu", "cpu:0"])
@pytest.mark.parametrize("sample", [True, False])
def test_members_take_the_trajectories_they_take_alone(device, sample):
    """Compiled on the CPU, and by torch."""
    if device != "cpu":
        pytest.importorskip("torch_geometric")
    selector = L2SSelector(random_policy(), sample=sample, device=device)
    instances = members()
    together = local_search_batch(instances, selector, stop=steps(80), seeds=SEEDS)
    for instance, seed, result in zip(instances, SEEDS, together, strict=True):
        assert trajectory(result) == trajectory(local_search(instance, selector, stop=steps(80), seed=seed))
        result.schedule.verify()


def test_tabu_searches_run_in_step_too():
    selector = L2SSelector(random_policy())
    together = tabu_search_batch(members(), selector, stop=steps(80), seeds=SEEDS)
    for instance, seed, result in zip(members(), SEEDS, together, strict=True):
        assert trajectory(result) == trajectory(tabu_search(instance, selector, stop=steps(80), seed=seed))


@pytest.mark.parametrize("selector", ["best-improvement", "boltzmann"])
def test_selectors_that_see_one_state_at_a_time_work_as_well(selector):
    together = local_search_batch(members(), selector, "n6", stop=steps(200), seed=2)
    for instance, result in zip(members(), together, strict=True):
        assert trajectory(result) == trajectory(local_search(instance, selector, "n6", stop=steps(200), seed=2))


class First:
    """A selector in Python that counts how often it is asked for how many states."""

    name = "first"

    def __init__(self):
        self.calls = []

    def select(self, state, moves, rng):
        return 0

    def score_moves(self, state, moves):
        return np.zeros(len(moves.u))

    def score_batch(self, states, moves):
        self.calls.append(len(states))
        return [self.score_moves(state, m) for state, m in zip(states, moves, strict=True)]


def test_one_call_of_the_selector_serves_all_members():
    selector = First()
    local_search_batch([l2s.load("la21")] * 6, selector, stop=steps(25), seeds=range(6), forbid_undo=False)
    assert selector.calls == [6] * 25


def test_every_member_stops_on_its_own():
    instances = [l2s.load("la21"), l2s.load("la16"), l2s.load("la16")]
    first = dispatch(instances[0]).makespan
    results = local_search_batch(instances, "random", stop=steps(300) | target(first), seeds=[1, 2, 3])
    assert [result.stopped_by for result in results] == ["target", "target", "target"]
    results = local_search_batch(instances, L2SSelector(random_policy()), stop=no_improvement(20) | seconds(60))
    assert {result.stopped_by for result in results} <= {"no improvement", "no moves"}


def test_the_start_can_be_given_for_all_or_for_each():
    instances = [l2s.load("ft06"), l2s.load("la01")]
    starts = [dispatch(instance, "spt") for instance in instances]
    results = local_search_batch(instances, "random", stop=steps(0), initials=starts)
    assert [result.makespan for result in results] == [start.makespan for start in starts]
    results = local_search_batch(instances, "random", stop=steps(0), initial="spt")
    assert [result.makespan for result in results] == [start.makespan for start in starts]


def test_clear_refusals():
    instances = [l2s.load("ft06"), l2s.load("la01")]
    assert local_search_batch([], "random", stop=steps(3)) == []
    with pytest.raises(L2SError, match="seeds: 3 given for 2 instances"):
        local_search_batch(instances, "random", stop=steps(3), seeds=[1, 2, 3])
    with pytest.raises(L2SError, match="seed must be"):
        local_search_batch(instances, "random", stop=steps(3), seeds=[1, -2])
    with pytest.raises(L2SError, match="stop"):
        local_search_batch(instances, "random", stop=None)


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (lambda states, moves: 1 / 0, "selector 'first' failed at step 0: ZeroDivisionError"),
        (lambda states, moves: [], "scores of 0 states, not of 2"),
        (lambda states, moves: [np.zeros(1)] * 2, "scores of shape"),
        (lambda states, moves: [np.full(len(m.u), np.nan) for m in moves], "not a number at step 0"),
    ],
)
def test_a_selector_that_breaks_its_contract_is_named_and_the_schedule_survives(answer, message):
    selector = First()
    selector.score_batch = answer
    with pytest.raises(SearchError, match=message) as caught:
        local_search_batch([l2s.load("la21"), l2s.load("la22")], selector, stop=steps(5))
    caught.value.result.schedule.verify()
