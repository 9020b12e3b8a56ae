"""A network over what lies around the candidate moves, compiled; `l2s_plugin.policy.graph.network` is easier to read.

Messages go to both sides of every arc, and nothing is summed over the whole graph, so a score depends on the operations
up to `layers` arcs away from the two that are swapped. Only those are embedded: a step costs the same in a large shop.
Weights and work space are one array, `parameters`, laid out by `l2s_plugin.policy.graph.scorer`.
"""

from __future__ import annotations

import numpy as np

from l2s_plugin.kernels.compile import kernel
from l2s_plugin.kernels.dense import float_kernel
from l2s_plugin.kernels.matmul import product
from l2s_plugin.kernels.move_features import ARC_FEATURES, N_ARC_FEATURES, N_NODE_FEATURES
from l2s_plugin.kernels.move_rule import INCUMBENT, RECENCY, SHAPE, fill_common_features, fill_move_features
from l2s_plugin.kernels.state import HALT
from l2s_plugin.kernels.tpm_cam import after, matrix
from l2s_plugin.selectors import score_kernel

ARC_GROUPS = RECENCY | SHAPE | INCUMBENT

# The beginning of `parameters`
PER_DURATION, WIDTH, HIDDEN, LAYERS, HEAD = range(5)
HEADER = 16
ROWS = 64  # that go through a layer at a time

_ARCS = np.array(ARC_FEATURES)
_FAR = np.float32(4.0)
_EPS = np.float32(1e-5)
_ZERO, _ONE = np.float32(0.0), np.float32(1.0)


@float_kernel
def fill_node_features(state, x, per_duration, row):
    """What is known of an operation: times in mean durations, bounded, nothing that grows with the instance."""
    makespan, duration = state.makespan[0], state.duration[x]
    start = state.end[x] - duration
    slack = makespan - start - state.tail[x]
    after_own = state.tail[x] - duration
    row[0] = np.float32(duration) * per_duration
    row[1] = np.log1p(np.float32(slack) * per_duration)
    row[2] = _ONE if slack == 0 else _ZERO
    row[3] = min(np.float32(start - state.end[state.job_pred[x]]) * per_duration, _FAR)
    row[4] = min(np.float32(start - state.end[state.machine_pred[x]]) * per_duration, _FAR)
    row[5] = min(np.float32(after_own - state.tail[state.job_succ[x]]) * per_duration, _FAR)
    row[6] = min(np.float32(after_own - state.tail[state.machine_succ[x]]) * per_duration, _FAR)
    row[7] = np.float32(start) / np.float32(max(makespan, 1))
    since = np.float32(state.progress[0] - state.moved[x])
    row[8] = np.float32(16.0) / (np.float32(16.0) + since)
    row[9] = np.float32(128.0) / (np.float32(128.0) + since)


@kernel
def fill_nodes(state, per_duration, features, neighbours, first, none):
    """Inputs and neighbours of all operations; numbers begin at `first`."""
    n = state.order.shape[0]
    for x in range(n):
        fill_node_features(state, x, per_duration, features[x])
        around = (state.job_pred[x], state.machine_pred[x], state.job_succ[x], state.machine_succ[x])
        for place, y in enumerate(around):
            neighbours[x, place] = first + y if y != n else none


@float_kernel
def fill_arc_features(state, moves, row, per_duration, work, features):
    """What the host remembers of a move, and its shape; `work` holds all features of a move for a moment, and those
    that all moves have in common (`fill_common_features`) before."""
    fill_move_features(state, moves, row, per_duration, np.int64(0), ARC_GROUPS, work)
    for k in range(N_ARC_FEATURES):
        features[k] = work[_ARCS[k]]


@kernel
def _number(state, x, count):
    """Give an operation a slot, unless it has one; returns how many have."""
    slot = state.times[x]
    if 0 <= slot < count and state.window[slot] == x:
        return count
    state.times[x] = count
    state.window[count] = x
    return count + 1


@kernel
def number_surroundings(state, moves, count, layers, counts):
    """Slots for the operations of the moves, then for those around them; counts[k] are at most k arcs away."""
    n = state.order.shape[0]
    total = 0
    for i in range(count):
        if moves.admissible[i]:
            total = _number(state, moves.u[i], total)
            total = _number(state, moves.v[i], total)
    counts[0] = total
    first = 0
    for k in range(layers):
        last = total
        for i in range(first, last):
            x = state.window[i]
            for y in (state.job_pred[x], state.machine_pred[x], state.job_succ[x], state.machine_succ[x]):
                if y != n:
                    total = _number(state, y, total)
        counts[k + 1] = total
        first = last


@float_kernel
def _normalise(h, scale, shift, out):
    """Each row with mean 0 and deviation 1, then scaled and shifted."""
    rows, width = h.shape
    for i in range(rows):
        mean = _ZERO
        for j in range(width):
            mean += h[i, j]
        mean /= np.float32(width)
        variance = _ZERO
        for j in range(width):
            d = h[i, j] - mean
            variance += d * d
        factor = _ONE / np.sqrt(variance / np.float32(width) + _EPS)
        for j in range(width):
            out[i, j] = (h[i, j] - mean) * factor * scale[j] + shift[j]


