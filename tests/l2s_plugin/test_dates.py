"""Release dates, due dates and kept orders: kernels, evaluator and bounds against slow, obvious twins."""

from __future__ import annotations

from itertools import pairwise, permutations, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from l2s_plugin.bounds import lower_bound
from l2s_plugin.errors import InstanceError, L2SError, ScheduleError
from l2s_plugin.evaluator import Evaluator
from l2s_plugin.instance import Instance
from l2s_plugin.kernels.critical_path import find_critical_path
from l2s_plugin.kernels.moves import apply
from l2s_plugin.kernels.state import has_dates, new_state, set_order
from l2s_plugin.kernels.view import StateView
from l2s_plugin.schedule import Schedule, respecting
from tests.l2s_plugin.evaluator.oracle import longest_paths
from tests.l2s_plugin.kernels.slow import (
    NAMES,
    after_move,
    assert_consistent,
    blocks_of,
    machine_orders,
    makespan_of,
    moves_of,
    states,
)
from tests.strategies import dated_instances, linear_orders


def all_schedules(instance: Instance):
    """The machine orders of every schedule, and its longest path."""
    members = [np.flatnonzero(instance.machine == machine).tolist() for machine in range(instance.n_machines)]
    for rows in product(*(permutations(row) for row in members)):
        length = makespan_of(instance, [list(row) for row in rows])
        if length is not None:
            yield rows, length


@settings(deadline=None, max_examples=200)
@given(states(dated=True))
def test_the_state_has_the_times_of_the_oracle_before_and_after_moves(case):
    instance, state = case
    assert has_dates(state) == (instance.has_dates or bool(instance.kept))
    assert_consistent(instance, state)
    for u, v, forward in moves_of("n7", instance, state)[:3]:
        if state.machine_succ[u] != v and not forward:
            continue
        if apply(state, np.uint32(u), np.uint32(v), forward):
            assert_consistent(instance, state)
            break


@settings(deadline=None, max_examples=150)
@given(st.data())
def test_both_engines_agree_with_the_oracle(data):
    instance = data.draw(dated_instances())
    orders = [
        linear[np.argsort(instance.machine[linear], kind="stable")]
        for linear in (data.draw(linear_orders(instance)) for _ in range(2))
    ]
    plain = Instance.from_jobs([[(0, 3)], [(0, 4)]])  # mixed with one without dates
    batch = [instance, plain, instance], [orders[0], [1, 0], orders[1]]
    for engine in ("compiled", "message-passing"):
        evaluation = Evaluator(engine=engine).evaluate(*batch)
        for times, order in zip((evaluation[0], evaluation[2]), orders, strict=True):
            expected = longest_paths(instance, order)
            assert times.est.tolist() == expected.est
            assert times.lst.tolist() == expected.lst
            assert times.length == expected.makespan
            assert times.makespan == (times.est + instance.duration).max()
        assert (evaluation[1].makespan, evaluation[1].length) == (7, 7)


@settings(deadline=None, max_examples=150)
@given(st.data())
def test_value_and_length_of_a_schedule_are_what_they_say(data):
    instance = data.draw(dated_instances())
    schedule = Schedule.from_linear_order(instance, data.draw(linear_orders(instance)))
    schedule.verify()
    end = [int(schedule.end[x]) for x in instance.job_offset[1:] - 1]
    due = [None] * instance.n_jobs if instance.due is None else instance.due.tolist()
    late = [e - d for e, d in zip(end, due, strict=True) if d is not None and d < 2**31 - 1]
    assert schedule.lateness == (max(late) if late else None)
    assert schedule.value == (max(late) if instance.objective == "lateness" else max(schedule.end))
    assert schedule.length == schedule.value + instance.offset == longest_paths(instance, schedule.order).makespan
    path = schedule.critical_path()
    assert schedule.start[path[0]] == 0 or schedule.start[path[0]] == instance.head[path[0]]
    assert instance.after[instance.job[path[-1]]] + schedule.end[path[-1]] == schedule.length
    assert schedule.critical[path].all()


@settings(deadline=None, max_examples=150)
@given(states(dated=True))
def test_the_critical_path_of_the_kernels_is_one(case):
    instance, state = case
    find_critical_path(state)
    path = state.path[: state.path_length[0]].tolist()
    est = StateView(instance, state).est
    assert est[path[0]] == instance.head[path[0]]
    for before, after in pairwise(path):
        assert before == after - 1 or state.machine_succ[before] == after
        assert est[before] + instance.duration[before] == est[after]
    assert state.end[path[-1]] + instance.after[instance.job[path[-1]]] == state.makespan[0]


