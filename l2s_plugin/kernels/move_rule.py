"""A policy that looks at the moves alone: a weighted sum of a few numbers about each, compiled.

A step of the compiled search takes a microsecond or two, so only the moves that come close to the best estimate are
scored, in float32, with weights and work space in one array, `parameters`, laid out by
`l2s_plugin.policy.moves.scorer`.
"""

from __future__ import annotations

import numpy as np

from l2s_plugin.kernels.compile import kernel
from l2s_plugin.kernels.dense import exp, float_kernel
from l2s_plugin.kernels.move_features import N_MOVE_FEATURES
from l2s_plugin.kernels.move_features import MoveFeature as Feature
from l2s_plugin.kernels.moves import NO_LIMIT, paths
from l2s_plugin.selectors import score_kernel

# Features that cost something, by what they are computed from. Where a policy has no use for any of a group, they are
# left out.
RECENCY, SHAPE, DURATIONS, BEFORE_IN_JOB, AFTER_IN_JOB, ON_MACHINE, MOVED, INCUMBENT, PATHS, DRAWN_TO = (
    1 << k for k in range(10)
)
EVERYTHING = (1 << 10) - 1
FEATURE_GROUPS = {
    RECENCY: (Feature.RECENCY_4, Feature.RECENCY_16, Feature.RECENCY_64, Feature.RECENCY_512, Feature.RETURNS),
    SHAPE: (Feature.PLACE, Feature.FORWARD, Feature.PASSED),
    DURATIONS: (Feature.DURATION_U, Feature.DURATION_V),
    BEFORE_IN_JOB: (Feature.SLACK_BEFORE_U, Feature.SLACK_BEFORE_V),
    AFTER_IN_JOB: (Feature.SLACK_AFTER_U, Feature.SLACK_AFTER_V),
    ON_MACHINE: (Feature.SLACK_BEFORE_ON_MACHINE, Feature.SLACK_AFTER_ON_MACHINE),
    MOVED: (Feature.MOVED_16_U, Feature.MOVED_16_V, Feature.MOVED_128_U, Feature.MOVED_128_V),
    INCUMBENT: (Feature.AS_INCUMBENT,),
    PATHS: (Feature.SHORTER_PATH,),
    DRAWN_TO: (Feature.AS_DRAWN_TO,),
}

# The beginning of `parameters`
PER_DURATION, MARGIN, GROUPS = range(3)
RULE = 16  # the rule and its two drifts, `ROW` apart
ROW = 32
_PRESENT = RULE + 3 * ROW  # room for the rule of the moment,
_FEATURES = _PRESENT + ROW  # and the features of a move
SIZE = _FEATURES + ROW

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
def fill_common_features(state, moves, count, per_duration, features):
    """What all moves of a state have in common."""
    since = np.float32(state.progress[0] - state.progress[2])
    number = 0
    for row in range(count):
        number += moves.admissible[row]
    above = np.float32(state.makespan[0] - state.progress[1])
    features[Feature.GAP] = min(above * per_duration, np.float32(8.0)) * _HALF
    features[Feature.AGE] = since / (since + np.float32(200.0))
    features[Feature.CHOICES] = np.float32(min(number, 32)) / np.float32(16.0)


