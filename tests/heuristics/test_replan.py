"""Planning again keeps its promises: compared with a slow and obvious account of what a plan and the news leave."""

from __future__ import annotations

import json
from io import BytesIO

import pytest
from hypothesis import assume, event, given, settings

from heuristics import Replan, replan
from l2s_plugin import stop
from l2s_plugin.errors import L2SError
from l2s_plugin.instance import NO_DUE_DATE
from l2s_plugin.loader import encode, load
from l2s_plugin.schedule import Schedule
from l2s_plugin.verification import verify_dict
from tests.heuristics.plans_and_news import Case, Past, cases, gone, moved_right

STOP = stop.steps(60)


def planned(case: Case, **options) -> Replan:
    return replan(case.plan.instance, case.plan, case.at, STOP, **case.news, **options)


def possible(case: Case) -> Past:
    """What stays; leaves out news that contradict themselves, and plans of which nothing is left."""
    past = Past(case)
    assume(not past.impossible)
    left = [x for x in range(case.plan.instance.n_operations) if x not in past.end and x not in gone(case, past)]
    assume(left or case.add is not None)
    if case.plan.instance.objective == "lateness":
        due = case.plan.instance.due.tolist()
        dated = any(date != NO_DUE_DATE for job, date in enumerate(due) if job not in case.drop)
        assume(dated or (case.add is not None and case.add.due is not None))
    return past


def places(case: Case, past: Past, new: Schedule) -> dict[int, int]:
    """The number that each old operation has in the new plan: jobs keep their order, and lose their last steps."""
    lost = gone(case, past)
    stays = [x for x in range(case.plan.instance.n_operations) if x not in lost]
    return {x: place for place, x in enumerate(stays)}


@settings(deadline=None, max_examples=300)
@given(cases(max_jobs=4, max_machines=3, max_operations=4))
def test_impossible_news_are_refused_and_all_others_planned(case):
    past = Past(case)
    left = [x for x in range(case.plan.instance.n_operations) if x not in past.end and x not in gone(case, past)]
    if past.impossible:
        with pytest.raises(L2SError, match="cannot end at"):
            planned(case)
    elif not left and case.add is None:
        with pytest.raises(L2SError, match="nothing is left to plan"):
            planned(case)


@settings(deadline=None, max_examples=400)
@given(cases(max_jobs=4, max_machines=3, max_operations=4))
def test_the_past_stays_and_the_rest_waits_for_the_news(case):
    past = possible(case)
    found = planned(case)
    new, old, instance = found.result.schedule, case.plan, found.instance
    new.verify()
    verify_dict(load(BytesIO(encode(instance, "l2s-json"))), json.loads(json.dumps(new.to_dict())))
    place = places(case, past, new)
    event(f"stays: {min(len(past.end), 3)}")
    for x, y in place.items():
        machine = int(old.instance.machine[x])
        assert instance.machine[y] == machine
        assert instance.job_name(instance.job[y]) == old.instance.job_name(old.instance.job[x])
        if x in past.end:
            assert (new.start[y], new.end[y]) == (old.start[x], past.end[x])
            continue
        assert instance.duration[y] == old.instance.duration[x]
        assert new.start[y] >= case.at
        assert old.instance.earliest is None or new.start[y] >= old.instance.earliest[x]
        for down, _, last in case.down:
            assert down != machine or new.start[y] >= last
        for delayed, end in case.delay:
            assert delayed != x or new.end[y] >= end
    # what is not there: dropped and not begun; what is new: complete, on the same machines, in time
    assert instance.n_operations == len(place) + (0 if case.add is None else case.add.n_operations)
    if case.add is not None:
        first = len(place)
        assert instance.duration[first:].tolist() == case.add.duration.tolist()
        for y, x in enumerate(range(case.add.n_operations), first):
            assert instance.machine_name(instance.machine[y]) == case.add.machine_name(case.add.machine[x])
            assert new.start[y] >= max(case.at, 0 if case.add.earliest is None else case.add.earliest[x])
            for down, _, last in case.down:
                assert down != instance.machine[y] or new.start[y] >= last


@settings(deadline=None, max_examples=300)
@given(cases(max_jobs=4, max_machines=3, max_operations=4))
def test_never_worse_than_the_old_plan_moved_to_the_right(case):
    past = possible(case)
    found = planned(case)
    right = found.moved_right
    right.verify()
    assert right.instance == found.instance
    assert found.result.value <= right.value
    expected = moved_right(case, past)
    place = places(case, past, right)
    assert {x: int(right.start[y]) for x, y in place.items()} == expected
    history = [value for _, _, value in found.result.history]
    assert history == sorted({*history}, reverse=True)
    assert history[-1] == found.result.value >= found.result.bound
    assert history[0] <= right.value


@settings(deadline=None, max_examples=200)
@given(cases(max_jobs=4, max_machines=3, max_operations=4))
def test_kept_orders_are_kept_and_new_work_comes_behind(case):
    past = possible(case)
    new = planned(case).result.schedule
    place = places(case, past, new)
    kept = case.keep_order | {int(case.plan.instance.machine[order[0]]) for order in case.plan.instance.kept}
    for machine in kept:
        before = [place[x] for x in case.plan.machine_orders[machine].tolist() if x in place]
        found = new.machine_orders[machine].tolist()
        assert found[: len(before)] == before
    # the past comes first on all machines, in the order it had
    for machine, row in enumerate(case.plan.machine_orders):
        done = [place[x] for x in row.tolist() if x in past.end]
        assert new.machine_orders[machine].tolist()[: len(done)] == done


@settings(deadline=None, max_examples=200)
@given(cases(max_jobs=4, max_machines=3, max_operations=4))
def test_changes_and_late_jobs_are_told_exactly(case):
    past = possible(case)
    found = planned(case)
    new, old = found.result.schedule, case.plan
    instance = old.instance
    expected = []
    for x, y in places(case, past, new).items():
        before, after = int(old.start[x]), int(new.start[y])
        if before != after:
            job = int(instance.job[x])
            step = x - int(instance.job_offset[job]) + 1
            machine = instance.machine_name(instance.machine[x])
            expected.append((instance.job_name(job), step, machine, before, after, after - before))
    told = [tuple(row[key] for key in ("job", "step", "machine", "from", "to", "by")) for row in found.changes]
    assert sorted(told) == sorted(expected)
    late = []
    dropped = {instance.job_name(job) for job in case.drop}
    dues = [] if found.instance.due is None else found.instance.due.tolist()
    for job, due in enumerate(dues):
        end = int(new.end[found.instance.job_offset[job + 1] - 1])
        name = found.instance.job_name(job)
        assert due == NO_DUE_DATE or name not in dropped
        if due != NO_DUE_DATE and end > due:
            late.append((name, due, end, end - due))
    assert sorted(tuple(row.values()) for row in found.late) == sorted(late)
    assert [row["late"] for row in found.late] == sorted((row[3] for row in late), reverse=True)
    assert found.to_dict()["replan"]["late"] == found.late
