"""`Instance`: what it accepts, what it refuses, and the arrays it derives."""

import io
import pickle

import numpy as np
import pytest
from hypothesis import given, settings

from l2s_plugin.errors import InstanceError, L2SError
from l2s_plugin.instance import MAX_TOTAL_DURATION, Instance
from l2s_plugin.loader import encode, load
from l2s_plugin.schedule import Schedule
from tests.strategies import instances, solutions


@given(instances())
def test_jobs_is_the_inverse_of_from_jobs(instance):
    assert Instance.from_jobs(instance.jobs(), instance.n_machines) == instance


@given(instances())
def test_neighbours_in_the_job_agree_with_the_list_of_jobs(instance):
    none, operation = instance.n_operations, 0
    for job, row in enumerate(instance.jobs()):
        for index in range(len(row)):
            assert instance.job[operation] == job
            assert instance.job_pred[operation] == (operation - 1 if index > 0 else none)
            assert instance.job_succ[operation] == (operation + 1 if index < len(row) - 1 else none)
            operation += 1


@given(solutions())
def test_machine_offset_separates_the_machines_of_a_solution(solution):
    instance, order = solution
    for machine in range(instance.n_machines):
        a, b = instance.machine_offset[machine : machine + 2]
        assert sorted(order[a:b]) == np.flatnonzero(instance.machine == machine).tolist()


@given(instances(rectangular=True))
def test_every_job_of_a_rectangle_visits_every_machine_once(instance):
    assert instance.is_rectangular
    assert all(sorted(machine for machine, _ in job) == list(range(instance.n_machines)) for job in instance.jobs())


@pytest.mark.parametrize(
    "jobs",
    [
        [[(0, 1), (1, 1)], [(0, 1)]],  # shorter job
        [[(0, 1), (0, 1)], [(0, 1), (1, 1)]],  # one machine twice
        [[(0, 1)], [(0, 1)], [(0, 1), (1, 1), (0, 1), (1, 1)]],  # right number of operations, wrong shape
    ],
)
def test_other_shapes_are_not_rectangular(jobs):
    assert not Instance.from_jobs(jobs, 2).is_rectangular


def test_equality_is_about_operations_not_names():
    jobs = [[(0, 3), (1, 2)], [(1, 4)]]
    one = Instance.from_jobs(jobs, name="a", lower_bound=3)
    other = Instance.from_jobs(jobs, name="b")
    assert one == other
    assert hash(one) == hash(other)
    assert one != Instance.from_jobs(jobs, 3)  # one more machine
    assert one != Instance.from_jobs([[(0, 3)], [(1, 2), (1, 4)]])  # same operations, other jobs
    assert one != "a"


def test_arrays_cannot_be_changed():
    duration = np.array([1, 2], np.int32)
    instance = Instance(duration, [0, 0], [0, 1, 2], 1)
    duration[0] = 99
    assert instance.duration.tolist() == [1, 2]
    with pytest.raises(ValueError, match="read-only"):
        instance.duration[0] = 5


def test_with_details_keeps_the_operations():
    instance = Instance.from_jobs([[(0, 3)]])
    renamed = instance.with_details(name="x", upper_bound=3)
    assert (renamed.name, renamed.upper_bound, renamed.lower_bound) == ("x", 3, None)
    assert renamed == instance
    assert repr(renamed) == "Instance(x: 1 jobs, 1 machines, 1 operations)"
    assert renamed.size == "1x1"


