"""The policy network's forward pass over the state of a search, compiled: no Python, no allocation, no GIL.

Node x is operation x; n, which stands for "none" in the state, is the dummy start, n + 1 the dummy end. Weights and
work space lie in one float32 array, `parameters`, laid out by `l2s_plugin.policy.tpm_cam.scorer` in the order in which
they are taken here; its first entries are the sizes. Every piece begins in a new cache line, else wide loads cross
from one into the next, which takes half the speed.
"""

from __future__ import annotations

import numba
import numpy as np

from l2s_plugin.kernels.compile import kernel
from l2s_plugin.kernels.dense import elu, exp, float_kernel, leaky, mean_rows, sigmoid, standardise_rows, tanh
from l2s_plugin.kernels.matmul import add_product, product
from l2s_plugin.kernels.state import HALT

HEADER = 16
ALIGN = 16
_PART = 2048  # rows
_WIDTH, _LAYERS, _HEADS, _TPM, _CAM, _MEAN, _BATCH, _ACTION, _ACTION_LAYERS, _SCALED, _CAM_COLUMNS = range(11)
_ZERO, _HALF, _ONE = np.float32(0.0), np.float32(0.5), np.float32(1.0)


@numba.njit(inline="always")  # without counting references, arrays cannot be returned
def matrix(parameters, at, rows, columns):
    """The matrix that begins at `at`, a view."""
    return parameters[at : at + rows * columns].reshape((rows, columns))


@kernel
def after(at, size):
    """Where the next piece begins after one of `size` numbers at `at`."""
    return (at + size + ALIGN - 1) // ALIGN * ALIGN


@kernel
def _product(state, a, b, start, out):
    """The product over all operations, in parts: the end of a run does not wait for all of them."""
    for first in range(0, a.shape[0], _PART):
        if state.progress[HALT] != 0:
            return
        last = min(first + _PART, a.shape[0])
        product(a[first:last], b, start, out[first:last])


