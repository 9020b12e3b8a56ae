"""Looking ahead: right about the next step, never worse for looking further, and without a trace in the environment."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from heuristics.training.environment import HOSTS, Environment
from l2s_plugin.schedule import Schedule
from tests.heuristics.training.test_environment import ODD, batch, random_actions

RULE = [3.0, -2.0, -1.0, 0.5]


def swapped(schedule: Schedule, u: int, v: int) -> int:
    """Makespan after the swap of two neighbours, computed from the machine orders."""
    orders = [list(map(int, order)) for order in schedule.machine_orders]
    for order in orders:
        if u in order:
            at = order.index(u)
            assert order[at + 1] == v
            order[at : at + 2] = [v, u]
    return Schedule.from_machine_orders(schedule.instance, orders).makespan


@pytest.mark.parametrize("host", HOSTS)
@settings(deadline=None, max_examples=15)
@given(seed=st.integers(0, 1000), odd=st.booleans())
def test_no_step_ahead_is_the_makespan_after_the_move(host: str, seed: int, odd: bool) -> None:
    instances = ODD if odd else batch(5, 4)
    environment = Environment(instances, host, seed=seed)
    rng = np.random.default_rng(seed)
    for _ in range(5):
        environment.observe()
        worth = environment.look_ahead(RULE, steps=0, repeats=1)
        expected = [
            (environment.makespans[b] - swapped(environment.schedule(b), u, v)) / instance.duration.mean()
            for b, instance in enumerate(instances)
            for u, v in environment.actions(b)
        ]
        np.testing.assert_allclose(worth, expected, atol=1e-9)
        environment.step(random_actions(environment, rng))


@pytest.mark.parametrize("host", HOSTS)
def test_looking_further_finds_no_less(host: str) -> None:
    environment = Environment(batch(8, 8), host, seed=2)
    environment.observe()
    values = [environment.look_ahead(RULE, steps, repeats=3) for steps in (0, 5, 40)]
    assert (values[1] >= values[0] - 1e-9).all()
    assert values[2].mean() > values[1].mean() > values[0].mean()


def test_nothing_is_left_behind() -> None:
    """The environment goes on as if nobody had looked; only random numbers were drawn."""
    looked, other = (Environment(batch(6, 6), seed=4) for _ in range(2))
    rng = [np.random.default_rng(1) for _ in range(2)]
    for _ in range(20):
        graphs = [environment.observe() for environment in (looked, other)]
        looked.look_ahead(RULE, 10, 2)
        looked._states.rng[:] = other._states.rng
        for name, array in vars(graphs[0]).items():
            np.testing.assert_array_equal(array, getattr(graphs[1], name))
        rewards = [e.step(random_actions(e, r)) for e, r in zip((looked, other), rng, strict=True)]
        np.testing.assert_array_equal(rewards[0], rewards[1])
    np.testing.assert_array_equal(looked.incumbents, other.incumbents)
