"""A policy that looks at the moves alone: a weighted sum of a few numbers about each, compiled.

A step of the compiled search takes a microsecond or two, so only the moves that come close to the best estimate are
scored, in float32, with weights and work space in one array, `parameters`, laid out by
`l2s_plugin.policy.moves.scorer`.
"""

from __future__ import annotations

import numpy as np

from l2s_plugin.kernels.compile import kernel
from l2s_plugin.kernels.dense import exp, float_kernel
from l2s_plugin.kernels.moves import NO_LIMIT, paths
from l2s_plugin.selectors import score_kernel

# What the policy knows about a move; times in mean durations, everything bounded, nothing that grows with the instance.
MOVE_FEATURES = (
    "change of the makespan, estimated",
    "estimate above the best admissible one",
    "recency of what it brings back: e^(-idle / 4)",
    "e^(-idle / 16)",
    "e^(-idle / 64)",
    "512 / (512 + idle)",
    "makespan above the incumbent",
    "steps since the incumbent t: t / (t + 200)",
    "number of admissible moves",
    "where in the schedule: end of u / makespan",
    "forward",
    "operations moved past",
    "duration of u",
    "duration of v",
    "slack of u's job predecessor",
    "slack of u's job successor",
    "slack of v's job predecessor",
    "slack of v's job successor",
    "slack of u's machine predecessor",
    "slack of v's machine successor",
    "how often what it brings back was changed c: c / (c + 4)",
    "steps since u was moved t: 16 / (16 + t)",
    "steps since v was moved",
    "128 / (128 + t) for u",
    "128 / (128 + t) for v",
    "as in the incumbent: v before u",
    "the shorter of the two paths of the estimate, above the makespan",
)
N_MOVE_FEATURES = 27

# Features that cost something, by what they are computed from. Where a policy has no use for any of a group, they are
# left out.
RECENCY, SHAPE, DURATIONS, BEFORE_IN_JOB, AFTER_IN_JOB, ON_MACHINE, MOVED, INCUMBENT, PATHS = (1 << k for k in range(9))
EVERYTHING = (1 << 9) - 1
FEATURE_GROUPS = {
    RECENCY: (2, 3, 4, 5, 20), SHAPE: (9, 10, 11), DURATIONS: (12, 13), BEFORE_IN_JOB: (14, 16), AFTER_IN_JOB: (15, 17),
    ON_MACHINE: (18, 19), MOVED: (21, 22, 23, 24), INCUMBENT: (25,), PATHS: (26,),
}  # fmt: skip

# The beginning of `parameters`
PER_DURATION, MARGIN, GROUPS = range(3)
RULE = 16  # the rule and its two drifts, `ROW` apart
ROW = 32
_PRESENT = RULE + 3 * ROW  # room for the rule of the moment,
_FEATURES = _PRESENT + ROW  # the features of a move,
_COMMON = _FEATURES + ROW  # and what all moves have in common
SIZE = _COMMON + 16

_MOST = np.float32(3.0)
_SLACK = np.float32(4.0)
_HALF = np.float32(0.5)
_ZERO, _ONE = np.float32(0.0), np.float32(1.0)


@float_kernel
def _slack(state, x, per_duration):
    free = state.makespan[0] - (state.end[x] - state.duration[x] + state.tail[x])
    return min(np.float32(free) * per_duration, _SLACK) * _HALF


@kernel
def smallest_admissible(moves, count):
    """The smallest value of an admissible move."""
    smallest = np.int64(NO_LIMIT)
    for row in range(count):
        if moves.admissible[row]:
            smallest = min(smallest, np.int64(moves.value[row]))
    return smallest


@float_kernel
def fill_common_features(state, moves, count, per_duration, common):
    """What all moves have in common (3)."""
    since = np.float32(state.progress[0] - state.progress[2])
    number = 0
    for row in range(count):
        number += moves.admissible[row]
    above = np.float32(state.makespan[0] - state.progress[1])
    common[0] = min(above * per_duration, np.float32(8.0)) * _HALF
    common[1] = since / (since + np.float32(200.0))
    common[2] = np.float32(min(number, 32)) / np.float32(16.0)


