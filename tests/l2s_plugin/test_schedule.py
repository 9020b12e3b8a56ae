"""Schedules: machine orders and start times in agreement, critical paths and blocks, and their files."""

from __future__ import annotations

import json
import os
from itertools import pairwise

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from l2s_plugin.errors import CyclicOrderError, L2SError, ScheduleError
from l2s_plugin.instance import Instance
from l2s_plugin.schedule import Schedule, read_schedule_json
from tests.strategies import instances, linear_orders, solutions

SHOP = Instance.from_jobs([[(0, 3), (1, 2)], [(1, 2), (0, 4), (1, 1)]], name="shop")


def solution_graph(schedule):
    """Job arcs and machine arcs, the weight of an arc the duration of the operation it leaves."""
    graph = nx.DiGraph()
    graph.add_nodes_from(range(schedule.instance.n_operations))
    for first, stop in pairwise(schedule.instance.job_offset.tolist()):
        nx.add_path(graph, range(first, stop))
    for row in schedule.machine_orders:
        nx.add_path(graph, row.tolist())
    return graph


def longest_paths(schedule):
    """All paths, from without predecessor to without successor, that take the whole makespan."""
    graph = solution_graph(schedule)
    duration = schedule.instance.duration
    sources = [x for x in graph if graph.in_degree(x) == 0]
    sinks = [x for x in graph if graph.out_degree(x) == 0]
    paths = [[x] for x in sources if x in sinks]
    paths += [path for x in sources for path in nx.all_simple_paths(graph, x, sinks)]
    length = {tuple(path): int(duration[path].sum()) for path in paths}
    return max(length.values()), {path for path in length if length[path] == max(length.values())}


def same(a, b):
    return np.array_equal(a.order, b.order) and np.array_equal(a.start, b.start) and a.instance == b.instance


def test_an_example_in_full():
    schedule = Schedule.from_machine_orders(SHOP, [[0, 3], [2, 1, 4]])
    assert schedule.start.tolist() == [0, 3, 0, 3, 7]
    assert schedule.end.tolist() == [3, 5, 2, 7, 8]
    assert schedule.makespan == 8
    assert schedule.lst.tolist() == [0, 5, 1, 3, 7]
    assert schedule.critical.tolist() == [True, False, False, True, True]
    assert schedule.critical_path() == [0, 3, 4]
    assert schedule.critical_blocks() == [[0, 3], [4]]
    assert schedule.linear_order.tolist() == [2, 0, 1, 3, 4]
    assert repr(schedule) == "Schedule(shop: makespan 8)"


@given(solutions())
@settings(deadline=None)
def test_orders_and_starts_round_trip(solution):
    instance, order = solution
    schedule = Schedule.from_order(instance, order)
    assert same(Schedule.from_machine_orders(instance, schedule.machine_orders), schedule)
    again = Schedule.from_starts(instance, schedule.start)
    again.verify()
    if instance.duration.min() > 0:
        assert same(again, schedule)
    else:  # several orders have these times, and some of them could start earlier
        assert (Schedule.from_order(instance, again.order).start <= schedule.start).all()


@given(instances().flatmap(lambda instance: st.tuples(st.just(instance), linear_orders(instance))))
@settings(deadline=None)
def test_linear_orders_give_schedules_and_come_back_as_linear_orders(drawn):
    instance, operations = drawn
    schedule = Schedule.from_linear_order(instance, operations)
    position = np.argsort(schedule.linear_order)
    for before, after in solution_graph(schedule).edges:
        assert position[before] < position[after]
    assert same(Schedule.from_linear_order(instance, schedule.linear_order), schedule)


@given(solutions(max_jobs=4, max_machines=3, max_operations=4))
@settings(deadline=None)
def test_critical_paths_are_all_longest_paths(solution):
    schedule = Schedule.from_order(*solution)
    length, expected = longest_paths(schedule)
    assert schedule.makespan == length
    found = [tuple(path) for path in schedule.critical_paths()]
    assert len(found) == len(set(found))
    assert set(found) == expected
    assert set(np.flatnonzero(schedule.critical)) == {x for path in expected for x in path}