@float_kernel
def score_pairs(state, u, v, count, parameters, scores):
    """Score of the moves (u[i], v[i]), i < count, into `scores`: h'_u . h'_v (paper, section 4.2).

    Returns between two layers, without scores, when the run is over.
    """
    if count == 0:
        return
    p, layers, q = int(parameters[_WIDTH]), int(parameters[_LAYERS]), int(parameters[_ACTION])
    tpm, cam = int(parameters[_TPM]), int(parameters[_CAM])
    columns = int(parameters[_CAM_COLUMNS])
    n = state.order.shape[0]
    nodes = n + 2
    slots = _list_candidates(state, u, v, count)

    at = HEADER
    parts = layers * tpm + cam
    action_node, at = matrix(parameters, at, parts * p, q), after(at, parts * p * q)
    action_graph, at = matrix(parameters, at, parts * p, q), after(at, parts * p * q)
    action_layers = int(parameters[_ACTION_LAYERS])
    action_weight, at = matrix(parameters, at, action_layers * q, q), after(at, action_layers * q * q)
    action_bias, at = matrix(parameters, at, action_layers + 1, q), after(at, (action_layers + 1) * q)
    weights = at
    at += tpm * (after(0, 3 * p) + (layers - 1) * after(0, p * p) + layers * after(0, 3 * p))
    at += cam * ((3 + (layers - 1) * p) * columns + layers * (columns + after(0, 2 * p)))
    features, at = matrix(parameters, at, nodes, 3), after(at, nodes * 3)
    x, at = matrix(parameters, at, nodes, p), after(at, nodes * p)
    work, at = matrix(parameters, at, 8, p), after(at, 8 * p)
    graph, at = matrix(parameters, at, 1, q), after(at, q)
    latent, at = matrix(parameters, at, slots, q), after(at, n * q)
    spare, at = matrix(parameters, at, slots, q), after(at, n * q)
    products = at

    _fill_features(state, features, parameters[_SCALED] > 0)
    for j in range(q):
        graph[0, j] = action_bias[0, j]
    latent[:] = _ZERO
    part = 0
    at = weights
    if tpm:
        message = matrix(parameters, products, nodes, p)
        for k in range(layers):
            if state.progress[HALT] != 0:
                return
            rows = p if k else 3
            weight, at = matrix(parameters, at, rows, p), after(at, rows * p)
            vectors, at = matrix(parameters, at, 3, p), after(at, 3 * p)  # constant, scale and shift of the norm
            _product(state, x if k else features, weight, vectors[0], message)
            _aggregate(state, message, x, parameters[_MEAN] > 0)
            if parameters[_BATCH] > 0:
                standardise_rows(x, vectors[1], vectors[2], work)
                _rectify(x, work[0:2])
            else:
                _rectify(x, vectors[1:3])
            _collect(state, x, part, action_node, action_graph, slots, latent, graph, work)
            part += 1
    if cam:
        message = matrix(parameters, products, nodes, columns)
        for k in range(layers):
            if state.progress[HALT] != 0:
                return
            rows = p if k else 3
            weight, at = matrix(parameters, at, rows, columns), at + rows * columns
            nothing, at = parameters[at : at + columns], at + columns
            bias, at = matrix(parameters, at, 2, p), after(at, 2 * p)
            _product(state, x if k else features, weight, nothing, message)
            _attend(state, message, bias, x, int(parameters[_HEADS]), work)
        _collect(state, x, part, action_node, action_graph, slots, latent, graph, work)

    for i in range(slots):
        for j in range(q):
            latent[i, j] = tanh(latent[i, j] + graph[0, j])
    for layer in range(action_layers):
        weight = action_weight[layer * q : (layer + 1) * q]
        product(latent, weight, action_bias[layer + 1], spare)
        latent, spare = spare, latent
        if layer < action_layers - 1:
            for i in range(slots):
                for j in range(q):
                    latent[i, j] = tanh(latent[i, j])
    for i in range(count):
        a, b = state.times[u[i]], state.times[v[i]]
        total = _ZERO
        for j in range(q):
            total += latent[a, j] * latent[b, j]
        scores[i] = total


@kernel
def _list_candidates(state, u, v, count):
    """Number the operations of the moves: the slot of each in `state.times`, slot by slot in `state.window`."""
    slot, operations = state.times, state.window
    for i in range(count):
        slot[u[i]] = -1
        slot[v[i]] = -1
    slots = 0
    for i in range(count):
        for x in (u[i], v[i]):
            if slot[x] < 0:
                slot[x] = slots
                operations[slots] = x
                slots += 1
    return slots


@kernel
def _fill_features(state, features, scaled):
    """Processing time, earliest and latest start of every node (paper, section 4.1, appendix B)."""
    n = state.order.shape[0]
    unit = 1.0
    if scaled:
        longest = 0
        for x in range(n):
            longest = max(longest, state.duration[x])
        if longest > 0:
            unit = 99.0 / longest
    makespan = state.makespan[0]
    for x in range(n):
        features[x, 0] = state.duration[x] * (unit / 99.0)
        features[x, 1] = (state.end[x] - state.duration[x]) * (unit / 1000.0)
        features[x, 2] = (makespan - state.tail[x]) * (unit / 1000.0)
    features[n] = _ZERO
    features[n + 1, 0] = _ZERO
    features[n + 1, 1:3] = np.float32(makespan * (unit / 1000.0))


@float_kernel
def _aggregate(state, message, out, mean):
    """Each node's message, plus those of its predecessors or the mean over them and itself (eq. 2)."""
    n = state.order.shape[0]
    p = message.shape[1]
    for x in range(n):
        job, machine = state.job_pred[x], state.machine_pred[x]
        second = _ONE
        if machine == n:
            machine, second = x, _ZERO
        own, first = _ONE, _ONE
        if mean:
            first = _ONE / (np.float32(2.0) + second)
            own, second = _ONE + first, second * first
        for j in range(p):
            out[x, j] = own * message[x, j] + first * message[job, j] + second * message[machine, j]
    for j in range(p):
        out[n, j] = message[n, j] * (np.float32(2.0) if mean else _ONE)
        out[n + 1, j] = message[n + 1, j]
    for x in state.job_last:
        for j in range(p):
            out[n + 1, j] += message[x, j]
    if mean:
        share = _ONE / np.float32(state.job_last.shape[0] + 1)
        for j in range(p):
            out[n + 1, j] = message[n + 1, j] + out[n + 1, j] * share


