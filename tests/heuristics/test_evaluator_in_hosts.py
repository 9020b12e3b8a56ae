"""Hosts that rate moves by an evaluator take the same path as with the compiled exact values."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import l2s_plugin as l2s
from heuristics import Configuration, local_search, local_search_batch, run, tabu_search, tabu_search_batch
from l2s_plugin.errors import L2SError
from l2s_plugin.evaluator import Evaluator
from tests.strategies import instances

EXACT = ("greedy", "best-improvement", "first-improvement")
STOP = l2s.stop.steps(40)

pytest.importorskip("torch")


def path(result):
    history = [entry[1:] for entry in result.history]
    return result.schedule.order.tolist(), result.steps, history, result.stopped_by


@pytest.mark.parametrize("engine", ["message-passing", "compiled"])
@pytest.mark.parametrize("selector", EXACT)
@pytest.mark.parametrize("neighbourhood", ["n5", "n7"])
@pytest.mark.parametrize("host", [local_search, tabu_search])
def test_the_evaluator_changes_no_trajectory(host, neighbourhood, selector, engine):
    alone = host(l2s.load("la06"), selector, neighbourhood, stop=STOP, seed=2, known_bounds=False)
    rated = host(l2s.load("la06"), selector, neighbourhood, stop=STOP, seed=2, known_bounds=False, evaluator=engine)
    assert (alone.gear, rated.gear) == ("compiled", "python")
    assert path(rated) == path(alone)


@settings(max_examples=25, deadline=None)
@given(instances(), st.sampled_from(EXACT), st.sampled_from(["n1", "n5", "n6", "n7"]), st.integers(0, 9))
def test_nor_on_any_shop(instance, selector, neighbourhood, seed):
    """Ragged, re-entrant, durations of zero; restarts and aspiration included."""
    for host in (local_search, tabu_search):
        ways = (None, Evaluator(engine="message-passing"))
        found = [
            host(instance, selector, neighbourhood, stop=STOP, seed=seed, known_bounds=False, evaluator=way)
            for way in ways
        ]
        assert path(found[0]) == path(found[1])


class Counting(Evaluator):
    """Notes how many schedules come in a call."""

    def __init__(self):
        super().__init__(engine="message-passing")
        self.calls = []

    def evaluate(self, instances, orders):
        self.calls.append(len(orders))
        return super().evaluate(instances, orders)


@pytest.mark.parametrize("batch", [local_search_batch, tabu_search_batch])
def test_one_call_rates_the_neighbours_of_all_members(batch):
    shops = [l2s.load("la01"), l2s.load("la06"), l2s.load("ft06"), l2s.load("la01")]
    evaluator = Counting()
    options = {"stop": STOP, "seeds": [0, 1, 2, 3], "known_bounds": False}
    rated = batch(shops, "greedy", "n5", evaluator=evaluator, **options)
    assert [path(result) for result in rated] == [path(result) for result in batch(shops, "greedy", "n5", **options)]
    assert len(evaluator.calls) <= 41
    assert max(evaluator.calls) > 8


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"selector": "estimate", "evaluator": "message-passing"}, "'estimate' asks for no exact makespans"),
        ({"selector": "greedy", "evaluator": "magic"}, "unknown evaluator engine 'magic'"),
        ({"selector": "greedy", "evaluator": "message-passing:nowhere"}, "device 'nowhere' cannot be used"),
        ({"selector": "greedy", "evaluator": "compiled:cuda"}, "runs on cpu only, not on 'cuda'"),
        ({"selector": "greedy", "evaluator": 5}, "evaluator must be an Evaluator or its name, got 5"),
        ({"selector": "greedy", "evaluator": "compiled", "gear": "compiled"}, "no compiled gear"),
        ({"method": "memetic", "evaluator": "compiled"}, "method memetic has no use for evaluator"),
    ],
)
def test_evaluators_of_no_use_are_told(options, message):
    with pytest.raises(L2SError, match=message):
        run(l2s.load("ft06"), Configuration(**({"method": "tabu", "stop": STOP} | options)))


class Cycle:
    """A neighbourhood that moves the first operation of a machine behind the last one."""

    name = "cycle"

    def moves(self, state, rng):
        first = state.linear_order[state.instance.machine[state.linear_order] == 0]
        return [(int(first[0]), int(first[-1]), 1)]


def test_a_move_that_closes_a_cycle_is_told():
    with pytest.raises(L2SError, match="neighbourhood 'cycle' offered an impossible move"):
        tabu_search(l2s.load("la06"), "greedy", Cycle(), stop=STOP, evaluator="compiled")