@given(solutions())
@settings(deadline=None)
def test_critical_blocks_divide_a_critical_path_where_it_leaves_a_machine(solution):
    schedule = Schedule.from_order(*solution)
    blocks = schedule.critical_blocks()
    assert [x for block in blocks for x in block] == schedule.critical_path()
    on_machine = {(int(a), int(b)) for row in schedule.machine_orders for a, b in pairwise(row)}
    assert all(pair in on_machine for block in blocks for pair in pairwise(block))
    assert all((a[-1], b[0]) not in on_machine for a, b in pairwise(blocks))


def test_latest_starts_of_a_schedule_with_idle_time_refer_to_its_own_end():
    schedule = Schedule.from_starts(SHOP, [1, 6, 0, 5, 10])
    assert schedule.makespan == 11
    assert schedule.lst.tolist() == [3, 8, 4, 6, 10]
    assert schedule.critical_path() == [4]


def test_starts_of_operations_without_duration_give_orders_that_can_be_followed():
    """Everything happens at time 0; the orders must still agree with the jobs."""
    instance = Instance.from_jobs([[(0, 0), (1, 0), (0, 0)], [(1, 0), (0, 0), (1, 0)]])
    schedule = Schedule.from_starts(instance, np.zeros(6, np.int64))
    schedule.verify()
    assert Schedule.from_order(instance, schedule.order).makespan == 0


@pytest.mark.parametrize("orders", [[[3, 0], [1, 2, 4]], [[0, 3], [4, 2, 1]]])
def test_orders_that_wait_for_each_other_are_reported(orders):
    with pytest.raises(CyclicOrderError, match="cycle"):
        Schedule.from_machine_orders(SHOP, orders)
    with pytest.raises(CyclicOrderError, match="cycle"):
        Schedule(SHOP, [x for row in orders for x in row], [0, 3, 0, 3, 7]).linear_order  # noqa: B018


@pytest.mark.parametrize(
    ("orders", "message"),
    [
        ([[0, 3]], "1 machine orders, expected 2"),
        ([[0, 3], [2, 1]], "the order of machine 1 must list its 3 operations once each"),
        ([[0, 0], [2, 1, 4]], "the order of machine 0 must list its 2 operations once each"),
        ([[0, 1], [2, 3, 4]], "the order of machine 0"),
        ([[0, 99], [2, 3, 4]], "the order of machine 0"),
        ([[0, None], [2, 3, 4]], "machine orders must hold operation ids"),
        ([[0, 2**70], [2, 3, 4]], "machine orders must hold operation ids"),
    ],
)
def test_orders_that_do_not_fit_the_instance_are_refused(orders, message):
    with pytest.raises(ScheduleError, match=message):
        Schedule.from_machine_orders(SHOP, orders)


@pytest.mark.parametrize(
    ("start", "message"),
    [
        ([0, 3, 0, 3], "4 start times, expected 5"),
        ([0, 3, 0, 3, 7.5], "start times must be integers"),
        ([0, 3, 0, 3, 2**31 - 1], "beyond 32 bits"),
        ([0, 3, 0, 3, 2**40], "beyond 32 bits"),
        ([-1, 3, 0, 3, 7], r"operation 0 .* starts at -1, before 0"),
        ([0, 3, 3, 3, 7], r"operation 2 .* starts at 3, before operation 1 .* ends at"),
        ([0, 2, 0, 3, 7], r"operation 1 .* starts at 2, before operation 0 .* ends at 3"),
    ],
)
def test_starts_that_do_not_fit_the_instance_are_refused(start, message):
    with pytest.raises(ScheduleError, match=message):
        Schedule.from_starts(SHOP, start)


@pytest.mark.parametrize("orders", [[[0.9, 3.2], [2, 1, 4]], [[0, 3], ["2", "1", "4"]], [[0, 3], [[2], [1, 4]]]])
def test_machine_orders_are_never_rounded(orders):
    """What is no whole number is refused, in flat orders as well."""
    with pytest.raises(ScheduleError, match="must hold operation ids"):
        Schedule.from_machine_orders(SHOP, orders)
    with pytest.raises(ScheduleError, match="must hold operation ids"):
        Schedule.from_linear_order(SHOP, [0.9, 1.0, 2.0, 3.0, 4.0])


@pytest.mark.parametrize("order", [[0, 1, 2, 3], [0, 1, 2, 3, 3], [0, 1, 2, 3, 5], [0, 1, 2, 3, -1]])
def test_a_flat_order_lists_every_operation_once(order):
    with pytest.raises(ScheduleError, match="must list the 5 operations once each"):
        Schedule.from_linear_order(SHOP, order)


