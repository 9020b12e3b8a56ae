"""Where trials begin: with a rule, or between the members of populations, to which they are drawn."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from heuristics import dispatch
from heuristics.training import starts as module
from heuristics.training.config import TrainingConfig, preset
from heuristics.training.starts import Start, population, starts
from l2s_plugin import generate
from l2s_plugin.errors import L2SError
from l2s_plugin.schedule import Schedule

pytest.importorskip("torch")

from heuristics.training.torchrun import Processes
from heuristics.training.trials import RuleTraining, Trial

CONFIG = preset("polish").with_changes({"start_steps": 300_000})
INSTANCES = [generate.uniform(6, 6, seed, stages=2) for seed in range(8)]


@pytest.fixture(autouse=True)
def few_searches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_SEARCHES", 4)


def told(found: list[Start]) -> list[Any]:
    return [(start.instance, start.order.tolist(), start.drawn_to and start.drawn_to.order.tolist()) for start in found]


def test_with_a_rule_every_search_has_its_own_instance_and_is_drawn_to_nothing() -> None:
    found = starts(CONFIG.with_changes({"start": "spt"}), INSTANCES, 1)
    assert told(found) == [(shop, dispatch(shop, "spt").linear_order.tolist(), None) for shop in INSTANCES]


def test_populations_are_functions_of_the_seed() -> None:
    found = [told(starts(CONFIG, INSTANCES, seed, threads)) for seed, threads in ((1, 1), (1, 2), (2, 1))]
    assert found[0] == found[1] != found[2]
    assert population(CONFIG, INSTANCES[0], 5) == population(CONFIG, INSTANCES[0], 5)


def test_searches_are_shared_out_to_a_few_shops_and_drawn_to_members_of_their_populations() -> None:
    found = starts(CONFIG, INSTANCES, 3)
    assert len(found) == 8
    shops = [start.instance for start in found]
    assert shops == 4 * shops[:2]
    assert shops[0] in INSTANCES
    assert shops[1] in INSTANCES
    for shop in shops[:2]:
        own = [start for start in found if start.instance is shop]
        for k, start in enumerate(own):
            assert start.drawn_to is not None
            assert start.drawn_to.makespan == Schedule.from_linear_order(shop, start.drawn_to.order).length
            assert sorted(start.order.tolist()) == list(range(shop.n_operations))
            if k % 2 == 0:  # as when a population polishes
                begun = int(0.4 * shop.n_operations)
                assert start.order[:begun].tolist() == start.drawn_to.order[:begun].tolist()
        best = min(start.drawn_to.makespan for start in own if start.drawn_to)
        assert all(start.drawn_to.makespan == best for start in own[1::2] if start.drawn_to)


def test_populations_have_members_that_differ() -> None:
    members = population(CONFIG, generate.uniform(10, 10, 1), 0)
    assert len(members) > 4
    assert len({member.order.tobytes() for member in members}) == len(members)


def test_the_shortest_run_has_one_member() -> None:
    """All searches begin there."""
    config = CONFIG.with_changes({"start_steps": 1})
    assert len(population(config, INSTANCES[0], 0)) == 1
    found = starts(config, INSTANCES[:2], 0)
    assert all(start.drawn_to and start.order.tolist() == start.drawn_to.order.tolist() for start in found)


def test_results_are_compared_with_the_schedule_that_the_search_is_drawn_to() -> None:
    trial = Trial(CONFIG, INSTANCES, 3, (10, 50))
    for k, start in enumerate(trial.starts):
        assert start.drawn_to is not None
        first, *best = trial.makespans("l2s-fast", k)
        assert first == start.drawn_to.makespan
        assert trial.left("l2s-fast", k) == pytest.approx(100 * np.mean(best) / first)


class Training(RuleTraining):
    kept = ("rule",)


def training(**changes: Any) -> Training:
    return Training(CONFIG.with_changes(changes), Processes(), "cpu")


def test_training_begins_with_the_weights_of_a_policy() -> None:
    from l2s_plugin.policy import find_policy

    weights = training(begin_with="l2s-fast").weights()
    for name, expected in find_policy("l2s-fast").weights.items():
        np.testing.assert_array_equal(weights[name], expected)
    without = training(begin_with="l2s").weights()
    np.testing.assert_array_equal(without["rule"], find_policy("l2s").weights["rule"])
    assert not without["drift"].any()


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"begin_with": "l2s-graph"}, "begin_with 'l2s-graph' must be a policy over moves$"),
        ({"policy": {"drift": False}}, "begin_with 'l2s-fast' must be a policy over moves without drift"),
        ({"begin_with": "l2s-fats"}, "unknown policy 'l2s-fats'"),
    ],
)
def test_a_policy_that_is_of_no_use_is_one_line(changes: dict[str, Any], words: str) -> None:
    with pytest.raises(L2SError, match=words):
        training(**changes)


@pytest.mark.parametrize(
    ("config", "words"),
    [
        (TrainingConfig(), "start population goes with algorithms that try out whole searches, not with reinforce"),
        (preset("graph"), "start population goes with algorithms that try out whole searches, not with imitation"),
        (preset("fast"), "start population goes with host tabu, not with local-search"),
    ],
)
def test_populations_are_for_trials_of_tabu_search(config: TrainingConfig, words: str) -> None:
    with pytest.raises(L2SError, match=words):
        config.with_changes({"start": "population"})
