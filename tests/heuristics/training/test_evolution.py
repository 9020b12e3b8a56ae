"""The cross-entropy method finds what it is asked for, and its trials are the searches that a user would run."""

from __future__ import annotations

import numpy as np
import pytest

from heuristics import local_search, tabu_search
from heuristics.training.config import PRESETS
from heuristics.training.evolution import next_generation
from heuristics.training.trials import Trial
from l2s_plugin import generate, stop


def test_generations_approach_the_optimum_and_leave_fixed_weights_alone() -> None:
    target = np.array([1.5, -2.0, 0.0, 4.0])
    rng = np.random.default_rng(0)
    centre, spread = np.zeros(4), np.array([1.0, 1.0, 0.0, 2.0])
    for _ in range(40):
        centre, spread, result = next_generation(
            centre, spread, 32, lambda tried: ((tried - target) ** 2).sum(axis=1), rng
        )
    np.testing.assert_allclose(centre, target, atol=0.1)
    assert (centre[2], spread[2]) == (0.0, 0.0)
    assert result < 0.1


@pytest.mark.parametrize(("host", "search"), [("local-search", local_search), ("tabu", tabu_search)])
def test_a_trial_is_a_search(host: str, search: object) -> None:
    config = PRESETS["fast"].with_changes({"host": host, "neighbourhood": "n7"})
    instances = [generate.uniform(6, 5, k) for k in range(3)]
    results = Trial(config, instances, 3, (40, 160)).results(["estimate", "random", "estimate"], threads=2)
    left = []
    for k, instance in enumerate(instances):
        options = {"forbid_undo": True} if host == "local-search" else {}
        for steps in (40, 160):
            found = search(  # type: ignore[operator]
                instance, "estimate", config.neighbourhood, stop=stop.steps(steps), seed=3 + k, **options
            )
            left.append(100 * found.makespan / found.history[0][2])
    assert results[0] == results[2] == pytest.approx(np.mean(left))
    assert results[1] != results[0]
