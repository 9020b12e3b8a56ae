"""Recombination and the islands."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import l2s_plugin as l2s
from heuristics import solve
from heuristics.population import random_order, recombine
from l2s_plugin.errors import PluginError
from l2s_plugin.selectors import CompiledSelector
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


class Nothing:
    name = "nothing"

    def moves(self, state, rng):
        return []


@pytest.mark.parametrize("workers", [1, 2])
def test_a_neighbourhood_without_moves_ends_the_run(workers):
    result = solve(l2s.load("ft10"), stop=l2s.stop.steps(10**9), neighbourhood=Nothing(), workers=workers)
    assert (result.steps, result.stopped_by) == (0, "no moves")


def test_patience_of_the_stop_is_heeded_within_its_own_length():
    result = solve(l2s.load("ta21"), stop=l2s.stop.no_improvement(700))
    assert result.stopped_by == "no improvement"
    assert 700 <= result.steps - result.history[-1][1] < 1400


def test_both_gears_of_solve_agree():
    runs = [
        solve(l2s.load("la16"), stop=l2s.stop.steps(3000), gear=gear, patience=300) for gear in ("compiled", "python")
    ]
    assert runs[0].schedule.order.tolist() == runs[1].schedule.order.tolist()


def test_a_selector_whose_parameters_fail_is_named():
    def parameters(instance):
        raise KeyError("weights")

    broken = CompiledSelector("broken", score=None, parameters=parameters)
    with pytest.raises(PluginError, match=r"selector 'broken' has no parameters: KeyError: 'weights'"):
        solve(l2s.load("ft06"), stop=l2s.stop.steps(1), selector=broken)
