"""PyJobShop: makespans agree in every direction, and our schedules are a complete warm start of its solver."""

from __future__ import annotations

import sys

import numpy as np
import pyjobshop
import pytest
from hypothesis import given, settings

import l2s_plugin as l2s
from heuristics import dispatch
from integrations.pyjobshop import export_instance, export_schedule, import_instance, import_schedule
from l2s_plugin.errors import InstanceError, L2SError, MissingExtraError, ScheduleError
from l2s_plugin.schedule import Schedule
from tests.strategies import instances, solutions

COMPLETE = "The solution hint is complete and is feasible."


@settings(deadline=None)
@given(instances())
def test_an_instance_comes_back_as_it_went(instance):
    assert import_instance(export_instance(instance)) == instance


@settings(deadline=None)
@given(solutions())
def test_schedules_keep_their_times_in_both_directions(solution):
    instance, order = solution
    schedule = Schedule.from_order(instance, order)
    data = export_instance(instance)
    theirs = export_schedule(schedule, data)
    assert theirs.makespan == theirs.objective == schedule.makespan
    back = import_schedule(theirs, data, instance)
    assert (back.start == schedule.start).all()
    assert back.instance is instance


@settings(deadline=None, max_examples=15)
@given(instances(max_jobs=3, max_machines=3, max_operations=4))
def test_solutions_of_its_solver_are_schedules_of_ours(instance):
    data = export_instance(instance)
    result = pyjobshop.solve(data, num_workers=1, time_limit=60)
    assert result.status.value == "Optimal"
    assert import_schedule(result.best, data, instance).makespan == result.objective


@pytest.mark.parametrize(
    "instance",
    [
        l2s.load("ft10"),
        l2s.Instance.from_jobs([[(0, 3), (1, 0), (0, 2)], [(1, 4)], [(1, 0), (2, 5), (1, 1)]], 5, name="ragged"),
    ],
    ids=["ft10", "ragged, re-entrant, durations of 0"],
)
def test_a_schedule_is_a_complete_warm_start(instance, capfd):
    """As CP-SAT's own log says."""
    data = export_instance(instance)
    schedule = dispatch(instance)
    found = pyjobshop.solve(
        data,
        display=True,
        num_workers=1,
        initial_solution=export_schedule(schedule, data),
        stop_after_first_solution=True,
    )
    assert COMPLETE in capfd.readouterr().out
    assert found.objective == schedule.makespan


def shuffled_model():
    """Two jobs whose tasks are numbered against the order of their precedences."""
    model = pyjobshop.Model()
    machines = [model.add_machine() for _ in range(2)]
    jobs = [model.add_job() for _ in range(2)]
    last, first, middle = (model.add_task(job=jobs[1]) for _ in range(3))
    only = model.add_task(job=jobs[0])
    for task, machine, duration in ((last, 0, 5), (first, 1, 3), (middle, 0, 2), (only, 1, 4)):
        model.add_mode(task, machines[machine], duration)
    model.add_end_before_start(first, middle)
    model.add_end_before_start(middle, last)
    model.add_end_before_start(first, last)  # follows from the others
    return model


def test_the_precedences_decide_about_the_order_of_a_job():
    data = shuffled_model().data()
    instance = import_instance(data)
    assert instance.jobs() == [[(1, 4)], [(1, 3), (0, 2), (0, 5)]]
    result = pyjobshop.solve(data, num_workers=1)
    schedule = import_schedule(result.best, data)
    assert schedule.makespan == result.objective == 10
    assert export_schedule(schedule, data) == result.best


