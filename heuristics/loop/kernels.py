"""The compiled search loop: critical path, candidate moves, ratings, pick, apply, remember.

Local search and tabu search are this one loop under different `Rules`. The pieces are functions of their own, because
the Python gear calls the same ones around a selector written in Python.
"""

from __future__ import annotations

from typing import NamedTuple

import numba
import numpy as np
from numpy.typing import NDArray

from l2s_plugin.kernels.compile import kernel
from l2s_plugin.kernels.critical_path import find_path
from l2s_plugin.kernels.moves import NEVER, NO_LIMIT, apply, estimate, exact_value
from l2s_plugin.kernels.random import integer, random
from l2s_plugin.kernels.state import HALT, set_order


class Rules(NamedTuple):
    """What a host allows; scalars, so that one compilation serves all hosts."""

    tenure_low: int  # steps a reversed arc stays forbidden: from low ...
    tenure_high: int  # ... to high, drawn anew for each move
    aspiration: bool  # allow a forbidden move that promises a new incumbent
    wait: bool  # when every move is forbidden, let a step pass; otherwise take the one that is free first
    exact: bool  # rate moves by exact makespans, not estimates
    cutoff: int  # give up estimates that exceed the smallest by more than this
    sample: bool  # sample from softmax(scores), not the best
    temperature: float  # > 0: simulated annealing; a worse schedule is accepted with this temperature, ...
    cooling: float  # ... multiplied by this after each step


class Record(NamedTuple):
    """What the loop remembers: memory, incumbent, counters."""

    forbidden: NDArray[np.int64]  # hash table: arc -> first step at which it may come back, and how often it went
    best_order: NDArray[np.uint32]
    counters: NDArray[np.int64]
    events: NDArray[np.int64]  # rows (step, makespan), one per new incumbent
    recent: NDArray[np.uint32]  # the latest schedules, for restarts (no rows: no restarts)
    scores: NDArray[np.float64]
    temperature: NDArray[np.float64]


# places in Record.counters
STEP, BEST, BEST_STEP, EVENTS, STORED, RESTARTED, CULPRIT = range(7)

# an entry of Record.forbidden holds a step, and above it how often the arc was reversed
_STEP_BITS = 44
_STEP_MASK = (1 << _STEP_BITS) - 1
_MOST_REVERSALS = (1 << (63 - _STEP_BITS)) - 1  # from there on, nobody counts

# why the loop returned, or did not
BUDGET, TARGET, STALLED, ABSORBED, REFUSED, EVENTS_FULL, BAD_MOVE, BAD_SCORE, HALTED, WAITED, GO_ON = range(11)

FOREVER = 2**62  # a number of steps, or a makespan, that no run comes to


@kernel
def _slot(forbidden, a, b):
    """Where the table keeps the arc a -> b; two arcs may share a place, which forbids one too many now and then."""
    h = (np.uint32(a) * np.uint32(0x9E3779B1)) ^ (np.uint32(b) * np.uint32(0x85EBCA77))
    h ^= h >> np.uint32(15)
    return h & np.uint32(forbidden.shape[0] - 1)


@kernel
def _entry(state, forbidden, u, v, forward):
    """The first step at which the move is free, for it may bring back arcs that were reversed a short while ago; and
    how often they were reversed, the most for one of them."""
    until = np.int64(0)
    reversals = np.int64(0)
    x, end = (v, u) if forward else (u, v)
    while x != end:
        entry = forbidden[_slot(forbidden, x, end) if forward else _slot(forbidden, end, x)]
        until = max(until, entry & _STEP_MASK)
        reversals = max(reversals, entry >> _STEP_BITS)
        x = state.machine_pred[x] if forward else state.machine_succ[x]
    return until, reversals


@kernel
def _note_reversal(forbidden, a, b, until):
    slot = _slot(forbidden, a, b)
    reversals = min((forbidden[slot] >> _STEP_BITS) + 1, _MOST_REVERSALS)
    forbidden[slot] = (reversals << _STEP_BITS) | until


@kernel
def forbid_return(state, forbidden, u, v, forward, until):
    """Forbid the arcs that the move is about to reverse, before step `until`."""
    x, end = (v, u) if forward else (u, v)
    while x != end:
        _note_reversal(forbidden, end if forward else x, x if forward else end, until)
        x = state.machine_pred[x] if forward else state.machine_succ[x]


