"""Many trajectories side by side, for training: the pieces of the search loop, once per trajectory of a batch.

States, moves and records are those of a search with one dimension more in front. All trajectories belong to
instances with the same number of operations.
"""

from __future__ import annotations

import numba

from heuristics.loop.kernels import BEST, EVENTS, STEP, Record, first_free, list_and_rate, take
from l2s_plugin.kernels.compile import kernel
from l2s_plugin.kernels.graph import fill_nodes
from l2s_plugin.kernels.move_rule import EVERYTHING, fill_common_features, fill_move_features, smallest_admissible
from l2s_plugin.kernels.moves import Moves
from l2s_plugin.kernels.state import State


def _taking(kind):
    """A function that takes the `kind` of trajectory `b` out of that of all, a view."""
    row = ", ".join(f"every.{name}[b]" for name in kind._fields)
    function = eval(f"lambda every, b: kind({row})", {"kind": kind})
    return numba.njit(inline="always")(function)  # without counting references, arrays cannot be returned


state_of, moves_of, record_of = _taking(State), _taking(Moves), _taking(Record)


@kernel
def list_batch(states, moves, records, rules, neighbourhood, counts, admissible):
    """List and rate the moves of all trajectories; returns the first one with an impossible move, or -1."""
    for b in range(counts.shape[0]):
        count, number = list_and_rate(
            neighbourhood, state_of(states, b), moves_of(moves, b), record_of(records, b), rules
        )
        if number < 0:
            return b
        counts[b] = count
        admissible[b] = number
    return -1


@kernel
def advance_batch(states, moves, records, rules, counts, chosen, improved, decreased):
    """Take the chosen row of each trajectory. -1 chooses none: the host lets a step pass, or takes the move that is
    free first. Fills by how much the incumbent improved and the makespan decreased.

    Returns the first trajectory whose move closes a cycle, or -1.
    """
    for b in range(counts.shape[0]):
        state, move, record = state_of(states, b), moves_of(moves, b), record_of(records, b)
        before, best = state.makespan[0], record.counters[BEST]
        row = chosen[b]
        if row < 0 and counts[b] > 0 and not rules.wait:
            row = first_free(move, counts[b])
        if row < 0:
            record.counters[STEP] += 1
        elif not take(state, move, row, record, rules):
            return b
        record.counters[EVENTS] = 0
        improved[b] = best - record.counters[BEST]
        decreased[b] = before - state.makespan[0]
    return -1


@kernel
def observe_graphs(states, moves, counts, trajectory, rows, per_duration, nodes, neighbours, features):
    """Inputs of a network over graphs: operations (B, n, ...), their neighbours, all features of the moves (M, ...).

    `trajectory` and `rows` say where each of the M moves is.
    """
    count, n = nodes.shape[0], nodes.shape[1]
    for b in range(count):
        fill_nodes(state_of(states, b), per_duration[b], nodes[b], neighbours[b], b * n, count * n)
    for i in range(rows.shape[0]):
        b, row = trajectory[i], rows[i]
        state, move = state_of(states, b), moves_of(moves, b)
        if i == 0 or trajectory[i - 1] != b:
            smallest = smallest_admissible(move, counts[b])
        fill_common_features(state, move, counts[b], per_duration[b], features[i])
        fill_move_features(state, move, row, per_duration[b], smallest, EVERYTHING, features[i])