@float_kernel
def _rectify(x):
    rows, columns = x.shape
    for i in range(rows):
        for j in range(columns):
            x[i, j] = max(x[i, j], _ZERO)


@float_kernel
def _gather(state, x, first, last, out):
    """Beside each other: an operation, its job and machine predecessors and successors; zeros where there is none."""
    n, width = state.order.shape[0], x.shape[1]
    for i in range(first, last):
        own = state.window[i]
        place = 0
        for y in (own, state.job_pred[own], state.machine_pred[own], state.job_succ[own], state.machine_succ[own]):
            if y == n:
                for j in range(width):
                    out[i - first, place + j] = _ZERO
            else:
                slot = state.times[y]
                for j in range(width):
                    out[i - first, place + j] = x[slot, j]
            place += width


@float_kernel
def score_surroundings(state, moves, count, parameters, scores):
    """Scores of the admissible moves; returns between two layers, without scores, when the run is over."""
    per_duration = parameters[PER_DURATION]
    width, hidden = int(parameters[WIDTH]), int(parameters[HIDDEN])
    layers, head = int(parameters[LAYERS]), int(parameters[HEAD])
    n = state.order.shape[0]
    pair = 2 * width + N_ARC_FEATURES
    at = HEADER
    embed, at = matrix(parameters, at, N_NODE_FEATURES, width), after(at, N_NODE_FEATURES * width)
    embed_bias, at = parameters[at : at + width], after(at, width)
    weights = at
    at += layers * (2 * after(0, width) + after(0, 5 * width * hidden) + after(0, hidden) + after(0, hidden * width))
    at += layers * after(0, width)
    first_head, at = matrix(parameters, at, pair, head), after(at, pair * head)
    head_bias, at = parameters[at : at + head], after(at, head)
    last_head, at = parameters[at : at + head + 1], after(at, head + 1)
    counts, at = parameters[at : at + layers + 1], after(at, layers + 1)
    features, at = matrix(parameters, at, ROWS, N_NODE_FEATURES), after(at, ROWS * N_NODE_FEATURES)
    around, at = matrix(parameters, at, ROWS, 5 * width), after(at, ROWS * 5 * width)
    message, at = matrix(parameters, at, ROWS, hidden), after(at, ROWS * hidden)
    change, at = matrix(parameters, at, ROWS, width), after(at, ROWS * width)
    pairs, at = matrix(parameters, at, ROWS, pair), after(at, ROWS * pair)
    latent, at = matrix(parameters, at, ROWS, head), after(at, ROWS * head)
    all_features, at = parameters[at : at + 32], after(at, 32)
    h, at = matrix(parameters, at, n, width), after(at, n * width)
    x = matrix(parameters, at, n, width)

    number_surroundings(state, moves, count, layers, counts)
    nodes = int(counts[layers])
    for first in range(0, nodes, ROWS):
        last = min(first + ROWS, nodes)
        for i in range(first, last):
            fill_node_features(state, state.window[i], per_duration, features[i - first])
        product(features[: last - first], embed, embed_bias, h[first:last])
    at = weights
    for k in range(layers):
        if state.progress[HALT] != 0:
            return
        scale, at = parameters[at : at + width], after(at, width)
        shift, at = parameters[at : at + width], after(at, width)
        inward, at = matrix(parameters, at, 5 * width, hidden), after(at, 5 * width * hidden)
        inward_bias, at = parameters[at : at + hidden], after(at, hidden)
        outward, at = matrix(parameters, at, hidden, width), after(at, hidden * width)
        outward_bias, at = parameters[at : at + width], after(at, width)
        nodes = int(counts[layers - k])
        _normalise(h[:nodes], scale, shift, x)
        nodes = int(counts[layers - 1 - k])
        for first in range(0, nodes, ROWS):
            last = min(first + ROWS, nodes)
            rows = last - first
            _gather(state, x, first, last, around)
            product(around[:rows], inward, inward_bias, message[:rows])
            _rectify(message[:rows])
            product(message[:rows], outward, outward_bias, change[:rows])
            for i in range(rows):
                for j in range(width):
                    h[first + i, j] += change[i, j]
    fill_common_features(state, moves, count, per_duration, all_features)
    row = 0
    while row < count:
        rows, first = 0, row
        while row < count and rows < ROWS:
            if moves.admissible[row]:
                a, b = state.times[moves.u[row]], state.times[moves.v[row]]
                for j in range(width):
                    pairs[rows, j] = h[a, j]
                    pairs[rows, width + j] = h[b, j]
                fill_arc_features(state, moves, row, per_duration, all_features, pairs[rows, 2 * width :])
                rows += 1
            row += 1
        product(pairs[:rows], first_head, head_bias, latent[:rows])
        place = 0
        for i in range(first, row):
            scores[i] = -np.inf
            if moves.admissible[i]:
                total = last_head[head]
                for j in range(head):
                    total += max(latent[place, j], _ZERO) * last_head[j]
                scores[i] = total
                place += 1


@score_kernel
def score_moves(state, moves, count, parameters, scores):
    """The scoring function of the selector."""
    score_surroundings(state, moves, count, parameters, scores)