@kernel
def is_move(state, u, v):
    """Whether u stands before v on the same machine, as every other kernel takes for granted."""
    n = state.order.shape[0]
    return u < n and v < n and state.machine[u] == state.machine[v] and state.position[u] < state.position[v]


@kernel
def rate(state, moves, count, record, rules):
    """Fill value and admissible of every move; returns how many are admissible, or -1 - row for a bad move.

    Gives up, with moves left out, when the run is over: exact values of all moves may take seconds.
    """
    if not 0 <= count <= moves.u.shape[0]:
        return -1
    step, best = record.counters[STEP], record.counters[BEST]
    state.progress[0] = step
    state.progress[1] = best
    state.progress[2] = record.counters[BEST_STEP]
    admissible = 0
    smallest = np.int64(NO_LIMIT)
    far_ones_matter = record.recent.shape[0] > 0  # after a restart any admissible move may be taken
    for row in range(count):
        u, v, forward = moves.u[row], moves.v[row], moves.forward[row]
        if not is_move(state, u, v):
            return -1 - row
        if rules.exact:
            if state.progress[HALT] != 0:
                return admissible
            value = exact_value(state, u, v, forward)
            if value < 0:
                return -1 - row
        else:
            limit = min(smallest + rules.cutoff, NO_LIMIT)
            value = estimate(state, u, v, forward, limit)
            if value > limit and not far_ones_matter:
                moves.value[row] = value
                moves.admissible[row] = False
                continue
        until, reversals = _entry(state, record.forbidden, u, v, forward)
        moves.idle[row] = min(step - until, NEVER) if until > 0 else NEVER
        moves.returns[row] = reversals
        moves.value[row] = value
        moves.admissible[row] = until <= step or (rules.aspiration and value < best)
        if moves.admissible[row]:
            admissible += 1
            smallest = min(smallest, np.int64(value))
    return admissible


@kernel
def pick(moves, count, scores, sample, rng):
    """Row of the best admissible score, ties at random, or a sample; -1 when all are refused, -2 on a NaN."""
    best = -np.inf
    chosen = -1
    ties = 0
    for row in range(count):
        if moves.admissible[row]:
            score = scores[row]
            if score > best:
                best = score
                chosen = row
                ties = 1
            elif score == best:
                if ties > 0:
                    ties += 1
                    if not sample and integer(rng, ties) == 0:
                        chosen = row
            elif np.isnan(score):
                return -2
    if not sample or ties == 0:
        return chosen
    total = 0.0
    for row in range(count):
        if moves.admissible[row]:
            total += np.exp(scores[row] - best)
    threshold = random(rng) * total
    for row in range(count):
        if moves.admissible[row] and scores[row] > -np.inf:
            chosen = row
            threshold -= np.exp(scores[row] - best)
            if threshold < 0:
                break
    return chosen


@kernel
def first_free(moves, count):
    """The row of the move that is free first, when all are forbidden or the selector wants none."""
    chosen = 0
    for row in range(1, count):
        if moves.idle[row] > moves.idle[chosen]:
            chosen = row
    return chosen


@kernel
def note_incumbent(state, record):
    """Keep the current schedule if it is the best so far."""
    counters = record.counters
    if state.makespan[0] < counters[BEST]:
        counters[BEST] = state.makespan[0]
        counters[BEST_STEP] = counters[STEP]
        record.events[counters[EVENTS], 0] = counters[STEP]
        record.events[counters[EVENTS], 1] = state.makespan[0]
        counters[EVENTS] += 1
        for i in range(state.order.shape[0]):
            record.best_order[i] = state.order[i]
            state.best_position[state.order[i]] = i


@kernel
def store_recent(state, record):
    """Put the current schedule into the memory of the latest ones, if there is one."""
    capacity = record.recent.shape[0]
    if capacity > 0:
        row = record.counters[STORED] % capacity
        for i in range(state.order.shape[0]):
            record.recent[row, i] = state.order[i]
        record.counters[STORED] += 1


@kernel
def restart(state, record):
    """Go back to one of the latest schedules (paper, appendix D); False when there is no memory of them."""
    stored = min(record.counters[STORED], record.recent.shape[0])
    if stored == 0:
        return False
    row = integer(state.rng, stored)
    for i in range(state.order.shape[0]):
        state.saved[i] = record.recent[row, i]
    set_order(state, state.saved)
    record.counters[STEP] += 1
    record.counters[RESTARTED] = 1
    return True


