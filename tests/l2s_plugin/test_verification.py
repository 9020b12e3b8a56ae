"""`verify` accepts every correct schedule and names the first violated constraint of every other one."""

from __future__ import annotations

import copy
import subprocess
import sys
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import l2s_plugin as l2s
from l2s_plugin.errors import ScheduleError
from l2s_plugin.instance import Instance
from l2s_plugin.schedule import Schedule
from l2s_plugin.verification import verify, verify_dict
from tests.strategies import solutions

# 0: 0..3 on machine 0, 1: 3..5 on machine 1; 2: 0..2 on machine 1, 3: 3..7 on machine 0, 4: 7..8 on machine 1
SHOP = Instance.from_jobs([[(0, 3), (1, 2)], [(1, 2), (0, 4), (1, 1)]], name="shop")
GOOD = {
    "format": "l2s-schedule",
    "version": 1,
    "instance": "shop",
    "n_jobs": 2,
    "n_machines": 2,
    "makespan": 8,
    "machine_orders": [[0, 3], [2, 1, 4]],
    "start": [0, 3, 0, 3, 7],
}


def changed(**changes):
    data = copy.deepcopy(GOOD) | changes
    return {key: value for key, value in data.items() if value is not ...}


def test_accepts_a_correct_schedule():
    verify_dict(SHOP, GOOD, "good.json")


def test_accepts_a_correct_schedule_with_idle_time():
    verify_dict(SHOP, changed(start=[0, 4, 1, 5, 20], makespan=21), "late.json")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"format": "other"}, 'not a schedule, expected an object with "format": "l2s-schedule"'),
        ({"start": ...}, "start is missing"),
        ({"makespan": ...}, "makespan is missing"),
        ({"version": 2}, "version 2, only version 1 is known"),
        ({"n_jobs": 3}, "n_jobs is 3, but the instance has 2"),
        ({"n_machines": 1}, "n_machines is 1, but the instance has 2"),
        ({"n_jobs": "2"}, "n_jobs must be an integer, got '2'"),
        ({"makespan": 8.0}, "makespan must be an integer, got 8.0"),
        ({"makespan": None}, "makespan must be an integer, got None"),
        ({"machine_orders": {}}, "machine_orders must be a list, got {}"),
        ({"machine_orders": [[0, 3]]}, "1 machine orders, but the instance has 2"),
        ({"machine_orders": [[0, 3], 7]}, "the order of machine 1 must be a list, got 7"),
        ({"start": [0, 3, 0, 3]}, "4 start times, but the instance has 5"),
        ({"start": 5}, "start must be a list, got 5"),
        (
            {"start": [0, 3, 0, 3, 7.0]},
            "start of operation 4 (job 1, index 2) must be an integer, got 7.0",
        ),
        (
            {"start": [False, 3, 0, 3, 7]},
            "start of operation 0 (job 0, index 0) must be an integer, got False",
        ),
        (
            {"start": [0, 3, 0, float("nan"), 7]},
            "start of operation 3 (job 1, index 1) must be an integer, got nan",
        ),
        (
            {"machine_orders": [[0, 3], [2, True, 4]]},
            "every entry in the order of machine 1 must be an integer, got True",
        ),
        (
            {"machine_orders": [[0, 5], [2, 1, 4]]},
            "the order of machine 0 lists operation 5, expected 0 to 4",
        ),
        (
            {"machine_orders": [[0, -2], [2, 1, 4]]},
            "the order of machine 0 lists operation -2, expected 0 to 4",
        ),
        (
            {"machine_orders": [[0, 3, 1], [2, 4]]},
            "the order of machine 0 lists operation 1 (job 0, index 1), which needs machine 1",
        ),
        (
            {"machine_orders": [[0, 3, 0], [2, 1, 4]]},
            "the order of machine 0 lists operation 0 (job 0, index 0) twice",
        ),
        (
            {"machine_orders": [[0, 3], [2, 4]]},
            "operation 1 (job 0, index 1) is missing in the order of machine 1",
        ),
        ({"start": [-1, 3, 0, 3, 7]}, "operation 0 (job 0, index 0) starts at -1, before 0"),
        (
            {"start": [0, 3, 0, 3, 6]},
            "operation 4 (job 1, index 2) starts at 6, before operation 3 (job 1, index 1) ends at 7",
        ),
        (
            {"start": [0, 3, 0, 2, 6]},
            "machine 0: operation 3 (job 1, index 1) starts at 2, before operation 0 (job 0, index 0) ends at 3",
        ),
        (
            {"start": [0, 3, 2, 4, 8], "makespan": 9},
            "machine 1: operation 1 (job 0, index 1) starts at 3, before operation 2 (job 1, index 0) ends at 4",
        ),
        (
            {"machine_orders": [[0, 3], [1, 2, 4]]},
            "machine 1 lists operation 1 (job 0, index 1) before operation 2 (job 1, index 0), "
            "but they start at 3 and 0",
        ),
        ({"makespan": 7}, "makespan is 7, but the last operation ends at 8"),
        ({"makespan": 9}, "makespan is 9, but the last operation ends at 8"),
    ],
)
def test_names_the_first_violated_constraint(changes, message):
    with pytest.raises(ScheduleError) as caught:
        verify_dict(SHOP, changed(**changes), "bad.json")
    assert str(caught.value) == f"bad.json: {message}"