def test_swapped_arguments_of_load_are_named(tmp_path):
    with pytest.raises(L2SError, match="expected an Instance, such as"):
        Schedule.load(str(tmp_path / "s.json"), SHOP)  # type: ignore[arg-type]


def test_numbers_of_thousands_of_digits_in_a_schedule_are_one_line(tmp_path):
    text = json.dumps(Schedule.from_starts(SHOP, [0, 3, 0, 3, 7]).to_dict())
    for start in ("9" * 4300, "[" * 500 + "]" * 500):
        (tmp_path / "s.json").write_text(text.replace('"start": [0', f'"start": [{start}'))
        with pytest.raises(ScheduleError, match=r"s\.json:1: unreadable JSON") as caught:
            Schedule.load(SHOP, tmp_path / "s.json")
        assert len(str(caught.value)) < 300


def test_cannot_be_changed():
    schedule = Schedule.from_starts(SHOP, [0, 3, 0, 3, 7])
    with pytest.raises(ValueError, match="read-only"):
        schedule.start[0] = 5


@given(solutions())
@settings(deadline=None)
def test_json_form_round_trips(solution):
    schedule = Schedule.from_order(*solution)
    data = json.loads(json.dumps(schedule.to_dict()))
    assert same(Schedule.from_dict(schedule.instance, data), schedule)


def test_file_round_trips(tmp_path):
    schedule = Schedule.from_machine_orders(SHOP, [[0, 3], [2, 1, 4]])
    schedule.save(tmp_path / "s.json")
    assert same(Schedule.load(SHOP, tmp_path / "s.json"), schedule)
    assert read_schedule_json(tmp_path / "s.json") == {
        "format": "l2s-schedule",
        "version": 1,
        "instance": "shop",
        "n_jobs": 2,
        "n_machines": 2,
        "makespan": 8,
        "machine_orders": [[0, 3], [2, 1, 4]],
        "start": [0, 3, 0, 3, 7],
    }
    assert [path.name for path in tmp_path.iterdir()] == ["s.json"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", r"s\.json:1: not JSON"),
        ('{\n"format": ', r"s\.json:2: not JSON"),
        ("[1, 2]", r"s\.json: not a schedule"),
        ('{"format": "something else"}', r"s\.json: not a schedule"),
        ('{"format": "l2s-schedule"}', r"s\.json: version is missing"),
        ("\N{SNOWMAN}", r"s\.json:1: not JSON"),
        ("9" * 5000, r"s\.json:1: unreadable JSON"),
        ("[" * 100_000, r"s\.json:1: unreadable JSON"),
    ],
)
def test_files_that_are_no_schedule_are_refused_in_one_line(tmp_path, text, message):
    (tmp_path / "s.json").write_text(text, encoding="utf-8")
    with pytest.raises(ScheduleError, match=message) as caught:
        Schedule.load(SHOP, tmp_path / "s.json")
    assert "\n" not in str(caught.value)


def test_times_too_large_for_the_arrays_are_refused():
    data = Schedule.from_starts(SHOP, [0, 3, 0, 3, 7]).to_dict()
    data["start"][4], data["makespan"] = 2**31 - 1, 2**31
    with pytest.raises(ScheduleError, match="beyond 32 bits"):
        Schedule.from_dict(SHOP, data)


def test_binary_and_missing_files_are_refused(tmp_path):
    (tmp_path / "s.json").write_bytes(b"\x89PNG\xff\xfe")
    with pytest.raises(ScheduleError, match="not a text file"):
        Schedule.load(SHOP, tmp_path / "s.json")
    with pytest.raises(ScheduleError, match="cannot read"):
        Schedule.load(SHOP, tmp_path / "none.json")


def test_a_failed_write_leaves_the_old_file_and_nothing_else(tmp_path, monkeypatch):
    path = tmp_path / "s.json"
    path.write_text("old")

    def fail(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", fail)
    with pytest.raises(L2SError, match=r"cannot write .*No space left"):
        Schedule.from_starts(SHOP, [0, 3, 0, 3, 7]).save(path)
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_an_interrupted_write_leaves_nothing(tmp_path, monkeypatch):
    def interrupt(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "replace", interrupt)
    with pytest.raises(KeyboardInterrupt):
        Schedule.from_starts(SHOP, [0, 3, 0, 3, 7]).save(tmp_path / "s.json")
    assert list(tmp_path.iterdir()) == []