def test_describe_names_job_and_index():
    instance = Instance.from_jobs([[(0, 1), (1, 1)], [(1, 1), (0, 1), (1, 1)]])
    assert [instance.describe(x) for x in (0, 1, 2, 4)] == [
        "operation 0 (job 0, index 0)",
        "operation 1 (job 0, index 1)",
        "operation 2 (job 1, index 0)",
        "operation 4 (job 1, index 2)",
    ]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([], [], [0], 1), "an instance needs at least one operation"),
        (([1, 2], [0], [0, 2], 1), "2 durations but 1 machines"),
        (([1, 2], [0, 0], [0, 1], 1), "job_offset must run from 0 to 2"),
        (([1, 2], [0, 0], [], 1), "job_offset must run from 0 to 2"),
        (([1, 2], [0, 0], [0, 0, 2], 1), "job 0 has no operations"),
        (([1, -2], [0, 0], [0, 2], 1), r"operation 1 \(job 0, index 1\) has negative duration -2"),
        (([1, 2], [0, 1], [0, 2], 1), r"operation 1 \(job 0, index 1\) is on machine 1, expected 0 to 0"),
        (([1, 2], [-1, 0], [0, 2], 1), r"operation 0 \(job 0, index 0\) is on machine -1"),
        (([MAX_TOTAL_DURATION, 1], [0, 0], [0, 2], 1), "total duration 1073741824 is too large"),
        (([2**40], [0], [0, 1], 1), "beyond 32 bits"),
        (([1.5], [0], [0, 1], 1), "duration must hold integers"),
        (([[1]], [0], [0, 1], 1), "one-dimensional"),
    ],
)
def test_nonsense_is_refused_with_the_place(arguments, message):
    with pytest.raises(InstanceError, match=message):
        Instance(*arguments)


@pytest.mark.parametrize("n_machines", [2.5, "2", None, True, -1])
def test_the_number_of_machines_is_a_whole_number(n_machines):
    with pytest.raises(L2SError, match="n_machines must be a whole number, 0 or more, got"):
        Instance([1], [0], [0, 1], n_machines)


def test_numbers_of_numpy_are_written_like_any_other():
    instance = Instance([1], [0], [0, 1], np.int64(2))
    assert load(io.BytesIO(encode(instance, "l2s-json"))) == instance


def test_the_largest_total_duration_is_accepted():
    assert Instance.from_jobs([[(0, MAX_TOTAL_DURATION - 1), (0, 1)]]).n_operations == 2


@given(solutions())
@settings(deadline=None)  # the first example waits for the compiler
def test_pickles_hold_the_data_alone_and_come_back_read_only(solution):
    """Tasks for a cluster do not grow with what was computed from their instance before."""
    schedule = Schedule.from_order(*solution)
    fresh = Schedule(schedule.instance.with_details(), schedule.order, schedule.start)
    used = (schedule.instance.job_pred, schedule.instance.job_succ, schedule.lst)
    assert pickle.dumps(schedule) == pickle.dumps(fresh), f"{len(used)} derived arrays in the pickle"
    again = pickle.loads(pickle.dumps(schedule))
    assert again.instance == schedule.instance
    assert again.instance.name == schedule.instance.name
    assert not again.instance.duration.flags.writeable
    assert not again.start.flags.writeable


@pytest.mark.parametrize(
    ("jobs", "message"),
    [
        ([[(0, 1, 99)]], r"job 0, index 0 is \(0, 1, 99\), expected \(machine, duration\)"),
        ([[("saw", 3)]], r"job 0, index 0 is \('saw', 3\), expected .*two integers"),
        ([[(0, 1)], [(0, 1), (1, 2.5)]], r"job 1, index 1 is \(1, 2\.5\)"),
        ([[0, 1]], "job 0, index 0 is 0, expected"),
        ([5], "job 0 is 5, expected a list"),
    ],
)
def test_jobs_are_pairs_of_whole_numbers_and_nothing_is_dropped(jobs, message):
    with pytest.raises(InstanceError, match=message):
        Instance.from_jobs(jobs)


def test_memory_is_in_proportion_to_the_operations():
    """A wrong number of machines must not ask for all memory."""
    for machine, n_machines in ((0, 10**7), (10**9, None)):
        with pytest.raises(InstanceError, match="machines for 1 operations, expected at most 10001"):
            Instance.from_jobs([[(machine, 3)]], n_machines)
