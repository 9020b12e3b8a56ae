"""The CP-SAT model and its parts: complete hints, solutions that verify, and the optimum of tiny instances."""

from __future__ import annotations

import threading
from itertools import permutations
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import l2s_plugin as l2s
from heuristics import dispatch, tabu_search
from l2s_plugin.evaluator import Evaluator
from l2s_plugin.instance import Instance
from l2s_plugin.schedule import Schedule
from tests.strategies import dated_instances, instances, linear_orders

pytest.importorskip("ortools")

from integrations.cp_sat import JobShopModel, Machines, Window
from integrations.cp_sat.solver import attempt

TINY = {"max_jobs": 3, "max_machines": 2, "max_operations": 3, "max_duration": 5}


def optimum(instance: Instance) -> int:
    """The shortest makespan over all orders in which jobs can take turns; every semi-active schedule is among them."""
    sequences = set(permutations(instance.job.tolist()))
    rows = []
    for turns in sequences:
        following = instance.job_offset[:-1].tolist()
        row = []
        for job in turns:
            row.append(following[job])
            following[job] += 1
        linear = np.array(row)
        rows.append(linear[np.argsort(instance.machine[linear], kind="stable")])
    return int(Evaluator().evaluate(instance, np.array(rows, np.int32)).makespan.min())


def solve(model, seconds: float = 20) -> tuple[str, list[Schedule]]:
    found: list[Schedule] = []
    return attempt(model, seconds, found.append), found


@settings(deadline=None, max_examples=40)
@given(instances(**TINY).filter(lambda instance: instance.n_operations <= 7))
def test_the_model_has_the_optimum_of_every_tiny_instance(instance):
    model = JobShopModel(instance, int(instance.duration.sum()))
    status, found = solve(model)
    assert status == "OPTIMAL"
    for schedule in found:
        schedule.verify()
    assert found[-1].makespan == optimum(instance)


@settings(deadline=None, max_examples=25)
@given(st.data())
def test_every_hint_is_complete_and_feasible_says_cp_sat(data):
    instance = data.draw(instances(max_jobs=4, max_machines=3, max_operations=4))
    lines: list[str] = []
    schedules = [Schedule.from_linear_order(instance, data.draw(linear_orders(instance))) for _ in range(2)]
    model = JobShopModel(instance, max(schedule.makespan for schedule in schedules))
    for schedule in schedules:  # the second replaces the first
        model.hint(schedule)
    assert not model.model.validate()
    attempt(model, 20, lambda schedule: None, log=lines.append)
    expected = "The solution hint is complete and is feasible."
    assert any(expected in line for line in lines)
    assert not any("incomplete" in line for line in lines)


@given(st.data())
@settings(deadline=None)
def test_a_schedule_survives_the_way_through_start_times(data):
    instance = data.draw(instances())
    schedule = Schedule.from_linear_order(instance, data.draw(linear_orders(instance)))
    model = SimpleNamespace(instance=instance, start=range(instance.n_operations))
    again = JobShopModel.schedule(model, lambda operation: int(schedule.start[operation]))
    again.verify()
    assert again.start.tolist() == schedule.start.tolist()
    compact = Schedule.from_order(instance, again.order)
    compact.verify()
    assert (compact.start <= schedule.start).all()


def test_constraints_of_users_are_kept_in_the_schedule():
    """The times are those that CP-SAT found: an operation that waits for a reason stays where it is."""
    instance = l2s.load("ft06")
    model = JobShopModel(instance, 200)
    model.model.add(model.start[0] >= 10)
    model.model.add(model.makespan >= 80)
    status, found = solve(model)
    assert status == "OPTIMAL"
    assert all(schedule.start[0] >= 10 for schedule in found)
    found[-1].verify()


def test_start_domains_are_as_tight_as_heads_and_tails_allow():
    instance = Instance.from_jobs([[(0, 3), (1, 2), (0, 4)], [(1, 1)]])
    head, tail = instance.job_head, instance.job_tail
    assert head.tolist() == [0, 3, 5, 0]
    assert tail.tolist() == [6, 4, 0, 0]


@settings(deadline=None, max_examples=40)
@given(st.data())
def test_a_window_promises_what_the_whole_schedule_keeps(data):
    """What CP-SAT finds for a window is shorter than the incumbent, and differs from it in the window only."""
    shape = {"max_jobs": 5, "max_machines": 3, "max_operations": 5}
    instance = data.draw(instances(**shape) | dated_instances(**shape))
    schedule = Schedule.from_linear_order(instance, data.draw(linear_orders(instance)))
    n = instance.n_operations
    first = data.draw(st.integers(0, n - 1))
    last = data.draw(st.integers(first + 1, n))
    window = Window(schedule, first, last)
    status, found = ("INFEASIBLE", []) if window.hopeless else solve(window)
    for better in found:
        better.verify()
        assert better.length < schedule.length
        outside = ~np.isin(schedule.order, window.operations)
        assert (better.order == schedule.order)[outside].all()
    if (first, last) == (0, n):  # the window is the whole instance
        best = min([schedule.length] + [s.length for s in found])
        assert best == solve(JobShopModel(instance, schedule.length))[1][-1].length
    assert status in ("OPTIMAL", "INFEASIBLE")


@settings(deadline=None, max_examples=25)
@given(st.data())
def test_machines_that_are_not_set_free_keep_their_order(data):
    instance = data.draw(instances(max_jobs=4, max_machines=3, max_operations=4))
    schedule = Schedule.from_linear_order(instance, data.draw(linear_orders(instance)))
    bound = l2s.bounds.lower_bound(instance)
    free = data.draw(st.sets(st.integers(0, instance.n_machines - 1)))
    status, found = solve(Machines(schedule, free, bound))
    assert status in ("OPTIMAL", "INFEASIBLE")
    for better in found:
        better.verify()
        assert better.makespan < schedule.makespan
        for machine, (old, new) in enumerate(zip(schedule.machine_orders, better.machine_orders, strict=True)):
            assert machine in free or instance.duration[old].min(initial=1) == 0 or old.tolist() == new.tolist()


def test_parts_of_an_incumbent_that_meets_the_bound_have_no_solution():
    """CP-SAT would refuse a variable without values as an error in the model."""
    instance = l2s.load("la05")
    best = tabu_search(instance, stop=l2s.stop.target(593) | l2s.stop.steps(100_000)).schedule
    assert best.makespan == l2s.bounds.lower_bound(instance)
    assert Window(best, 10, 20, 593).hopeless
    for model in (Machines(best, [0, 1], 593), Machines(best, [0, 1]), JobShopModel(instance, 100)):
        assert solve(model) == ("INFEASIBLE", [])


def test_windows_improve_a_dispatched_schedule():
    instance = l2s.load("ft10")
    schedule = dispatch(instance)
    _, found = solve(Window(schedule, 0, 60), 5)
    assert found
    assert found[-1].makespan < schedule.makespan


def test_what_a_callback_raises_comes_out_of_the_attempt():
    instance = l2s.load("ft06")
    model = JobShopModel(instance, 200)

    def found(schedule):
        raise RuntimeError("from the callback")

    with pytest.raises(RuntimeError, match="from the callback"):
        attempt(model, 20, found)
    with pytest.raises(ZeroDivisionError):
        attempt(model, 20, lambda schedule: None, log=lambda line: 1 / 0)


def test_an_attempt_can_be_stopped_at_any_moment():
    model = JobShopModel(l2s.load("ta41"), 5000)
    attempt(model, 600, lambda schedule: None, over=lambda: True)
    assert not any(thread.name.startswith("cp-sat") for thread in threading.enumerate())