@settings(deadline=None, max_examples=60)
@given(states(dated=True, max_jobs=3, max_machines=2, max_operations=3, min_duration=1))
def test_every_better_schedule_moves_an_operation_over_an_open_end_of_a_block(case):
    """The rule behind N5, N6 and N7, by brute force: with dates, first and last blocks may be open at both ends."""
    instance, state = case
    find_critical_path(state)
    blocks = blocks_of(state)
    head, tail = instance.head, instance.tail
    for rows, length in all_schedules(instance):
        if length >= state.makespan[0]:
            continue
        place = {x: k for row in rows for k, x in enumerate(row)}
        crossed = False
        for number, block in enumerate(blocks):
            u, v = block[0], block[-1]
            first_open = number > 0 or any(head[x] < head[u] for x in block)
            last_open = number < len(blocks) - 1 or any(tail[x] < tail[v] for x in block)
            crossed |= first_open and any(place[x] < place[u] for x in block)
            crossed |= last_open and any(place[x] > place[v] for x in block)
        assert crossed
    offered = {(u, v) for u, v, _ in moves_of("n5", instance, state, same_path=True)}
    rows = machine_orders(instance, state)
    for move in moves_of("n1", instance, state, same_path=True):
        if makespan_of(instance, after_move(rows, move)) < state.makespan[0]:
            assert move[:2] in offered


@settings(deadline=None, max_examples=60)
@given(dated_instances(max_jobs=3, max_machines=2, max_operations=3))
def test_no_schedule_is_below_the_bound(instance):
    assert lower_bound(instance) <= min(length for _, length in all_schedules(instance))


@settings(deadline=None, max_examples=60)
@given(st.data())
def test_kept_orders_are_kept_by_moves_and_by_random_orders(data):
    instance = data.draw(dated_instances())
    schedule = Schedule.from_linear_order(instance, data.draw(linear_orders(instance)))
    machine = data.draw(st.sampled_from(sorted({*instance.machine.tolist()})))
    kept = Instance(**vars_of(instance) | {"kept": (tuple(schedule.machine_orders[machine].tolist()),)})
    order = respecting(kept, data.draw(linear_orders(kept)))
    other = Schedule.from_linear_order(kept, order)
    other.verify()
    assert other.machine_orders[machine].tolist() == list(kept.kept[0])
    state = new_state(kept, 1)
    set_order(state, other.linear_order.astype(np.uint32))
    for name in NAMES:
        assert all(kept.machine[u] != machine for u, _, _ in moves_of(name, kept, state))


def vars_of(instance: Instance) -> dict:
    return {name: getattr(instance, name) for name in Instance.__dataclass_fields__}


def test_dates_of_jobs_and_machines_become_earliest_starts():
    instance = Instance.from_jobs([[(0, 3), (1, 2)], [(1, 4), (0, 1)]])
    dated = instance.with_dates(release=[2, None], due=[9, None], available=[0, 4])
    assert dated.earliest.tolist() == [2, 4, 4, 0]
    assert dated.head.tolist() == [2, 5, 4, 8]
    assert dated != instance
    assert dated.with_objective("lateness") != dated
    assert instance.with_dates(release=[0, 0]) == instance


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda i: i.with_objective("lateness"), "no job has a due date"),
        (lambda i: i.with_objective("tardiness"), "unknown objective 'tardiness'"),
        (lambda i: i.with_dates(release=[1]), "release: 1 dates, expected 2"),
        (lambda i: i.with_dates(earliest=[-1, 0, 0]), "is -1, expected 0 or more"),
        (lambda i: i.with_dates(due=[2**30, 0]), "spread over"),
        (lambda i: i.with_details(kept=((0,),)), "must list all operations"),
        (lambda i: i.with_details(job_names=("a", "a")), "'a' stands for more than one"),
        (lambda i: i.with_details(machine_names=("a",)), "1 given, expected 2"),
    ],
)
def test_impossible_dates_and_names_are_refused(build, message):
    instance = Instance.from_jobs([[(0, 3), (1, 2)], [(0, 4)]])
    with pytest.raises((InstanceError, L2SError), match=message):
        build(instance)


def test_the_checker_names_who_starts_before_its_date():
    instance = Instance.from_jobs([[(0, 3)], [(0, 4)]], job_names=("oak", "elm")).with_dates(release=[5, 0])
    early = Schedule(instance, [0, 1], [4, 7])
    with pytest.raises(ScheduleError, match="step 1 of job oak starts at 4, before its date 5"):
        early.verify()
