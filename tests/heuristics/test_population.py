"""Recombination and the islands."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import l2s_plugin as l2s
from heuristics import solve
from heuristics.configuration import Configuration
from heuristics.hosts.trajectories import default_tenure
from heuristics.loop.memory import Memory
from heuristics.loop.search import Search
from heuristics.monitor import Monitor
from heuristics.population import (
    Island,
    Member,
    population_defaults,
    population_patience,
    population_tenure,
    random_order,
    recombine,
)
from l2s_plugin.errors import L2SError, PluginError
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


class Watched(Search):
    """A search that notes who chooses in every trajectory, and from which schedule it starts."""

    def __init__(self, *arguments) -> None:
        self.trajectories: list[tuple[str, list[int]]] = []
        super().__init__(*arguments)

    def start(self, linear_order) -> None:
        self.trajectories.append((self.selector.name, list(linear_order)))
        super().start(linear_order)


def polished(polisher, steps=4000):
    """An island of four on la16, after so many steps; how many trajectories it had begun when it was complete."""
    instance = l2s.load("la16")
    search = Watched(instance, "n5", "random", Memory(tenure=(2, 4), aspiration=True, wait=False), 3)
    rng = np.random.default_rng(3)
    first = random_order(instance, rng)
    way = Configuration(population=4, patience=100, polisher=polisher, stop=l2s.stop.steps(steps))
    island = Island(search, way, rng)
    insert, entered = island.insert, []
    island.insert = lambda member: (entered.append((search.selector.name, member)), insert(member))  # type: ignore[method-assign]
    with Monitor(instance, way) as monitor:
        island.begin(monitor, first)
        island.evolve(monitor, steps, 1)
    return island, search, entered


def test_every_other_trajectory_of_a_complete_population_polishes():
    island, search, entered = polished("estimate")
    names = [name for name, _ in search.trajectories]
    assert names[:4] == ["random"] * 4
    assert set(names[4:]) == {"random", "estimate"}
    assert all(a != b for a, b in pairwise(names[4:]))
    assert {name for name, _ in entered} == {"random"}  # what polishing finds does not enter the population ...
    assert island.best.makespan < min(member.makespan for _, member in entered)  # ... but counts
    assert all(isinstance(member, Member) for _, member in entered)
    island.rest()
    assert search.selector.name == "random"


def test_polishing_starts_like_the_best_or_a_schedule_recombined_with_it():
    _, search, entered = polished("estimate")
    orders = [member.order.tolist() for _, member in entered]
    for name, start in search.trajectories:
        if name == "estimate":
            assert any(start[: int(0.3 * len(start))] == order[: int(0.3 * len(start))] for order in orders)


def test_without_a_polisher_all_trajectories_enter_the_population():
    _, search, entered = polished(None)
    assert {name for name, _ in search.trajectories} == {"random"}
    assert len(entered) == len(search.trajectories) - 1


def test_solve_polishes_with_the_learned_selector_and_names_the_usual_one():
    options = {"stop": l2s.stop.steps(30_000), "seed": 2, "patience": 400, "population": 4}
    runs = [solve(l2s.load("la29"), polisher=name, **options) for name in ("l2s-fast", "l2s-fast", None)]
    histories = [[entry[1:] for entry in run.history] for run in runs]
    assert histories[0] == histories[1] != histories[2]
    assert {run.selector for run in runs} == {"estimate"}
    assert [entry[1:] for entry in solve(l2s.load("la29"), **options).history] == histories[0]


def test_an_unknown_polisher_is_told_before_the_search():
    with pytest.raises(L2SError, match=r"unknown selector 'l2s-fats'.*l2s-fast"):
        solve(l2s.load("ft06"), stop=l2s.stop.steps(10), polisher="l2s-fats")


@pytest.mark.parametrize(
    ("size", "patience", "longer"),
    [((30, 20), 12_500, 1), ((100, 40), 80_000, 2), ((100, 100), 200_000, 3), ((200, 200), 800_000, 3)],
)
def test_trajectories_of_large_shops_are_given_more_time_and_a_longer_memory(size, patience, longer):
    instance = l2s.generate.uniform(*size, seed=1)
    assert population_patience(instance) == patience
    assert population_tenure(instance) == tuple(longer * steps for steps in default_tenure(instance))


def test_what_the_user_gives_is_kept_in_large_shops():
    way = population_defaults(Configuration(patience=7, tenure=(1, 2)), l2s.generate.uniform(100, 100, seed=1))
    assert (way.patience, way.tenure) == (7, (1, 2))
