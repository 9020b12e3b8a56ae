"""Annealed trajectories: when there are any, how long they are, and how their temperature falls."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import l2s_plugin as l2s
from heuristics import cooperate, dispatch, solve
from heuristics.annealing import COLD, HOT, WARM, Annealing, annealed_length, is_worthwhile
from heuristics.configuration import Configuration
from heuristics.loop.memory import Memory
from heuristics.loop.search import Search
from heuristics.members import Member
from heuristics.monitor import Monitor
from heuristics.population import Island, population_defaults
from l2s_plugin.errors import L2SError
from tests.heuristics.watched import Watched

LA16 = l2s.load("la16")  # 100 operations
ENOUGH = l2s.stop.steps(60_000)  # for two annealed trajectories of those


def temperatures(length: int, hot: float) -> list[float]:
    """In mean durations, one per step of a trajectory that begins with step 7."""
    annealing = Annealing(Search(LA16, "n5", "random", Memory()))
    annealing.begin(7, length, hot)
    found = []
    while 7 + len(found) < annealing.end:
        until = annealing.cool(7 + len(found))
        assert 7 + len(found) < until <= annealing.end
        temperature = 1 / (annealing.selection.parameters[0] * LA16.duration.mean())
        found += [float(temperature)] * (until - 7 - len(found))
    return found


@pytest.mark.parametrize(("length", "hot"), [(1000, HOT), (1003, WARM), (50, HOT), (49, HOT), (1, WARM)])
def test_the_temperature_falls_over_the_whole_trajectory(length, hot):
    found = temperatures(length, hot)
    assert len(found) == length
    assert found[0] == pytest.approx(hot)
    assert all(after <= before for before, after in pairwise(found))
    if length >= 50:
        assert found[-1] == pytest.approx(COLD)
        assert len(set(found)) == 50


def test_the_temperature_depends_on_the_step_alone():
    """Whether the clock was looked at in between or not."""
    annealing = Annealing(Search(LA16, "n5", "random", Memory()))
    annealing.begin(0, 1003, HOT)
    expected = temperatures(1003, HOT)
    for step in range(1003):
        annealing.cool(step)
        assert 1 / (annealing.selection.parameters[0] * LA16.duration.mean()) == pytest.approx(expected[step])


@pytest.mark.parametrize("gear", ["compiled", "python"])
def test_annealing_goes_in_the_gear_that_is_asked_for(gear):
    assert Annealing(Search(LA16, "n5", "random", Memory()), gear).selection.gear == gear


def test_annealing_leaves_the_selector_of_others_as_it_is():
    search = Search(LA16, "n5", "boltzmann", Memory())
    before = search.selection.parameters.copy()
    annealing = Annealing(search)
    annealing.begin(0, 10, HOT)
    annealing.cool(9)
    assert (search.selection.parameters == before).all()
    assert annealing.selection.parameters[0] > before[0]


@given(st.integers(1, 10_000), st.integers(1, 10**9), st.floats(0, 1))
def test_trajectories_fill_the_run(n_operations, horizon, begun):
    """One after the other they end with the run, and all are about as long, within the limits for an operation."""
    step, lengths = int(begun * horizon), []
    while length := annealed_length(n_operations, step, horizon):
        lengths.append(length)
        step += length
        if len(lengths) == 1000:
            return
    assert step == horizon or horizon - step < 100 * n_operations
    for length in lengths:
        assert 100 * n_operations <= length <= 1.5 * max(1500 * n_operations, 1)


@pytest.mark.parametrize(
    ("operations", "steps", "expected"),
    [
        (1000, None, True),
        (999, None, False),
        (10_000, 10**9, True),
        (1000, 36_000_000, True),
        (1000, 44_000_000, False),
        (600, 1_500_000, True),
        (600, 4_000_000, False),
        (225, 100_000, False),
    ],
)
def test_runs_that_are_short_for_the_size_of_the_shop_are_annealed(operations, steps, expected):
    assert is_worthwhile(operations, steps) is expected


def followed(instance, **options):
    """The trajectories of an island: who chooses, where it begins, from which step on."""
    way = population_defaults(Configuration(**options), instance)
    search = Watched(instance, "n5", "estimate", Memory("tabu", (2, 4), aspiration=True, wait=False), 3)
    island = Island(search, way, np.random.default_rng(3))
    with Monitor(instance, way) as monitor:
        island.begin(monitor, dispatch(instance).linear_order.astype(np.uint32))
        island.evolve(monitor, way.limits.steps, 1)
    return search, island


def test_all_but_the_first_trajectory_are_annealed():
    search, island = followed(LA16, stop=ENOUGH, anneal=True, polisher=None, known_bounds=False)
    names = [name for name, *_ in search.trajectories]
    assert names[:2] == ["estimate", "boltzmann"]
    assert set(names[1:-1]) == {"boltzmann"}
    assert search.begun[1] <= 60_000 // 20
    assert search.trajectories[2][1] != search.trajectories[1][1]
    assert len(island.members) >= 1


def test_the_first_trajectory_is_where_the_next_begins_and_no_member():
    search, island = followed(LA16, stop=l2s.stop.steps(20_000), anneal=True, polisher=None, known_bounds=False)
    again = Search(LA16, "n5", "estimate", Memory("tabu", (2, 4), aspiration=True, wait=False), 3)
    again.start(dispatch(LA16).linear_order)
    again.run(search.begun[1])
    assert search.trajectories[1][1] == again.best_order.tolist()
    assert again.best_makespan not in [member.makespan for member in island.members]


@pytest.mark.parametrize("options", [{"anneal": False}, {"selector": "estimate"}, {}])
def test_no_trajectory_is_annealed_where_it_should_not(options):
    """When told so, when the selector is given, or in a long run of a small shop."""
    search, _ = followed(LA16, stop=ENOUGH, polisher=None, known_bounds=False, patience=2000, **options)
    assert {name for name, *_ in search.trajectories} == {"estimate"}
    assert len(search.trajectories) > 5


def test_what_others_find_is_learnt_but_does_not_end_an_annealed_trajectory():
    options = {"stop": l2s.stop.steps(15_000), "polisher": None, "known_bounds": False}
    search, island = followed(LA16, anneal=True, horizon=20_000, **options)
    better = Member(island.best.makespan - 1, dispatch(LA16).linear_order.astype(np.uint32))
    trajectories = len(search.trajectories)
    island.learn(better)
    island.go_on_from(better)
    assert island.best is better
    assert better in island.members
    assert len(search.trajectories) == trajectories
    search, island = followed(LA16, anneal=False, **options)
    island.go_on_from(better)
    assert search.trajectories[-1][1] == better.order.tolist()


def test_short_runs_of_large_shops_are_better_for_it():
    for seed in (1, 2):
        shop = l2s.generate.uniform(40, 20, seed=seed, stages=2)
        stop = l2s.stop.steps(150 * shop.n_operations)
        assert solve(shop, stop=stop).makespan < solve(shop, stop=stop, anneal=False).makespan


@pytest.mark.parametrize("workers", [1, 2])
def test_an_annealed_run_can_be_repeated_in_both_gears(workers):
    options = {"stop": l2s.stop.steps(14_000), "anneal": True, "workers": workers, "known_bounds": False}
    runs = [solve(l2s.load("la04"), gear=gear, **options) for gear in ("compiled", "compiled", "python")]
    assert len({(run.steps, run.makespan, run.schedule.order.tobytes()) for run in runs}) == 1
    assert {run.selector for run in runs} == {"estimate"}


@pytest.mark.parametrize(("name", "seconds"), [("swv06", 0.5), ("la16", 0.3), ("ta62", 0.1)])
def test_an_annealed_run_against_the_clock_can_be_repeated_by_its_steps_and_what_it_planned_for(name, seconds):
    options = {"seed": 5, "anneal": True, "known_bounds": False}
    first = solve(l2s.load(name), time_limit=seconds, **options)
    again = solve(l2s.load(name), stop=l2s.stop.steps(first.steps), horizon=first.horizon, **options)
    assert [entry[1:] for entry in again.history] == [entry[1:] for entry in first.history]
    assert again.schedule.order.tolist() == first.schedule.order.tolist()


def test_a_schedule_to_begin_with_is_not_lost():
    first = solve(LA16, stop=l2s.stop.steps(20_000), known_bounds=False)
    again = solve(LA16, initial=first, stop=l2s.stop.steps(15_000), anneal=True, known_bounds=False)
    assert again.makespan <= first.makespan
    assert again.history[0][2] == first.makespan


def test_dates_are_heeded():
    shop = l2s.generate.uniform(15, 10, seed=3).with_dates(due=[700] * 15)
    result = solve(shop, objective="lateness", stop=l2s.stop.steps(40_000), anneal=True)
    result.schedule.verify()
    assert result.value == result.schedule.end.max() - 700


def test_cooperation_does_not_anneal_for_its_rounds_are_short():
    result = cooperate(LA16, l2s.stop.steps(500), executor=ThreadPoolExecutor(1), polisher=None)
    assert result.steps == 500
    with pytest.raises(L2SError, match="method cooperation has no use for anneal"):
        Configuration("cooperation", anneal=True, stop=l2s.stop.steps(1)).checked()
