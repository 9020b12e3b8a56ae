"""What planning again makes of each kind of news, and what it refuses."""

from __future__ import annotations

import re

import pytest

from heuristics import replan, solve
from l2s_plugin import stop
from l2s_plugin.clock import Clock
from l2s_plugin.errors import L2SError
from l2s_plugin.generate import uniform, with_dates
from l2s_plugin.instance import Instance
from l2s_plugin.schedule import Schedule
from tests.heuristics.plans_and_news import small

STEPS = stop.steps(200)


def starts(schedule: Schedule) -> list[int]:
    return schedule.start.tolist()


def test_an_operation_under_way_on_a_machine_that_is_down_waits_or_starts_again():
    plan = small()
    waits = replan(plan.instance, plan, 3, STEPS, down=[("saw", 3, 8)])
    assert (starts(waits.result.schedule)[0], waits.instance.duration[0]) == (0, 9)
    assert waits.notes == [
        "step 1 (cut) of job oak is interrupted on machine saw, which is down until 8; it goes on then, and ends at 9"
    ]
    again = replan(plan.instance, plan, 3, STEPS, down=[("saw", 3, 8)], under_way="restarts", keep_order=["saw"])
    assert (starts(again.result.schedule)[0], again.instance.duration[0]) == (8, 4)
    assert again.notes[0] == "step 1 (cut) of job oak starts again in full on machine saw, which is down until 8"
    told = replan(plan.instance, plan, 3, STEPS, down=[("saw", 3, 8)], delay=[("oak/cut", 20)])
    assert told.result.schedule.end[0] == 20  # what the user says about its end wins


def test_what_the_plan_begins_while_its_machine_is_down_has_not_begun():
    plan = small()
    found = replan(plan.instance, plan, 6, STEPS, down=[("saw", 4, 8)])
    assert found.instance.duration.tolist() == plan.instance.duration.tolist()
    assert starts(found.result.schedule) == [0, 4, 8, 13]
    assert found.notes == ["to be planned anew, though the plan begins it before: step 1 (cut) of job elm"]


def test_a_machine_that_goes_down_later_does_what_it_can_before():
    plan = small()
    found = replan(plan.instance, plan, 2, STEPS, down=[("lathe", 10, 15)])
    assert starts(found.result.schedule) == [0, 4, 4, 15]
    assert found.notes == ["machine lathe is down from 10 to 15: what is planned to end on it before stays as planned"]


def test_several_outages_are_planned_one_after_the_other():
    plan = small()
    with pytest.raises(L2SError, match="machine saw is down twice, expected one outage of each; plan again"):
        replan(plan.instance, plan, 1, STEPS, down=[("saw", 1, 2), ("saw", 20, 30)])
    longer = [[(0, 4), (1, 6)], [(0, 5), (1, 2)], [(0, 5)]]
    plan = Schedule.from_linear_order(Instance.from_jobs(longer), [0, 1, 2, 3, 4])
    first = replan(plan.instance, plan, 1, STEPS, down=[(0, 5, 8)])
    second = replan(first.instance, first.result, 1, STEPS, down=[(0, 15, 20)])
    assert starts(first.result.schedule)[0] == starts(second.result.schedule)[0] == 0
    saw = sorted(int(second.result.schedule.start[x]) for x in (2, 4))
    assert saw == [8, 20]


def test_new_jobs_without_names_are_numbered_on():
    plan = small()
    add = Instance.from_jobs([[(0, 1)], [(0, 2)]], machine_names=("lathe",), name="rush")
    found = replan(plan.instance, plan, 1, STEPS, add=add)
    assert found.instance.job_names == ("oak", "elm", "0", "1")
    assert found.notes == ["added: job 0, job 1"]
    bare = Schedule.from_machine_orders(plan.instance.with_details(job_names=None), [[0, 2], [1, 3]])
    assert replan(bare.instance, bare, 1, STEPS, add=add).notes == ["added: job 2, job 3"]
    assert replan(bare.instance, bare, 0, STEPS, drop=[0]).instance.job_names == ("1",)  # keeps its number


def test_machines_of_new_jobs_are_matched_by_name_and_never_by_place():
    plan = small()
    with pytest.raises(L2SError, match="rush: unknown machine '0'; known: lathe, saw"):
        replan(plan.instance, plan, 1, STEPS, add=Instance.from_jobs([[(0, 1)]], name="rush"))


def test_dropped_jobs_keep_what_had_begun_and_are_never_late():
    plan = small()
    dated = plan.instance.with_dates(due=[1, 1])
    found = replan(dated, Schedule(dated, plan.order, plan.start), 2, STEPS, drop=["oak"])
    assert found.notes == ["dropped: job oak; 1 of 2 operations had begun and stay in the plan"]
    assert found.instance.operation_names == ("cut", "cut", "turn")
    assert [row["job"] for row in found.late] == ["elm"]
    rush = Instance.from_jobs([[(0, 1)]], machine_names=("saw",))
    dated = plan.instance.with_dates(due=[1, None])
    with pytest.raises(L2SError, match="no job has a due date"):
        replan(dated, Schedule(dated, plan.order, plan.start), 2, STEPS, drop=["oak"], objective="lateness", add=rush)