@kernel
def leave_the_old_way(moves, count, row, record, rng):
    """The row to take: any admissible one right after a restart, for the selector would go the same way again."""
    if record.counters[RESTARTED] == 0:
        return row
    record.counters[RESTARTED] = 0
    seen = 0
    for other in range(count):
        if moves.admissible[other]:
            seen += 1
            if integer(rng, seen) == 0:
                row = other
    return row


@kernel
def take(state, moves, row, record, rules):
    """Make the move (annealing may decline a worsening one), count the step, remember; False on a cycle."""
    counters = record.counters
    u, v, forward = moves.u[row], moves.v[row], moves.forward[row]
    temperature = record.temperature[0]
    accept = True
    if temperature > 0.0:
        worse = moves.value[row] - state.makespan[0]
        accept = worse <= 0 or random(state.rng) < np.exp(-worse / temperature)
        record.temperature[0] = temperature * rules.cooling
    if accept:
        if rules.tenure_high > 0:
            tenure = rules.tenure_low + integer(state.rng, rules.tenure_high - rules.tenure_low + 1)
            forbid_return(state, record.forbidden, u, v, forward, counters[STEP] + 1 + tenure)
        if not apply(state, u, v, forward):
            return False
        state.moved[u] = state.moved[v] = counters[STEP]
    counters[STEP] += 1
    note_incumbent(state, record)
    store_recent(state, record)
    return True


@kernel
def list_and_rate(neighbourhood, state, moves, record, rules):
    """Find a critical path and rate the moves it offers; returns their count and the answer of `rate`."""
    find_path(state)
    count = neighbourhood(state, moves)
    return count, rate(state, moves, count, record, rules)


@kernel
def score_moves(score, state, moves, count, parameters, scores):
    """Call a scoring function (from Python, through its compiled form)."""
    score(state, moves, count, parameters, scores)


@kernel
def limit_reached(counters, event_rows, until_step, target, patience):
    """Why no further step is due, or `GO_ON`."""
    if counters[BEST] <= target:
        return TARGET
    if counters[STEP] >= until_step:
        return BUDGET
    if counters[STEP] - counters[BEST_STEP] >= patience:
        return STALLED
    return EVENTS_FULL if counters[EVENTS] == event_rows else GO_ON


@kernel
def look_at_moves(progress, counters, wait, count, admissible):
    """What the answers of `list_and_rate` mean: `GO_ON` to select, a step that passed without a move, or an end."""
    if progress[HALT] != 0:
        return HALTED
    if admissible < 0:
        counters[CULPRIT] = -1 - admissible
        return BAD_MOVE
    if count == 0:
        return ABSORBED
    if admissible == 0 and wait:
        counters[STEP] += 1
        return WAITED
    return GO_ON


@numba.njit(inline="always")  # a call would cost a tenth of a step
def _finish_step(state, moves, count, admissible, row, record, rules):
    """Take the move that was picked, or what there is instead of one; the reason to return, or `GO_ON`."""
    if state.progress[HALT] != 0:
        return HALTED
    if row == -2:
        return BAD_SCORE
    if admissible > 0:
        row = leave_the_old_way(moves, count, row, record, state.rng)
        if row < 0 and restart(state, record):
            return GO_ON
    if row < 0:
        if rules.wait:
            return REFUSED
        row = first_free(moves, count)
    if not take(state, moves, row, record, rules):
        record.counters[CULPRIT] = row
        return BAD_MOVE
    return GO_ON


@kernel
def finish_step(state, moves, count, admissible, row, record, rules):
    """The same for callers in Python."""
    return _finish_step(state, moves, count, admissible, row, record, rules)


@kernel
def search_steps(state, moves, record, rules, neighbourhood, score, parameters, until_step, target, patience):
    """Step until the step counter reaches `until_step`, or a reason to return comes first."""
    while True:
        reason = limit_reached(record.counters, record.events.shape[0], until_step, target, patience)
        if reason != GO_ON:
            return reason
        count, admissible = list_and_rate(neighbourhood, state, moves, record, rules)
        reason = look_at_moves(state.progress, record.counters, rules.wait, count, admissible)
        if reason == GO_ON:
            row = -1
            if admissible > 0:
                score(state, moves, count, parameters, record.scores)
                row = pick(moves, count, record.scores, rules.sample, state.rng)
            reason = _finish_step(state, moves, count, admissible, row, record, rules)
        if reason != GO_ON and reason != WAITED:
            return reason