@float_kernel
def _rectify(x, line):
    """x = max(0, x * line[0] + line[1]), column by column."""
    n, p = x.shape
    for i in range(n):
        for j in range(p):
            x[i, j] = max(x[i, j] * line[0, j] + line[1, j], _ZERO)


@float_kernel
def _attend(state, message, bias, out, heads, work):
    """Mean of the two graph attention layers, each after ELU (eq. 4-6).

    Among one predecessor and the node itself, the softmax of attention is the sigmoid of a difference.
    """
    n = state.order.shape[0]
    nodes, p = out.shape
    width = p // heads
    _attend_end(state, message, heads, work)
    for x in range(nodes):
        job, machine = x, x  # the dummies by now have only themselves to attend to
        if x < n:
            job = np.int64(state.job_pred[x])
            if state.machine_pred[x] != n:
                machine = np.int64(state.machine_pred[x])
        for h in range(heads):
            at = 2 * p + h
            to = message[x, at + heads]
            g = sigmoid(leaky(message[job, at] + to) - leaky(message[x, at] + to))
            at += 2 * heads
            to = message[x, at + heads]
            f = sigmoid(leaky(message[machine, at] + to) - leaky(message[x, at] + to))
            one, two = slice(h * width, (h + 1) * width), slice(p + h * width, p + (h + 1) * width)
            _mix(
                g, message[x, one], message[job, one], bias[0, one],
                f, message[x, two], message[machine, two], bias[1, one], out[x, one],
            )  # fmt: skip


@float_kernel
def _mix(g, own_job, job, job_bias, f, own_machine, machine, machine_bias, out):
    """Mean of two mixtures of a node's own message and that of a predecessor, each after ELU.

    Over rows of their own: with indices that might be negative, for all the compiler knows, nothing is vectorised.
    """
    for j in range(out.shape[0]):
        a = own_job[j] + g * (job[j] - own_job[j]) + job_bias[j]
        b = own_machine[j] + f * (machine[j] - own_machine[j]) + machine_bias[j]
        out[j] = _HALF * (elu(a) + elu(b))


@float_kernel
def _attend_end(state, message, heads, work):
    """Replace the dummy end's job message by the mean, weighted by attention, over the last operations and itself."""
    end = state.order.shape[0] + 1
    p = work.shape[1]
    width = p // heads
    for h in range(heads):
        source = 2 * p + h
        to = message[end, source + heads]
        highest = leaky(message[end, source] + to)
        for x in state.job_last:
            highest = max(highest, leaky(message[x, source] + to))
        share = exp(leaky(message[end, source] + to) - highest)
        total = share
        for j in range(h * width, (h + 1) * width):
            work[0, j] = share * message[end, j]
        for x in state.job_last:
            share = exp(leaky(message[x, source] + to) - highest)
            total += share
            for j in range(h * width, (h + 1) * width):
                work[0, j] += share * message[x, j]
        for j in range(h * width, (h + 1) * width):
            message[end, j] = work[0, j] / total


@float_kernel
def _collect(state, x, part, action_node, action_graph, slots, latent, graph, work):
    """Add what the nodes `x` mean to the action network's first layer: the graph's mean, and the candidates."""
    p = x.shape[1]
    mean_rows(x, work[0], work[1])
    rows = slice(part * p, (part + 1) * p)
    add_product(work[0:1], action_graph[rows], graph)
    for i in range(slots):
        node = np.int64(state.window[i])
        add_product(x[node : node + 1], action_node[rows], latent[i : i + 1])
