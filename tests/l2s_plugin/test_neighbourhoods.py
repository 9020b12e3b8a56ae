"""Neighbourhoods offer what the literature says they offer, and only feasible moves."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings

from l2s_plugin.instance import Instance
from l2s_plugin.kernels.critical_path import find_critical_path
from l2s_plugin.kernels.moves import estimate, exact_value, is_feasible
from l2s_plugin.kernels.state import new_state, set_order
from l2s_plugin.schedule import Schedule
from tests.l2s_plugin.evaluator.oracle import longest_paths
from tests.l2s_plugin.kernels.slow import (
    NAMES,
    after_move,
    blocks_of,
    flat,
    machine_orders,
    makespan_of,
    moves_of,
    states,
)
from tests.reference import golden_cases


def slow_n5(state) -> set[tuple[int, int]]:
    """The paper's section 3, word by word."""
    blocks = blocks_of(state)
    swaps = set()
    for index, block in enumerate(blocks):
        if len(block) > 1:
            if index > 0:
                swaps.add((block[0], block[1]))
            if index < len(blocks) - 1:
                swaps.add((block[-2], block[-1]))
    return {(u, v) for u, v in swaps if state.job_succ[u] != v}


@pytest.mark.parametrize("name", NAMES)
@settings(deadline=None, max_examples=150)
@given(case=states() | states(dated=True))
def test_every_offered_move_gives_an_acyclic_schedule_that_is_exactly_rated_and_none_is_offered_twice(name, case):
    instance, state = case
    rows = machine_orders(instance, state)
    offered = moves_of(name, instance, state)
    results = [after_move(rows, move) for move in offered]
    for (u, v, forward), result in zip(offered, results, strict=True):
        assert exact_value(state, np.uint32(u), np.uint32(v), forward) == makespan_of(instance, result) is not None
    assert len({str(result) for result in results}) == len(results)
    assert machine_orders(instance, state) == rows


@settings(deadline=None, max_examples=150)
@given(states(min_duration=1))
def test_n5_is_the_papers(case):
    instance, state = case
    offered = moves_of("n5", instance, state)
    assert {(u, v) for u, v, _ in offered} == slow_n5(state)


@settings(deadline=None, max_examples=150)
@given(states())
def test_with_zero_durations_n5_leaves_out_only_what_is_not_proven_feasible(case):
    instance, state = case
    offered = {(u, v) for u, v, _ in moves_of("n5", instance, state)}
    assert offered <= slow_n5(state)
    for u, v in slow_n5(state) - offered:
        assert not is_feasible(state, np.uint32(u), np.uint32(v), True)


@settings(deadline=None, max_examples=150)
@given(states(min_duration=1))
def test_only_swaps_of_n5_can_improve_among_those_of_n1(case):
    """Swaps inside a block keep a path of the same length (van Laarhoven et al.; Nowicki & Smutnicki)."""
    instance, state = case
    rows = machine_orders(instance, state)
    every = moves_of("n1", instance, state)
    kept = {(u, v) for u, v, _ in moves_of("n5", instance, state, same_path=True)}
    for move in every:
        if makespan_of(instance, after_move(rows, move)) < state.makespan[0]:
            assert move[:2] in kept


@settings(deadline=None, max_examples=150)
@given(states())
def test_n5_lies_in_n6_and_n6_in_n7(case):
    instance, state = case
    rows = machine_orders(instance, state)
    find_critical_path(state)
    small, middle, large = (
        {str(after_move(rows, move)) for move in moves_of(name, instance, state, same_path=True)}
        for name in ("n5", "n6", "n7")
    )
    assert small <= middle <= large


@settings(deadline=None, max_examples=150)
@given(states() | states(dated=True))
def test_the_estimate_of_a_swap_is_the_longest_path_through_the_swapped(case):
    """Taillard (1994): exact for the paths through the two operations, so never above the new makespan."""
    instance, state = case
    rows = machine_orders(instance, state)
    for move in moves_of("n1", instance, state):
        u, v, _ = move
        times = longest_paths(instance, flat(after_move(rows, move)))
        through = [times.est[x] + times.makespan - times.lst[x] for x in (u, v)]
        for forward in (True, False):
            assert estimate(state, np.uint32(u), np.uint32(v), forward) == max(through)
            assert estimate.py_func(state, np.uint32(u), np.uint32(v), forward) == max(through)
        assert max(through) <= times.makespan


def slow_estimate(instance: Instance, state, rows, move) -> int:
    """Balas & Vazacopoulos (1998): new heads and tails of what is moved, old ones of everything else."""
    u, v, _ = move
    old = longest_paths(instance, flat(rows))
    end = [old.est[x] + int(instance.duration[x]) for x in range(instance.n_operations)]
    tail = [old.makespan - old.lst[x] for x in range(instance.n_operations)]
    row = next(row for row in after_move(rows, move) if u in row)
    places = [row.index(x) for x in next(r for r in rows if u in r)[slice(*_span(rows, u, v))]]
    segment = row[min(places) : max(places) + 1]
    last_job = set((instance.job_offset[1:] - 1).tolist())
    first_job = set(instance.job_offset[:-1].tolist())
    ready = end[row[min(places) - 1]] if min(places) > 0 else 0
    head = {}
    for x in segment:
        head[x] = max(ready, 0 if x in first_job else end[x - 1])
        ready = head[x] + int(instance.duration[x])
    after = tail[row[max(places) + 1]] if max(places) + 1 < len(row) else 0
    longest = 0
    for x in reversed(segment):
        after = max(after, 0 if x in last_job else tail[x + 1]) + int(instance.duration[x])
        longest = max(longest, head[x] + after)
    return longest


def _span(rows, u, v):
    row = next(row for row in rows if u in row)
    return row.index(u), row.index(v) + 1


@settings(deadline=None, max_examples=150)
@given(states())
def test_the_estimate_of_an_insertion_is_balas_and_vazacopoulos(case):
    instance, state = case
    rows = machine_orders(instance, state)
    for move in moves_of("n7", instance, state):
        u, v, forward = move
        assert estimate(state, np.uint32(u), np.uint32(v), forward) == slow_estimate(instance, state, rows, move)


def test_one_block_is_an_absorbing_state():
    instance = Instance.from_jobs([[(0, 3)], [(0, 4)], [(0, 5)]])
    state = new_state(instance, 0)
    set_order(state, np.arange(3, dtype=np.uint32))
    assert [moves_of(name, instance, state) for name in ("n5", "n6", "n7")] == [[], [], []]


@pytest.mark.parametrize("case", golden_cases(), ids=lambda case: getattr(case, "name", "absent"))
def test_n5_gives_the_moves_of_the_papers_authors(case):
    """Up to the undo of the last swap, which they leave out, on the path they happened to choose."""
    schedule = Schedule.from_machine_orders(case.instance, case.machine_orders)
    golden = {tuple(move) for move in case.moves.tolist()}
    found = set()
    for seed in range(200):
        state = new_state(case.instance, seed)
        set_order(state, schedule.linear_order.astype(np.uint32))
        offered = {(u, v) for u, v, _ in moves_of("n5", case.instance, state)}
        found.add((golden <= offered, len(offered - golden) if golden <= offered else -1))
    assert (True, 0) in found or (True, 1) in found
