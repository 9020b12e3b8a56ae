"""Planning again as a run: bounds, seeds, methods, interruptions, plans of plans, and what is said about it."""

from __future__ import annotations

import signal

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from heuristics import replan
from heuristics.monitor import SearchError
from integrations import cp_sat
from l2s_plugin import stop
from l2s_plugin.errors import L2SError
from l2s_plugin.generate import uniform, with_dates
from l2s_plugin.schedule import Schedule
from tests.heuristics.plans_and_news import plans, small
from tests.l2s_plugin.test_dates import all_schedules

STEPS = stop.steps(200)


def shop(objective: str = "lateness") -> Schedule:
    """A plan of a shop with dates, which leaves room for improvement."""
    instance = with_dates(uniform(6, 5, 3), 3).with_objective(objective)
    return Schedule.from_linear_order(instance, sorted(range(30), key=lambda x: (x % 5, x)))


@settings(deadline=None, max_examples=40)
@given(st.data())
def test_no_plan_of_the_revised_instance_is_below_the_bound(data):
    plan = data.draw(plans(max_jobs=3, max_machines=2, max_operations=2, min_duration=1))
    at = data.draw(st.integers(int(plan.start.min()), plan.makespan - 1))
    assume((plan.start >= at).any())
    machine = data.draw(st.integers(0, plan.instance.n_machines - 1))
    found = replan(plan.instance, plan, at, STEPS, down=[(machine, at, at + 10)])
    instance = found.instance
    lengths = [
        length
        for rows, length in all_schedules(instance)
        if all(tuple(rows[instance.machine[order[0]]]) == order for order in instance.kept)
    ]
    assert found.result.bound <= min(lengths) - instance.offset <= found.result.value


@pytest.mark.parametrize("objective", ["makespan", "lateness"])
def test_the_search_finds_what_cp_sat_proves(objective):
    plan = shop(objective)
    at = plan.makespan // 2
    news = {"down": [(1, at, at + 100)], "keep_order": [2]}
    proven = replan(plan.instance, plan, at, time_limit=60, method="cp-sat", workers=1, **news)
    assert proven.result.status == "OPTIMAL"
    found = replan(plan.instance, plan, at, stop.steps(20_000), **news)
    assert found.result.value == proven.result.value
    again = cp_sat.solve(proven.instance, time_limit=60, workers=1)  # the past is held by dates alone
    assert (again.status, again.value) == ("OPTIMAL", proven.result.value)


@pytest.mark.parametrize("method", ["memetic", "tabu", "local-search", "cp-sat", "hybrid"])
def test_every_search_begins_with_the_old_plan(method):
    plan = shop()
    found = replan(plan.instance, plan, plan.makespan // 3, method=method, time_limit=0.3, delay=[(0, 300)])
    assert found.result.value <= found.moved_right.value
    assert found.result.bound <= found.result.value
    found.result.schedule.verify()


def test_rules_alone_cannot_plan_again():
    plan = shop()
    with pytest.raises(L2SError, match="method dispatch begins with a rule"):
        replan(plan.instance, plan, 50, method="dispatch")


def test_same_seed_and_steps_same_plan():
    plan = shop()
    first, second = (
        replan(plan.instance, plan, 100, stop.steps(3000), drop=[1], down=[(0, 100, 200)], seed=5) for _ in range(2)
    )
    assert first.result.schedule == second.result.schedule
    assert first.changes == second.changes


def test_listeners_hear_of_whole_plans():
    """A delay decides the makespan at once: nobody hears of the makespan of the rest."""
    plan, heard = shop("makespan"), []
    found = replan(plan.instance, plan, 100, STEPS, delay=[(0, 5000)], listener=heard.append)
    assert {event.instance for event in heard} == {found.instance}
    assert [event.makespan for event in heard][-1] == found.result.value
    assert found.result.history[-1][2] == found.result.value
    assert all(event.lower_bound <= event.makespan for event in heard)


def test_what_is_decided_is_the_bound():
    plan = small()
    found = replan(plan.instance, plan, 5, STEPS, delay=[("oak/turn", 90)], keep_order=["lathe"])
    assert (found.result.value, found.result.bound, found.result.status) == (92, 92, "OPTIMAL")
    late = plan.instance.with_dates(due=[8, None]).with_objective("lateness")
    found = replan(late, Schedule(late, plan.order, plan.start), 5, STEPS)
    assert (found.result.value, found.result.bound) == (2, 2)
    assert [value for _, _, value in found.result.history] == [2]
    with_target = replan(late, found.old, 5, STEPS | stop.target(-3))  # not one of the makespan
    assert with_target.result.value == 2
    assert found.late == [{"job": "oak", "due": 8, "end": 10, "late": 2}]


def test_ctrl_c_keeps_a_whole_plan():
    plan = shop()
    found = replan(
        plan.instance, plan, 100, time_limit=600, listener=lambda event: signal.raise_signal(signal.SIGINT), drop=[2]
    )
    assert found.result.stopped_by == "interrupt"
    assert found.result.schedule.instance == found.instance
    assert found.instance.n_operations > (plan.start >= 100).sum() - 5
    found.result.schedule.verify()


def test_a_search_that_fails_keeps_a_whole_plan():
    plan = shop()

    def fails(event):
        raise RuntimeError("no ink")

    with pytest.raises(SearchError, match="no ink") as caught:
        replan(plan.instance, plan, 100, STEPS, listener=fails)
    whole = caught.value.result
    assert caught.value.results == [whole]
    assert whole.instance.n_operations == plan.instance.n_operations
    assert [x for x in range(30) if plan.start[x] < 100] == [x for x in range(30) if whole.schedule.start[x] < 100]
    whole.schedule.verify()


@settings(deadline=None, max_examples=80)
@given(st.data())
def test_a_new_plan_can_be_planned_again(data):
    plan = data.draw(plans(max_jobs=4, max_machines=3, max_operations=4, min_duration=1))
    last = plan
    at = int(plan.start.min())
    for _ in range(3):
        at = data.draw(st.integers(at, last.makespan - 1))
        if (last.start < at).all():
            break
        machine = data.draw(st.integers(0, plan.instance.n_machines - 1))
        begin = data.draw(st.integers(at, at + 10))
        news = {"down": [(machine, begin, begin + 5)]} if data.draw(st.booleans()) else {}
        try:
            found = replan(last.instance, last, at, STEPS, **news)
        except L2SError as error:
            assert "nothing is left" in str(error)  # noqa: PT017
            break
        new = found.result.schedule
        ended = last.end <= at
        assert (new.start[ended] == last.start[ended]).all()
        assert (new.end[ended] == last.end[ended]).all()
        if not news:
            assert new.value <= last.value
        last = new