def test_times_are_told_on_the_clock_of_the_instance():
    plan = small()
    timed = plan.instance.with_details(clock=Clock.of("2026-11-23T06:00", "hours")).with_dates(due=[3, None])
    schedule = Schedule(timed.with_details(clock=None), plan.order, plan.start)
    found = replan(timed, schedule, "2026-11-23T08:00", STEPS, delay=[("oak/1", "2026-11-23T12:00")])
    assert found.instance.clock == timed.clock
    assert found.notes == ["step 1 (cut) of job oak ends at 2026-11-23T12:00, planned was 2026-11-23T10:00"]
    assert "late by 9: job oak, due 2026-11-23T09:00, ends 2026-11-23T18:00" in found.summary()
    assert "planned again at 2026-11-23T08:00: makespan" in found.summary()


def test_the_summary_names_the_five_operations_that_moved_the_most():
    plan = solve(uniform(4, 3, 1), stop.steps(50)).schedule
    found = replan(plan.instance, plan, 10, STEPS, down=[(0, 10, 500)])
    moves = [(row["by"], f"{row['job']}/{row['step']}") for row in found.changes]
    told = re.findall(r"^moved by ([+-]\d+): (\S+) on \d, from \d+ to \d+$", found.summary(), re.M)
    assert f"\n{len(moves)} operations moved, these the most\n" in found.summary()
    assert [(int(by), who) for by, who in told] == sorted(moves, key=lambda move: -abs(move[0]))[:5]
    few = replan(small().instance, small(), 3, STEPS, down=[("saw", 3, 8)])
    assert 0 < len(few.changes) <= 5
    assert f"\n{len(few.changes)} operations moved\n" in few.summary()


def test_results_can_be_planned_again_for_another_objective():
    instance = with_dates(uniform(4, 3, 1), 1)
    found = replan(instance, solve(instance, stop.steps(50)), 10, STEPS, objective="lateness")
    assert found.result.objective == found.old.instance.objective == "lateness"


@pytest.mark.parametrize(
    ("news", "message"),
    [
        ({"at": -1}, "the plan has not begun at -1: it goes from 0 to 12"),
        ({"at": 12}, "the plan is over at 12: it goes from 0 to 12"),
        ({"at": 11}, "nothing is left to plan at 11"),
        ({"at": 2.5}, "2.5 is no time, expected a whole number"),
        ({"at": "noon"}, "'noon' is no time, expected a whole number"),
        ({"at": 10**40}, "is no time of a plan, expected at most 1073741823"),
        ({"drop": ["oak", "elm"], "at": 0}, "nothing is left to plan at 0"),
        ({"drop": ["aok"]}, "unknown job 'aok'; did you mean oak?"),
        ({"drop": "oak"}, "drop takes a list of names, got 'oak'"),
        ({"down": [("saw", 1)]}, "down takes \\(machine, from, to\\), got"),
        ({"down": ["saw:1-2"]}, "down takes \\(machine, from, to\\), got"),
        ({"down": [("lath", 1, 2)]}, "unknown machine 'lath'; did you mean lathe?"),
        ({"down": [("saw", 5, None)]}, "machine saw would never be available again"),
        ({"down": [("saw", 5, float("inf"))]}, "machine saw would never be available again"),
        ({"down": [("saw", 5, 5)]}, "machine saw cannot be down from 5 to 5"),
        ({"down": [("saw", 5, 2**30 - 1)]}, "a schedule may end at"),
        ({"down": [("saw", 5, 10**30)]}, "is no time of a plan"),
        ({"delay": [("oak/1", 9, 1)]}, "delay takes \\(operation, end\\), got"),
        ({"delay": [("oak/1", 0)]}, "step 1 \\(cut\\) of job oak cannot end at 0: it starts at 0"),
        ({"delay": [("elm/2", 2)]}, "step 2 \\(turn\\) of job elm cannot end at 2: it has not begun at 2"),
        ({"delay": [("oak/1", 5), ("oak/cut", 6)]}, "step 1 \\(cut\\) of job oak is given two ends"),
        ({"delay": [("oak/1", -(10**30))]}, "is no time of a plan"),
        ({"keep_order": ["Saw"]}, "unknown machine 'Saw'; did you mean saw?"),
        ({"under_way": "wait"}, "unknown choice for what is under way 'wait'; did you mean waits?"),
        ({"add": "rush.csv"}, "expected an Instance"),
        ({"add": Instance.from_jobs([[(0, 1)]], machine_names=["saw"], job_names=["elm"], name="r")}, "r: job elm is"),
        ({"initial": "spt"}, "planning again begins with the old plan"),
        ({"objective": "lateness"}, "no job has a due date"),
    ],
)
def test_impossible_news_are_told_in_one_line(news, message):
    plan = small()
    with pytest.raises(L2SError, match=message) as caught:
        replan(plan.instance, plan, **{"at": 2, "stop": STEPS} | news)
    assert "\n" not in str(caught.value)


def test_the_plan_of_another_instance_is_refused():
    with pytest.raises(L2SError, match="the plan belongs to"):
        replan(uniform(2, 2, 1), small(), 2, STEPS)
    with pytest.raises(L2SError, match="expected a schedule or a result"):
        replan(small().instance, "plan.csv", 2, STEPS)
