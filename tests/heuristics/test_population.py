"""Recombination and the islands."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from heuristics.population import random_order, recombine
from tests.strategies import instances, linear_orders


def respects_jobs(instance, order) -> bool:
    place = np.empty(instance.n_operations, int)
    place[order] = np.arange(instance.n_operations)
    return sorted(order.tolist()) == list(range(instance.n_operations)) and all(
        (np.diff(places) > 0).all() for places in instance.split_by_job(place)
    )


@settings(deadline=None)
@given(instances(), st.integers(0, 100))
def test_random_orders_respect_the_jobs(instance, seed):
    assert respects_jobs(instance, random_order(instance, np.random.default_rng(seed)))


@settings(deadline=None)
@given(st.data(), instances(), st.integers(0, 100))
def test_a_child_is_feasible_and_keeps_what_both_parents_agree_on(data, instance, seed):
    a, b = (data.draw(linear_orders(instance)).astype(np.uint32) for _ in range(2))
    child = recombine(a, b, np.random.default_rng(seed))
    assert respects_jobs(instance, child)
    place_a, place_b, place = (np.argsort(order) for order in (a, b, child))
    for x in range(instance.n_operations):
        for y in range(instance.n_operations):
            if place_a[x] < place_a[y] and place_b[x] < place_b[y]:
                assert place[x] < place[y]
