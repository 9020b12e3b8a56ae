"""Slow, obvious twins of the move kernels, over machine orders as plain lists."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import strategies as st

from l2s_plugin.instance import Instance
from l2s_plugin.kernels.critical_path import find_critical_path
from l2s_plugin.kernels.moves import Moves, new_moves
from l2s_plugin.kernels.state import State, new_state, set_order
from l2s_plugin.registry import default_registry
from l2s_plugin.specs import NeighbourhoodSpec
from tests.l2s_plugin.evaluator.oracle import longest_paths
from tests.strategies import dated_instances, instances, linear_orders

Move = tuple[int, int, bool]
NAMES = ["n1", "n4", "n5", "n6", "n7"]


@st.composite
def states(draw: Any, dated: bool = False, **shape: Any) -> tuple[Instance, State]:
    """An instance with a random feasible schedule, as the kernels hold it."""
    instance = draw((dated_instances if dated else instances)(**shape))
    state = new_state(instance, draw(st.integers(0, 2**32)))
    set_order(state, draw(linear_orders(instance)).astype(np.uint32))
    return instance, state


def blocks_of(state: State) -> list[list[int]]:
    """Longest runs of the critical path that follow each other directly on a machine."""
    blocks: list[list[int]] = []
    for x in state.path[: state.path_length[0]].tolist():
        if blocks and state.machine_succ[blocks[-1][-1]] == x:
            blocks[-1].append(x)
        else:
            blocks.append([x])
    return blocks


def machine_orders(instance: Instance, state: State) -> list[list[int]]:
    """Read the machine orders off the links, and check that both directions agree."""
    n = instance.n_operations
    rows = []
    for machine in range(instance.n_machines):
        members = [x for x in range(n) if instance.machine[x] == machine]
        row = [x for x in members if state.machine_pred[x] == n]
        assert len(row) == min(1, len(members))
        while row and state.machine_succ[row[-1]] != n:
            following = int(state.machine_succ[row[-1]])
            assert state.machine_pred[following] == row[-1]
            row.append(following)
        assert sorted(row) == members
        rows.append(row)
    return rows


def after_move(rows: list[list[int]], move: Move) -> list[list[int]]:
    """The machine orders after a move."""
    u, v, forward = move
    result = []
    for row in rows:
        if u in row:
            x, anchor = (u, v) if forward else (v, u)
            row = [y for y in row if y != x]
            row.insert(row.index(anchor) + (1 if forward else 0), x)
        result.append(row)
    return result


def flat(rows: list[list[int]]) -> np.ndarray:
    return np.array([x for row in rows for x in row], np.int32)


def makespan_of(instance: Instance, rows: list[list[int]]) -> int | None:
    """Makespan by longest paths in networkx; None for a cycle."""
    times = longest_paths(instance, flat(rows))
    return None if times is None else times.makespan


def assert_consistent(instance: Instance, state: State) -> None:
    """Links, linear order, ends, tails and makespan all describe the same schedule."""
    n = instance.n_operations
    rows = machine_orders(instance, state)
    times = longest_paths(instance, flat(rows))
    assert times is not None
    assert state.makespan[0] == times.makespan
    assert (state.end[:n] - instance.duration).tolist() == times.est
    assert (times.makespan - state.tail[:n]).tolist() == times.lst
    assert sorted(state.order.tolist()) == list(range(n))
    assert [state.position[x] for x in state.order] == list(range(n))
    for row in [
        *rows,
        *(list(range(a, b)) for a, b in zip(instance.job_offset, instance.job_offset[1:], strict=False)),
    ]:
        places = [state.position[x] for x in row]
        assert places == sorted(places)
    assert (state.duration[n], state.end[n], state.tail[n], state.position[n]) == (0, 0, 0, n)


def moves_of(name: str, instance: Instance, state: State, same_path: bool = False) -> list[Move]:
    """What a registered neighbourhood offers, on a fresh critical path or on the one already found."""
    neighbourhood = default_registry().create(NeighbourhoodSpec, name)
    moves = new_moves(4 * instance.n_operations + 16)
    if not same_path:
        find_critical_path(state)
    count = neighbourhood.kernel(state, moves)
    return rows_of(moves, count)


def rows_of(moves: Moves, count: int) -> list[Move]:
    return [(int(moves.u[i]), int(moves.v[i]), bool(moves.forward[i])) for i in range(count)]