@pytest.mark.parametrize("data", [None, [], "schedule", 5])
def test_anything_but_an_object_is_not_a_schedule(data):
    with pytest.raises(ScheduleError, match="not a schedule"):
        verify_dict(SHOP, data, "bad.json")


def test_says_when_the_schedule_claims_to_be_of_another_instance():
    with pytest.raises(ScheduleError, match=r"a schedule of 'ta02', checked against 'shop'"):
        verify_dict(SHOP, changed(instance="ta02", makespan=9), "bad.json")


def test_the_claimed_name_alone_is_no_violation():
    """The same instance goes by several names: a benchmark name, a file name, none."""
    verify_dict(SHOP, changed(instance="shop.txt"), "good.json")


def test_refuses_a_schedule_object_of_another_instance():
    other = Instance.from_jobs([[(0, 3), (1, 2)], [(1, 2), (0, 4), (1, 2)]])
    with pytest.raises(ScheduleError, match="expected one of"):
        verify(SHOP, Schedule(other, [0, 3, 2, 1, 4], [0, 3, 0, 3, 7]))


@pytest.mark.parametrize(
    ("order", "start", "message"),
    [
        ([0, 3, 2, 1], [0, 3, 0, 3, 7], "4 operations in the machine orders"),
        ([0, 3, 2, 1, 4], [0, 3, 0, 3], "4 start times"),
        ([0, 2, 3, 1, 4], [0, 3, 0, 3, 7], "which needs machine 1"),
        ([0, 3, 2, 1, 4], [0, 3, 0, 2, 7], "starts at 2, before"),
    ],
)
def test_refuses_a_wrong_schedule_object(order, start, message):
    with pytest.raises(ScheduleError, match=message):
        Schedule(SHOP, order, start).verify()


def test_an_operation_of_no_duration_must_not_start_while_another_runs():
    instance = Instance.from_jobs([[(0, 4)], [(0, 0)]])
    for order, start in ([[0, 1], [0, 4]], [[1, 0], [0, 0]]):
        verify(instance, Schedule(instance, order, start))
    with pytest.raises(ScheduleError, match="machine 0: operation 1"):
        verify(instance, Schedule(instance, [0, 1], [0, 2]))
    with pytest.raises(ScheduleError, match="machine 0 lists operation 0"):
        verify(instance, Schedule(instance, [0, 1], [0, 0]))


def test_operations_of_no_duration_must_not_wait_for_each_other_in_a_cycle():
    """All start at 0 and nothing overlaps, but nobody could follow these orders."""
    instance = Instance.from_jobs([[(0, 0), (1, 0)], [(1, 0), (0, 0)]])
    verify(instance, Schedule(instance, [0, 3, 1, 2], [0, 0, 0, 0]))
    with pytest.raises(ScheduleError, match="wait for each other in a cycle"):
        verify(instance, Schedule(instance, [3, 0, 1, 2], [0, 0, 0, 0]))


@given(solutions())
@settings(deadline=None)
def test_accepts_what_the_evaluator_computes(solution):
    instance, order = solution
    schedule = Schedule.from_order(instance, order)
    verify(instance, schedule)
    verify_dict(instance, schedule.to_dict(), "computed")


@given(solutions(), st.data())
@settings(deadline=None)
def test_judges_changed_start_times_as_the_definition_does(solution, data):
    """Compared with every pair of operations of a job or of a machine, the definition of a schedule."""
    instance, order = solution
    schedule = Schedule.from_order(instance, order)
    start = schedule.start.copy()
    moved = data.draw(st.integers(0, instance.n_operations - 1))
    start[moved] += data.draw(st.integers(-5, 5))
    end = start + instance.duration
    follows = [(x - 1, x) for x in range(1, instance.n_operations) if instance.job[x - 1] == instance.job[x]]
    follows += [(int(a), int(b)) for row in schedule.machine_orders for a, b in pairwise(row)]
    correct = start.min() >= 0 and all(end[a] <= start[b] for a, b in follows)
    try:
        verify(instance, Schedule(instance, order, start))
    except ScheduleError:
        assert not correct
    else:
        assert correct


@given(solutions(min_duration=1), st.data())
@settings(deadline=None)
def test_refuses_two_operations_exchanged_in_an_order(solution, data):
    instance, order = solution
    schedule = Schedule.from_order(instance, order)
    a, b = (data.draw(st.integers(0, instance.n_operations - 1)) for _ in range(2))
    assume(a != b)
    exchanged = np.array(order)
    exchanged[[a, b]] = exchanged[[b, a]]
    with pytest.raises(ScheduleError):
        verify(instance, Schedule(instance, exchanged, schedule.start))


def test_is_a_function_of_the_package_whoever_imported_the_module_first():
    l2s.verify(SHOP, Schedule(SHOP, [0, 3, 2, 1, 4], [0, 3, 0, 3, 7]))


def test_needs_neither_kernels_nor_evaluator():
    code = (
        "import sys, l2s_plugin.verification\n"
        "heavy = ('numba', 'torch', 'l2s_plugin.kernels', 'l2s_plugin.evaluator')\n"
        "print([name for name in heavy if name in sys.modules])"
    )
    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert answer.stdout.strip() == "[]"
