"""What a move is worth: how low the makespan gets in the next steps, if a rule goes on after it.

A teacher for policies: for every admissible move of every trajectory, the move is made in a copy, and the rule of
weighted hints searches on from there, several times. A policy that learns to foresee the outcome need not try.
"""

from __future__ import annotations

import numba
import numpy as np

from heuristics.kernels import BEST, EVENTS, STEP, list_and_rate, pick, take
from heuristics.training.kernels import moves_of, record_of, state_of
from l2s_plugin.kernels.compile import kernel
from l2s_plugin.kernels.hints import add_hints
from l2s_plugin.kernels.random import integer
from l2s_plugin.kernels.state import State


@numba.njit(inline="always")  # without counting references, arrays cannot be returned
def _twin(state, room):
    """The instance of `state`, with the schedule in `room`."""
    return State(
        state.duration, state.machine, state.job_pred, state.job_succ, state.job_last, room.machine_pred,
        room.machine_succ, room.end, room.tail, room.order, room.position, room.path, room.path_length, room.makespan,
        room.progress, room.moved, room.best_position, room.times, room.window, room.saved, room.rng,
    )  # fmt: skip


@kernel
def _copy_schedule(source, target):
    n = source.order.shape[0]
    for x in range(n + 1):
        target.machine_pred[x] = source.machine_pred[x]
        target.machine_succ[x] = source.machine_succ[x]
        target.end[x] = source.end[x]
        target.tail[x] = source.tail[x]
        target.position[x] = source.position[x]
    for i in range(n):
        target.order[i] = source.order[i]
    target.makespan[0] = source.makespan[0]


@kernel
def _copy_memory(source, target):
    for i in range(source.forbidden.shape[0]):
        target.forbidden[i] = source.forbidden[i]
    target.counters[STEP] = source.counters[STEP]
    target.counters[BEST] = source.counters[BEST]
    target.counters[EVENTS] = 0


@kernel
def _follow_rule(state, moves, record, rules, neighbourhood, weights, steps):
    """Search on with the rule; returns the lowest makespan on the way."""
    lowest = state.makespan[0]
    for _ in range(steps):
        count, admissible = list_and_rate(neighbourhood, state, moves, record, rules)
        if count <= 0 or admissible < 0:
            return lowest
        record.counters[EVENTS] = 0
        if admissible == 0:
            record.counters[STEP] += 1
            continue
        for row in range(count):
            record.scores[row] = 0.0
        add_hints(moves, count, state.makespan[0], weights, record.scores)
        row = pick(moves, count, record.scores, True, state.rng)
        if row < 0 or not take(state, moves, row, record, rules):
            return lowest
        lowest = min(lowest, state.makespan[0])
    return lowest


@kernel
def look_ahead(
    states, moves, records, rules, neighbourhood, counts, weights, steps, repeats, room, room_moves, room_record, values
):
    """Fill `values`, one per admissible move in the order of observations: the mean of the lowest makespans."""
    at = 0
    for b in range(counts.shape[0]):
        state, move, record = state_of(states, b), moves_of(moves, b), record_of(records, b)
        twin = _twin(state, room)
        twin.rng[0] = np.uint64(integer(state.rng, 1 << 30))
        for row in range(counts[b]):
            if move.admissible[row]:
                total = 0.0
                for _ in range(repeats):
                    _copy_schedule(state, twin)
                    _copy_memory(record, room_record)
                    if take(twin, move, row, room_record, rules):
                        total += _follow_rule(twin, room_moves, room_record, rules, neighbourhood, weights[b], steps)
                    else:
                        total += state.makespan[0]
                values[at] = total / repeats
                at += 1