@float_kernel
def fill_move_features(state, moves, row, per_duration, smallest, groups, features):
    """Everything else about one move, but for features of other groups than those asked for."""
    makespan, value = state.makespan[0], moves.value[row]
    u, v = moves.u[row], moves.v[row]
    features[Feature.CHANGE] = min(max(np.float32(value - makespan) * per_duration, -_MOST), _MOST)
    features[Feature.ABOVE_BEST] = min(np.float32(value - smallest) * per_duration, _MOST)
    if groups & RECENCY:
        idle = np.float32(max(moves.idle[row], 0))
        features[Feature.RECENCY_4] = exp(idle * np.float32(-0.25))
        features[Feature.RECENCY_16] = exp(idle * np.float32(-0.0625))
        features[Feature.RECENCY_64] = exp(idle * np.float32(-0.015625))
        features[Feature.RECENCY_512] = np.float32(512.0) / (np.float32(512.0) + idle)
        times = np.float32(moves.returns[row])
        features[Feature.RETURNS] = times / (times + np.float32(4.0))
    if groups & SHAPE:
        features[Feature.PLACE] = np.float32(state.end[u]) / np.float32(max(makespan, 1))
        features[Feature.FORWARD] = _ONE if moves.forward[row] else _ZERO
        passed = 0
        x = u
        while x != v and passed < 6:
            passed += 1
            x = state.machine_succ[x]
        features[Feature.PASSED] = np.float32(passed) * np.float32(0.25)
    if groups & DURATIONS:
        features[Feature.DURATION_U] = np.float32(state.duration[u]) * per_duration
        features[Feature.DURATION_V] = np.float32(state.duration[v]) * per_duration
    if groups & BEFORE_IN_JOB:
        features[Feature.SLACK_BEFORE_U] = _slack(state, state.job_pred[u], per_duration)
        features[Feature.SLACK_BEFORE_V] = _slack(state, state.job_pred[v], per_duration)
    if groups & AFTER_IN_JOB:
        features[Feature.SLACK_AFTER_U] = _slack(state, state.job_succ[u], per_duration)
        features[Feature.SLACK_AFTER_V] = _slack(state, state.job_succ[v], per_duration)
    if groups & ON_MACHINE:
        features[Feature.SLACK_BEFORE_ON_MACHINE] = _slack(state, state.machine_pred[u], per_duration)
        features[Feature.SLACK_AFTER_ON_MACHINE] = _slack(state, state.machine_succ[v], per_duration)
    if groups & MOVED:
        since_u = np.float32(state.progress[0] - state.moved[u])
        since_v = np.float32(state.progress[0] - state.moved[v])
        features[Feature.MOVED_16_U] = np.float32(16.0) / (np.float32(16.0) + since_u)
        features[Feature.MOVED_16_V] = np.float32(16.0) / (np.float32(16.0) + since_v)
        features[Feature.MOVED_128_U] = np.float32(128.0) / (np.float32(128.0) + since_u)
        features[Feature.MOVED_128_V] = np.float32(128.0) / (np.float32(128.0) + since_v)
    if groups & INCUMBENT:
        features[Feature.AS_INCUMBENT] = _ONE if state.best_position[u] > state.best_position[v] else _ZERO
    if groups & PATHS:
        own, others = paths(state, u, v, moves.forward[row])
        features[Feature.SHORTER_PATH] = min(max(np.float32(min(own, others) - makespan) * per_duration, -_MOST), _MOST)
    if groups & DRAWN_TO:
        features[Feature.AS_DRAWN_TO] = _ONE if state.drawn_to[u] > state.drawn_to[v] else _ZERO


@float_kernel
def score_near_moves(state, moves, count, parameters, scores):
    """Score the admissible moves whose value is within the margin of the best; -inf for the others."""
    per_duration, groups = parameters[PER_DURATION], int(parameters[GROUPS])
    rule, gap_drift, age_drift = parameters[RULE:], parameters[RULE + ROW :], parameters[RULE + 2 * ROW :]
    present, features = parameters[_PRESENT:], parameters[_FEATURES:]
    smallest = smallest_admissible(moves, count)
    limit = smallest + np.int64(parameters[MARGIN] / per_duration)
    fill_common_features(state, moves, count, per_duration, features)
    for i in range(N_MOVE_FEATURES):
        present[i] = rule[i] + features[Feature.GAP] * gap_drift[i] + features[Feature.AGE] * age_drift[i]
    for row in range(count):
        if not moves.admissible[row] or moves.value[row] > limit:
            scores[row] = -np.inf
            continue
        fill_move_features(state, moves, row, per_duration, smallest, groups, features)
        score = _ZERO
        for i in range(N_MOVE_FEATURES):
            score += features[i] * present[i]
        scores[row] = score


@score_kernel
def score_moves(state, moves, count, parameters, scores):
    """The scoring function of the selector."""
    score_near_moves(state, moves, count, parameters, scores)