@float_kernel
def fill_move_features(state, moves, row, per_duration, smallest, common, groups, features):
    """Everything about one move (27), but for features of other groups than those asked for; `common` is what
    `fill_common_features` filled."""
    makespan, value = state.makespan[0], moves.value[row]
    u, v = moves.u[row], moves.v[row]
    features[0] = min(max(np.float32(value - makespan) * per_duration, -_MOST), _MOST)
    features[1] = min(np.float32(value - smallest) * per_duration, _MOST)
    features[6] = common[0]
    features[7] = common[1]
    features[8] = common[2]
    if groups & RECENCY:
        idle = np.float32(max(moves.idle[row], 0))
        features[2] = exp(idle * np.float32(-0.25))
        features[3] = exp(idle * np.float32(-0.0625))
        features[4] = exp(idle * np.float32(-0.015625))
        features[5] = np.float32(512.0) / (np.float32(512.0) + idle)
        times = np.float32(moves.returns[row])
        features[20] = times / (times + np.float32(4.0))
    if groups & SHAPE:
        features[9] = np.float32(state.end[u]) / np.float32(max(makespan, 1))
        features[10] = _ONE if moves.forward[row] else _ZERO
        passed = 0
        x = u
        while x != v and passed < 6:
            passed += 1
            x = state.machine_succ[x]
        features[11] = np.float32(passed) * np.float32(0.25)
    if groups & DURATIONS:
        features[12] = np.float32(state.duration[u]) * per_duration
        features[13] = np.float32(state.duration[v]) * per_duration
    if groups & BEFORE_IN_JOB:
        features[14] = _slack(state, state.job_pred[u], per_duration)
        features[16] = _slack(state, state.job_pred[v], per_duration)
    if groups & AFTER_IN_JOB:
        features[15] = _slack(state, state.job_succ[u], per_duration)
        features[17] = _slack(state, state.job_succ[v], per_duration)
    if groups & ON_MACHINE:
        features[18] = _slack(state, state.machine_pred[u], per_duration)
        features[19] = _slack(state, state.machine_succ[v], per_duration)
    if groups & MOVED:
        since_u = np.float32(state.progress[0] - state.moved[u])
        since_v = np.float32(state.progress[0] - state.moved[v])
        features[21] = np.float32(16.0) / (np.float32(16.0) + since_u)
        features[22] = np.float32(16.0) / (np.float32(16.0) + since_v)
        features[23] = np.float32(128.0) / (np.float32(128.0) + since_u)
        features[24] = np.float32(128.0) / (np.float32(128.0) + since_v)
    if groups & INCUMBENT:
        features[25] = _ONE if state.best_position[u] > state.best_position[v] else _ZERO
    if groups & PATHS:
        own, others = paths(state, u, v, moves.forward[row])
        features[26] = min(max(np.float32(min(own, others) - makespan) * per_duration, -_MOST), _MOST)


@float_kernel
def score_near_moves(state, moves, count, parameters, scores):
    """Score the admissible moves whose value is within the margin of the best; -inf for the others."""
    per_duration, groups = parameters[PER_DURATION], int(parameters[GROUPS])
    rule, first_drift, second_drift = parameters[RULE:], parameters[RULE + ROW :], parameters[RULE + 2 * ROW :]
    present, features, common = parameters[_PRESENT:], parameters[_FEATURES:], parameters[_COMMON:]
    smallest = smallest_admissible(moves, count)
    limit = smallest + np.int64(parameters[MARGIN] / per_duration)
    fill_common_features(state, moves, count, per_duration, common)
    for i in range(N_MOVE_FEATURES):
        present[i] = rule[i] + common[0] * first_drift[i] + common[1] * second_drift[i]
    for row in range(count):
        if not moves.admissible[row] or moves.value[row] > limit:
            scores[row] = -np.inf
            continue
        fill_move_features(state, moves, row, per_duration, smallest, common, groups, features)
        score = _ZERO
        for i in range(N_MOVE_FEATURES):
            score += features[i] * present[i]
        scores[row] = score


@score_kernel
def score_moves(state, moves, count, parameters, scores):
    """The scoring function of the selector."""
    score_near_moves(state, moves, count, parameters, scores)
