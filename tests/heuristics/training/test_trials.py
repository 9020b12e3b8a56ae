"""Validation: the same searches every time, each of them an ordinary search."""

from __future__ import annotations

import numpy as np
import pytest

from heuristics import local_search
from heuristics.training.config import preset
from heuristics.training.instances import parse_size
from heuristics.training.trials import FIRST_SEED, Validation
from l2s_plugin.bounds import lower_bound
from l2s_plugin.stop import steps

CONFIG = preset("paper").with_changes({"sizes": "5x4", "validation_instances": 6, "validation_steps": 30})


@pytest.mark.parametrize("selector", ["boltzmann", "l2s"])
def test_gaps_are_those_of_local_searches(selector):
    expected = []
    for k in range(6):
        instance = parse_size("5x4").instance(FIRST_SEED + k)
        found = local_search(instance, selector, "n5", stop=steps(30), seed=k).makespan
        expected.append(100 * (found / lower_bound(instance) - 1))
    assert any(expected)
    validation = Validation(CONFIG)
    assert validation.gaps_of(selector) == pytest.approx(expected)
    assert validation.gap_of(selector) == pytest.approx(np.mean(expected))


def test_threads_change_nothing_and_instances_keep_their_numbers():
    config = CONFIG.with_changes({"neighbourhood": "n5,n7"})
    everything = Validation(config, threads=2).gaps_of("boltzmann")
    last = Validation(config.with_changes({"validation_instances": 3}), first=3).gaps_of("boltzmann")
    assert any(last)
    assert last == everything[3:]
