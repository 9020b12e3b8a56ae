"""Mirrored trials find slopes and follow them; their searches are those that a user would run."""

from __future__ import annotations

import numpy as np
import pytest

from heuristics.training.slopes import deviations, mirrored_results, slopes, smoothed
from l2s_plugin.kernels.move_features import COMMON, N_MOVE_FEATURES


def test_slopes_of_a_plane_are_exact_whatever_the_instances_are_like() -> None:
    rng = np.random.default_rng(0)
    plane, height = rng.normal(size=N_MOVE_FEATURES), 100 * rng.random(60)
    centre, tried = rng.normal(size=N_MOVE_FEATURES), deviations((60, N_MOVE_FEATURES), (), rng)
    results = mirrored_results(lambda weights, k: float(height[k] + plane @ weights), centre, tried, range(60), 2)
    found = slopes(tried, results)
    np.testing.assert_allclose(np.delete(found, COMMON), np.delete(plane, COMMON), rtol=1e-9)
    np.testing.assert_array_equal(found[list(COMMON)], 0)


def test_only_the_features_asked_for_get_weights_in_the_rule_and_in_its_drift() -> None:
    tried = deviations((5, 3 * N_MOVE_FEATURES), ("above_best", "as_incumbent"), np.random.default_rng(0))
    free = np.flatnonzero(tried.any(axis=0))
    assert free.tolist() == [1, 25, 29, 53, 57, 81]


def test_shares_of_the_instances_add_up_to_the_results_of_all() -> None:
    rng = np.random.default_rng(1)
    centre, tried = rng.normal(size=N_MOVE_FEATURES), deviations((7, N_MOVE_FEATURES), (), rng)

    def search(weights: np.ndarray, k: int) -> float:
        return float(k + weights.sum())

    shares = [mirrored_results(search, centre, tried, range(rank, 7, 2)) for rank in (0, 1)]
    np.testing.assert_array_equal(shares[0] + shares[1], mirrored_results(search, centre, tried, range(7)))


def test_descent_reaches_the_lowest_point_in_spite_of_noise() -> None:
    rng = np.random.default_rng(2)
    target = rng.normal(size=N_MOVE_FEATURES)
    centre, kept = np.zeros(N_MOVE_FEATURES), np.zeros(N_MOVE_FEATURES)
    for batch in range(1, 61):
        tried = deviations((100, N_MOVE_FEATURES), ("change", "recency_16", "place"), rng)
        results = mirrored_results(
            lambda weights, k: float(((weights - target)[[0, 3, 9]] ** 2).sum() + rng.normal()),
            centre,
            tried,
            range(100),
        )
        kept, slope = smoothed(kept, slopes(tried, results), batch)
        centre = centre - 0.3 * (1 - batch / 61) * slope
    np.testing.assert_allclose(centre[[0, 3, 9]], target[[0, 3, 9]], atol=0.15)
    assert np.count_nonzero(centre) == 3


def test_the_first_estimate_is_the_first_slope() -> None:
    kept, slope = smoothed(np.zeros(2), np.array([3.0, -1.0]), 1)
    assert slope == pytest.approx([3.0, -1.0])
    assert smoothed(kept, np.array([3.0, -1.0]), 2)[1] == pytest.approx([3.0, -1.0])
