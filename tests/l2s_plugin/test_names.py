"""Jobs, machines, operations and times are found by what people call them, and nothing else is."""

from __future__ import annotations

import pytest

from l2s_plugin.clock import Clock
from l2s_plugin.errors import L2SError, ScheduleError
from l2s_plugin.instance import Instance
from l2s_plugin.names import find_job, find_machine, find_operation, find_time, time_text
from l2s_plugin.schedule import Schedule

PLAIN = Instance.from_jobs([[(0, 3), (1, 2)], [(1, 4)]])
NAMED = Instance.from_jobs(
    [[(0, 3), (1, 2)], [(1, 4), (0, 1)], [(0, 1)]],
    job_names=("a", "a/b", "7"),
    machine_names=("lathe 2", "saw:1-2"),
    operation_names=("cut", "b/3", "cut", "2", ""),
)
TIMED = PLAIN.with_details(clock=Clock.of("2026-11-23T06:00", "hours"))
MANY_DIGITS = "9" * 5000


@pytest.mark.parametrize(
    ("word", "operation"),
    [
        ("a/1", 0),
        ("a/cut", 0),
        ("a/b/3", 1),  # the job a, its operation b/3
        ("b/3", 1),
        ("a/b/1", 2),  # the job a/b, its first step
        ("a/b/cut", 2),
        ("a/b/2", 3),
        ("2", 3),
        ("7/1", 4),
        (4, 4),
    ],
)
def test_operations_are_found_whatever_signs_their_names_have(word, operation):
    assert find_operation(NAMED, word) == operation


@pytest.mark.parametrize(
    ("word", "message"),
    [
        ("cut", "2 operations are called 'cut'; name the job, too, as in a/cut"),
        ("a/4", "unknown operation '4'.*job a has the steps 1 to 2"),
        ("a/0", "unknown operation '0'"),
        ("a/b/cot", "did you mean"),
        ("c/1", "unknown job 'c'"),
        ("/1", "unknown job ''"),
        ("a/", "unknown operation ''"),
        ("", "unknown operation ''"),
        (5, "unknown operation '5'; operations are numbered from 0 to 4"),
        (-1, "unknown operation '-1'"),
        (True, "unknown operation 'True'"),
        (1.0, "unknown operation '1.0'"),
        (f"a/{MANY_DIGITS}", "unknown operation"),
    ],
)
def test_operations_that_do_not_exist_are_told(word, message):
    with pytest.raises(L2SError, match=message):
        find_operation(NAMED, word)


def test_names_are_looked_up_before_numbers_are_thought_of():
    assert find_job(NAMED, "7") == find_job(NAMED, 2) == 2
    assert find_machine(NAMED, "saw:1-2") == find_machine(PLAIN, "1") == 1
    for word in ("2", "7 ", "A"):
        with pytest.raises(L2SError, match="unknown job"):
            find_job(NAMED, word)
    for word in ("2", "-1", "x", MANY_DIGITS):
        with pytest.raises(L2SError, match=r"unknown job .*; jobs are numbered from 0 to 1"):
            find_job(PLAIN, word)


def test_machine_orders_that_are_wrong_are_told_by_name():
    with pytest.raises(ScheduleError, match=r"^the order of machine saw:1-2 must list its 2 operations once each$"):
        Schedule.from_machine_orders(NAMED, [[0, 3, 4], [1]])


def test_times_are_numbers_or_moments():
    assert find_time(PLAIN, "-3") == find_time(PLAIN, -3) == -3
    assert find_time(TIMED, "2026-11-24T05:00") == find_time(TIMED, "23") == 23
    assert time_text(TIMED, 23) == "2026-11-24T05:00"


@pytest.mark.parametrize(
    ("instance", "word", "message"),
    [
        (PLAIN, "noon", "'noon' is no time, expected a whole number$"),
        (PLAIN, 2.5, "2.5 is no time"),
        (PLAIN, None, "None is no time"),
        (PLAIN, MANY_DIGITS, "is no time"),
        (PLAIN, "2026-11-24T05:00", "nothing says which moment time 0 is"),
        (TIMED, "noon", "'noon' is no time, expected one such as 2026-11-23T06:00"),
        (TIMED, "2026-11-24T05:30", "no whole number of hours after"),
        (TIMED, "2026-11-24T05:00+01:00", "expected both with a time zone, or none"),
        (TIMED, "2026-02-30", "is no time"),
    ],
)
def test_what_is_no_time_is_told(instance, word, message):
    with pytest.raises(L2SError, match=message):
        find_time(instance, word)


@pytest.mark.parametrize(
    "start", ["2026-11-23T06:00", "2026-11-23T06:00:30", "2026-11-23T06:00:00.5", "2026-11-23T00:00Z"]
)
@pytest.mark.parametrize("unit", ["seconds", "minutes", "hours", "days"])
def test_what_a_clock_shows_is_read_as_the_same_time(start, unit):
    clock = Clock.of(start, unit)
    assert all(clock.time(clock.text(time)) == time for time in (-5, 0, 1, 10_000))