def spoiled(change):
    model = shuffled_model()
    change(model)
    return model.data()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda m: m.add_renewable(capacity=2), "resource 2 is a Renewable"),
        (lambda m: m.add_machine(breaks=[(1, 2)]), r"resource 2 has breaks \[\(1, 2\)\]"),
        (lambda m: m.add_mode(m.tasks[0], m.resources[1], 2), "task 0 has 2 modes"),
        (lambda m: m.add_mode(m.add_task(job=m.jobs[0]), m.resources[1], 2), "job 0 are not in one order"),
        (lambda m: m.add_mode(m.add_task(), m.resources[1], 2), "task 4 belongs to 0 jobs"),
        (lambda m: m.add_end_before_start(m.tasks[0], m.tasks[3]), "task 3 waits for task 0 of another job"),
        (lambda m: m.add_end_before_start(m.tasks[1], m.tasks[2], delay=4), "task 2 waits 4 after task 1"),
        (lambda m: m.add_end_before_start(m.tasks[0], m.tasks[1]), "job 1 wait for each other in a cycle"),
        (lambda m: m.add_start_before_start(m.tasks[0], m.tasks[3]), "there are constraints start_before_start"),
        (lambda m: m.set_objective(weight_total_flow_time=1), "the objective has weight_total_flow_time 1"),
        (lambda m: m.set_objective(), "the objective is not the makespan"),
        (
            lambda m: m.add_mode(m.add_task(job=m.add_job(release_date=3)), m.resources[0], 1),
            "job 2 has release_date 3",
        ),
        (
            lambda m: m.add_mode(m.add_task(job=m.add_job(), latest_end=9), m.resources[0], 1),
            "task 4 has latest_end 9",
        ),
    ],
)
def test_what_is_no_plain_job_shop_is_refused_in_one_line(change, message):
    with pytest.raises(InstanceError, match=message) as caught:
        import_instance(spoiled(change))
    assert "\n" not in str(caught.value)


def test_dates_and_kept_orders_are_refused_in_one_line():
    instance = l2s.load("ft06")
    kept = [np.flatnonzero(instance.machine == 0).tolist()]
    for changed in (
        instance.with_dates(release=[1] * 6),
        instance.with_dates(due=[9] * 6),
        instance.with_details(kept=kept),
    ):
        with pytest.raises(InstanceError, match=r"^ft06: it has dates or kept orders, expected a plain"):
            export_instance(changed)


def test_schedules_of_other_instances_are_refused():
    schedule = dispatch(l2s.load("ft06"))
    data = export_instance(l2s.load("la01"))
    with pytest.raises(ScheduleError, match="belongs to"):
        export_schedule(schedule, data)
    with pytest.raises(ScheduleError, match="has 36 tasks, expected 50"):
        import_schedule(export_schedule(schedule), data)
    with pytest.raises(ScheduleError, match="another instance"):
        import_schedule(export_schedule(schedule), data, schedule.instance)


def test_what_is_of_another_kind_is_refused_in_one_line():
    instance = l2s.load("ft06")
    data, schedule = export_instance(instance), dispatch(instance)
    for call, message in (
        (lambda: export_instance("ft06"), "expected l2s_plugin.Instance, got str"),
        (lambda: import_instance(pyjobshop.Model()), "expected pyjobshop.ProblemData, got pyjobshop.Model"),
        (lambda: import_instance(instance), "expected pyjobshop.ProblemData, got l2s_plugin.Instance"),
        (lambda: export_schedule(data, data), "expected l2s_plugin.Schedule, got pyjobshop.ProblemData"),
        (lambda: export_schedule(schedule, pyjobshop.Model()), "expected pyjobshop.ProblemData, got pyjobshop.Model"),
        (lambda: import_schedule(None, data), "expected pyjobshop.Solution, got None"),
    ):
        with pytest.raises(L2SError, match=f"^{message}$"):
            call()


def test_solutions_that_break_a_constraint_are_refused():
    instance = l2s.load("ft06")
    everything_at_once = Schedule(instance, np.argsort(instance.machine), np.zeros(instance.n_operations, int))
    data = export_instance(instance)
    with pytest.raises(ScheduleError):
        import_schedule(export_schedule(everything_at_once, data), data)
    with pytest.raises(ScheduleError, match="has 0 tasks"):
        import_schedule(pyjobshop.Solution(data, []), data)


def test_without_pyjobshop_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "pyjobshop", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'l2s-plugin\[pyjobshop\]'"):
        export_instance(l2s.load("ft06"))
