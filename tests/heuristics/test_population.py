"""The islands: how their populations grow, polish and stay different."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest

import l2s_plugin as l2s
from heuristics import solve
from heuristics.configuration import Configuration
from heuristics.hosts.trajectories import default_tenure
from heuristics.loop.memory import Memory
from heuristics.loop.search import Search
from heuristics.members import Member, Population, random_order, recombine
from heuristics.monitor import Monitor
from heuristics.population import Island, population_defaults, population_patience, population_tenure, share_members
from l2s_plugin.errors import L2SError, PluginError
from l2s_plugin.selectors import CompiledSelector
from tests.heuristics.watched import Watched


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


def polished(polisher, steps=4000):
    """An island of four on la16, after so many steps; how many trajectories it had begun when it was complete."""
    instance = l2s.load("la16")
    search = Watched(instance, "n5", "random", Memory(tenure=(2, 4), aspiration=True, wait=False), 3)
    rng = np.random.default_rng(3)
    first = random_order(instance, rng)
    way = Configuration(population=4, patience=100, polisher=polisher, stop=l2s.stop.steps(steps))
    island = Island(search, way, rng)
    take_in, entered = island.take_in, []
    island.take_in = lambda members: (  # type: ignore[method-assign]
        entered.extend((search.selector.name, member) for member in members),
        take_in(members),
    )
    with Monitor(instance, way) as monitor:
        island.begin(monitor, first)
        island.evolve(monitor, steps, 1)
    return island, search, entered


def test_every_sixth_trajectory_of_a_complete_population_polishes():
    island, search, entered = polished("estimate", steps=6000)
    names = [name for name, *_ in search.trajectories]
    assert set(names) == {"random", "estimate"}
    polishing = [k for k, name in enumerate(names) if name == "estimate"]
    assert len(polishing) > 5
    assert polishing == list(range(6, len(names), 6))
    assert {name for name, _ in entered} == {"random", "estimate"}
    assert island.best.makespan == min(member.makespan for _, member in entered)
    assert all(isinstance(member, Member) for _, member in entered)
    island.rest()
    assert search.selector.name == "random"


def test_polishing_starts_like_a_member_and_is_drawn_to_it_and_nothing_else_is_drawn():
    _, search, entered = polished("estimate", steps=6000)
    for k, (name, start, drawn_to) in enumerate(search.trajectories):
        if name == "random":
            assert drawn_to is None
        else:
            begun = int(0.4 * len(start))
            assert drawn_to in [member.order.tolist() for _, member in entered[:k]]
            assert start[:begun] == drawn_to[:begun]


def test_without_a_polisher_all_trajectories_enter_the_population():
    _, search, entered = polished(None)
    assert {name for name, *_ in search.trajectories} == {"random"}
    assert {name for name, _ in entered} == {"random"}


def test_trajectories_between_members_that_fall_behind_give_way_and_do_not_enter():
    """At 8 and 32 % of the patience, which is 100 here."""
    _, search, entered = polished("estimate")
    lengths = np.diff(search.begun)
    assert (lengths[:4] >= 100).all()  # those that are born
    assert 8 in lengths
    assert all(length >= 100 for length in lengths if length not in (8, 32))
    assert len(entered) == (lengths >= 100).sum()


def test_solve_polishes_with_the_learned_selector_and_names_the_usual_one():
    options = {"stop": l2s.stop.steps(30_000), "seed": 2, "patience": 400, "population": 4}
    runs = [solve(l2s.load("la29"), polisher=name, **options) for name in ("l2s-fast:l2s-polish",) * 2 + (None,)]
    histories = [[entry[1:] for entry in run.history] for run in runs]
    assert histories[0] == histories[1] != histories[2]
    assert {run.selector for run in runs} == {"estimate"}
    assert [entry[1:] for entry in solve(l2s.load("la29"), **options).history] == histories[0]


def test_an_unknown_polisher_is_told_before_the_search():
    with pytest.raises(L2SError, match=r"unknown selector 'l2s-fats'.*l2s-fast"):
        solve(l2s.load("ft06"), stop=l2s.stop.steps(10), polisher="l2s-fats")


@pytest.mark.parametrize(
    ("size", "patience", "longer"),
    [((30, 20), 12_500, 1), ((100, 40), 160_000, 2), ((100, 100), 1_000_000, 3), ((200, 200), 16_000_000, 3)],
)
def test_trajectories_of_large_shops_are_given_more_time_and_a_longer_memory(size, patience, longer):
    instance = l2s.generate.uniform(*size, seed=1)
    assert population_patience(instance) == patience
    assert population_tenure(instance) == tuple(longer * steps for steps in default_tenure(instance))


def test_what_the_user_gives_is_kept_in_large_shops():
    way = population_defaults(
        Configuration(stop=l2s.stop.steps(1), patience=7, tenure=(1, 2)), l2s.generate.uniform(100, 100, seed=1)
    )
    assert (way.patience, way.tenure) == (7, (1, 2))


def test_a_run_against_the_clock_can_be_repeated_by_its_steps_and_what_it_planned_for():
    options = {"seed": 5, "patience": 300, "known_bounds": False}
    first = solve(l2s.load("swv06"), time_limit=0.5, **options)
    again = solve(l2s.load("swv06"), stop=l2s.stop.steps(first.steps), horizon=first.horizon, **options)
    assert [entry[1:] for entry in again.history] == [entry[1:] for entry in first.history]
    assert again.schedule.order.tolist() == first.schedule.order.tolist()
    assert again.horizon == first.horizon or first.horizon is None


@pytest.mark.parametrize(
    ("options", "size"),
    [
        ({"stop": l2s.stop.steps(100)}, 8),
        ({"stop": l2s.stop.steps(12_500 * 120 * 12)}, 12),
        ({"stop": l2s.stop.steps(12_500 * 120 * 12), "workers": 2}, 12),
        ({"stop": l2s.stop.steps(10**9)}, 64),
        ({"stop": l2s.stop.steps(100), "horizon": 10**9}, 64),
        ({"stop": l2s.stop.steps(10**9), "population": 5}, 5),
        ({"stop": l2s.stop.no_improvement(10)}, 8),
    ],
)
def test_a_population_is_the_larger_the_longer_the_run(options, size):
    instance = l2s.load("ft06")
    way = population_defaults(Configuration(**options), instance)
    search = Search(instance, "n5", "estimate", Memory(tenure=(2, 4)))
    island, rng = Island(search, way, np.random.default_rng(0)), np.random.default_rng(1)
    for _ in range(80):
        order = random_order(instance, rng)
        island.take_in([Member.of(l2s.Schedule.from_linear_order(instance, order))])
    assert len(island.members) == size


def test_members_must_be_far_apart_at_first_and_need_not_be_in_the_end():
    """The nearer the horizon, the better the members that stay, and the nearer to each other."""
    instance = l2s.load("la16")
    rng = np.random.default_rng(0)
    orders = [random_order(instance, rng) for _ in range(6)]
    orders += [recombine(a, b, rng, 0.8, 0.9) for a, b in permutations(orders, 2)]  # near one of the first six
    born = [Member.of(l2s.Schedule.from_linear_order(instance, order)) for order in orders]
    found = {}
    for step in (0, 500, 1000):
        way = population_defaults(Configuration(stop=l2s.stop.steps(1000), population=6), instance)
        search = Search(instance, "n5", "random", Memory(tenure=(2, 4)))
        search.start(born[0].order)
        search.run(step)
        island = Island(search, way, rng)
        island.take_in(born)
        found[step] = (
            sum(member.makespan for member in island.members),
            Population(instance, island.members).spread(),
        )
    assert found[1000][0] == sum(member.makespan for member in sorted(born)[:6])
    assert found[0][0] >= found[500][0] >= found[1000][0]
    assert found[0][1] > found[1000][1]


@pytest.fixture
def three_islands():
    """Islands with three members each, all different, and what they are made of."""
    instance, rng = l2s.load("la16"), np.random.default_rng(4)
    way = population_defaults(Configuration(stop=l2s.stop.steps(1000), population=5, workers=3), instance)
    islands = [Island(Search(instance, "n5", "random", Memory(tenure=(2, 4))), way, rng) for _ in range(3)]
    for island in islands:
        orders = [random_order(instance, rng) for _ in range(3)]
        island.take_in([Member.of(l2s.Schedule.from_linear_order(instance, order)) for order in orders])
    return islands


def test_islands_go_on_with_one_population(three_islands):
    everything = [member for island in three_islands for member in island.members]
    share_members(three_islands)
    first = three_islands[0].members
    assert len(first) == 5
    assert min(first) == min(everything)
    assert all(any(member is one for one in everything) for member in first)
    assert all(island.members == first and island.members is not first for island in three_islands[1:])
    share_members(three_islands)
    assert all(island.members == first for island in three_islands)


def test_what_was_given_up_does_not_come_back(three_islands):
    """A population that has converged begins anew; its old members are still on the other islands."""
    anew = three_islands[1]
    anew.generation += 1
    members = list(anew.members)
    share_members(three_islands)
    assert all(island.members == members and island.generation == 1 for island in three_islands)
