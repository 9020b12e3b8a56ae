"""The state: links, linear order, heads and tails stay one schedule, whatever moves are made."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from l2s_plugin.kernels import moves as kernels
from l2s_plugin.kernels.critical_path import block_end, find_critical_path
from l2s_plugin.kernels.state import new_state, set_order, update_ends, update_tails
from tests.l2s_plugin.kernels.slow import after_move, assert_consistent, machine_orders, makespan_of, states

any_pair = st.tuples(st.integers(0, 10**6), st.integers(0, 10**6), st.booleans())


def pick_pair(rows, choice):
    """Any two operations of one machine, in order; None where no machine has two."""
    busy = [row for row in rows if len(row) > 1]
    if not busy:
        return None
    row = busy[choice[0] % len(busy)]
    i = choice[1] % (len(row) - 1)
    j = i + 1 + (choice[1] // len(row)) % (len(row) - 1 - i)
    return row[i], row[j], choice[2]


@settings(deadline=None)
@given(states())
def test_a_schedule_taken_over_from_a_linear_order_has_the_oracles_times(case):
    assert_consistent(*case)


@settings(deadline=None, max_examples=200)
@given(states(), st.lists(any_pair, max_size=12))
def test_any_insertion_is_made_exactly_or_refused_because_it_closes_a_cycle(case, choices):
    instance, state = case
    for choice in choices:
        rows = machine_orders(instance, state)
        move = pick_pair(rows, choice)
        if move is None:
            return
        u, v, forward = np.uint32(move[0]), np.uint32(move[1]), move[2]
        wanted = after_move(rows, move)
        expected = makespan_of(instance, wanted)
        exact = kernels.exact_value(state, u, v, forward)
        assert_consistent(instance, state)  # looking at a move changes nothing
        assert machine_orders(instance, state) == rows
        assert exact == (-1 if expected is None else expected)
        made = kernels.apply(state, u, v, forward)
        assert made == (expected is not None)
        assert machine_orders(instance, state) == (wanted if made else rows)
        assert_consistent(instance, state)


@settings(deadline=None)
@given(states(), any_pair)
def test_a_move_called_feasible_never_closes_a_cycle(case, choice):
    instance, state = case
    rows = machine_orders(instance, state)
    move = pick_pair(rows, choice)
    if move is not None and kernels.is_feasible(state, np.uint32(move[0]), np.uint32(move[1]), move[2]):
        assert makespan_of(instance, after_move(rows, move)) is not None


@settings(deadline=None)
@given(states())
def test_the_critical_path_is_a_chain_of_critical_operations_from_zero_to_the_makespan(case):
    _, state = case
    length = find_critical_path(state)
    path = [int(x) for x in state.path[:length]]
    start = state.end - state.duration
    assert start[path[0]] == 0
    assert state.end[path[-1]] == state.makespan[0]
    for x, y in pairwise(path):
        assert state.end[x] == start[y]
        assert y == state.machine_succ[x] or y == state.job_succ[x]
    assert all(start[x] + state.tail[x] == state.makespan[0] for x in path)

    first = 0
    while first < length:
        last = block_end(state, first)
        assert all(state.machine_succ[path[i]] == path[i + 1] for i in range(first, last))
        assert last + 1 == length or state.machine_succ[path[last]] != path[last + 1]
        first = last + 1


@settings(deadline=None, max_examples=50)
@given(states(), any_pair)
def test_kernels_do_the_same_interpreted_and_compiled(case, choice):
    instance, state = case
    twin = new_state(instance, 0)
    set_order.py_func(twin, state.order.copy())
    update_ends.py_func(twin, 0)
    update_tails.py_func(twin, instance.n_operations - 1)
    assert_consistent(instance, twin)
    move = pick_pair(machine_orders(instance, state), choice)
    if move is None:
        return
    arguments = np.uint32(move[0]), np.uint32(move[1]), move[2]
    for name in ("is_feasible", "exact_value", "apply"):
        kernel = getattr(kernels, name)
        assert kernel.py_func(twin, *arguments) == kernel(state, *arguments), name
        if name == "is_feasible" and kernel(state, *arguments):
            assert kernels.estimate.py_func(twin, *arguments) == kernels.estimate(state, *arguments)
    assert_consistent(instance, twin)
