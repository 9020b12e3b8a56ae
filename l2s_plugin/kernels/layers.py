"""Layers of the policy network over a batch of graphs, forward and back, for training on a CPU.

Nodes of all graphs stand one below the other, p numbers each. Products of matrices are left to BLAS, everything
between them is here, graph by graph, so that it stays in the cache. Loops are kept short, with few arrays each: LLVM
has to prove that these do not overlap before it vectorises.

Shapes: N nodes, G graphs, J jobs of all graphs, h heads of w numbers each, p = h w in all.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from l2s_plugin.kernels.compile import kernel
from l2s_plugin.kernels.dense import SLOPE, elu, exp, float_kernel, leaky, sigmoid

_ZERO, _HALF, _ONE = (np.float32(value) for value in (0.0, 0.5, 1.0))


class Links(NamedTuple):
    """Who precedes whom in a batch, int64; see `l2s_plugin.policy.graph.GraphBatch`. Graph g has the nodes from
    `offset[g]` on; its last one is O_T, preceded by `job_end` from `end_offset[g]` on."""

    offset: NDArray[np.int64]  # (G + 1)
    job_pred: NDArray[np.int64]  # (N), the node itself where there is none
    machine_pred: NDArray[np.int64]  # (N), likewise
    job_end: NDArray[np.int64]  # (J)
    end_offset: NDArray[np.int64]  # (G + 1)


@kernel
def _shares(node, job, machine, mean):
    """With what weight a node adds its own message and those of its predecessors; see `aggregate`."""
    first = _ONE if job != node else _ZERO
    second = _ONE if machine != node else _ZERO
    own = _ONE
    if mean:
        share = _ONE / (_ONE + first + second)
        own, first, second = _ONE + share, first * share, second * share
    return own, first, second


@float_kernel
def aggregate(links, mean, message, constant, out, means, spreads):
    """out = each node's message plus those of its predecessors, or the mean over them and itself (eq. 2).

    To every message (N, p) belongs the `constant` (p). Also fills the mean (G, p) of each graph's rows, and the sum of
    squares of their differences from it.
    """
    p = message.shape[1]
    for g in range(links.offset.shape[0] - 1):
        begin, end = links.offset[g], links.offset[g + 1] - 1
        for x in range(begin, end):
            job, machine = links.job_pred[x], links.machine_pred[x]
            own, one, two = _shares(x, job, machine, mean)
            total = own + one + two
            for j in range(p):
                out[x, j] = (
                    own * message[x, j] + one * message[job, j] + two * message[machine, j] + total * constant[j]
                )
        jobs = links.end_offset[g + 1] - links.end_offset[g]
        share = _ONE / np.float32(jobs + 1) if mean else _ONE
        own = _ONE + share if mean else _ONE
        total = own + share * np.float32(jobs)
        for j in range(p):
            out[end, j] = own * message[end, j] + total * constant[j]
        for k in range(links.end_offset[g], links.end_offset[g + 1]):
            x = links.job_end[k]
            for j in range(p):
                out[end, j] += share * message[x, j]
        _mean_and_spread(out, begin, end + 1, means[g], spreads[g])


@float_kernel
def _mean_and_spread(x, begin, end, mean, spread):
    p = x.shape[1]
    mean[:] = _ZERO
    spread[:] = _ZERO
    for i in range(begin, end):
        for j in range(p):
            mean[j] += x[i, j]
    share = _ONE / np.float32(end - begin)
    for j in range(p):
        mean[j] *= share
    for i in range(begin, end):
        for j in range(p):
            difference = x[i, j] - mean[j]
            spread[j] += difference * difference


@float_kernel
def rectify(links, x, line, out, means):
    """out = max(0, x line[0] + line[1]), and the mean (G, p) of each graph's rows of it."""
    p = x.shape[1]
    for g in range(links.offset.shape[0] - 1):
        begin, end = links.offset[g], links.offset[g + 1]
        mean = means[g]
        mean[:] = _ZERO
        for i in range(begin, end):
            for j in range(p):
                out[i, j] = max(x[i, j] * line[0, j] + line[1, j], _ZERO)
            for j in range(p):
                mean[j] += out[i, j]
        share = _ONE / np.float32(end - begin)
        for j in range(p):
            mean[j] *= share


@float_kernel
def rectify_back(links, x, line, standard, mean_gradient, gradient, sums):
    """From the gradient of what `rectify` gives to that of `x line[0] + line[1]`, in place.

    `mean_gradient` (G, p) is that of the means. `standard` (2, p) makes x standard, mean 0 and deviation 1; `sums`
    (G, 2, p) becomes the sum over the graph of the gradient, and of the gradient times the standard x.
    """
    p = x.shape[1]
    for g in range(links.offset.shape[0] - 1):
        begin, end = links.offset[g], links.offset[g + 1]
        share, of_mean, plain, weighted = _ONE / np.float32(end - begin), mean_gradient[g], sums[g, 0], sums[g, 1]
        plain[:] = _ZERO
        weighted[:] = _ZERO
        for i in range(begin, end):
            for j in range(p):
                d = gradient[i, j] + share * of_mean[j]
                gradient[i, j] = d if x[i, j] * line[0, j] + line[1, j] > _ZERO else _ZERO
            for j in range(p):
                plain[j] += gradient[i, j]
            for j in range(p):
                weighted[j] += gradient[i, j] * (x[i, j] * standard[0, j] + standard[1, j])


@float_kernel
def aggregate_back(links, mean, x, line, gradient, out, sums):
    """From the gradient of what is normalised to that of the messages (N, p), and their sums (G, p) over each graph.

    Batch normalisation first, in place: gradient <- line[0] gradient + line[1] x + line[2].
    """
    p = x.shape[1]
    for g in range(links.offset.shape[0] - 1):
        begin, end = links.offset[g], links.offset[g + 1] - 1
        for i in range(begin, end + 1):
            for j in range(p):
                gradient[i, j] = line[0, j] * gradient[i, j] + line[1, j] * x[i, j] + line[2, j]
        jobs = links.end_offset[g + 1] - links.end_offset[g]
        share = _ONE / np.float32(jobs + 1) if mean else _ONE
        for i in range(begin, end):
            own, _, _ = _shares(i, links.job_pred[i], links.machine_pred[i], mean)
            for j in range(p):
                out[i, j] = own * gradient[i, j]
        for j in range(p):
            out[end, j] = gradient[end, j] * (_ONE + share if mean else _ONE)
        for i in range(begin, end):
            job, machine = links.job_pred[i], links.machine_pred[i]
            _, one, two = _shares(i, job, machine, mean)
            for j in range(p):
                out[job, j] += one * gradient[i, j]
            for j in range(p):
                out[machine, j] += two * gradient[i, j]
        for k in range(links.end_offset[g], links.end_offset[g + 1]):
            x_end = links.job_end[k]
            for j in range(p):
                out[x_end, j] += share * gradient[end, j]
        total = sums[g]
        total[:] = _ZERO
        for i in range(begin, end + 1):
            for j in range(p):
                total[j] += out[i, j]


@kernel
def _leaky_slope(x):
    return _ONE if x > _ZERO else SLOPE


@float_kernel
def _elu_slope(x):
    return _ONE if x > _ZERO else exp(min(x, _ZERO))


@float_kernel
def attend(links, message, vectors, bias, logits, shares, out, means):
    """out (N, h, w) = mean of the two graph attention layers, each after ELU (eq. 4-6); its mean (G, h, w) per graph.

    `message` (N, 2, h, w) is that along job arcs and that along machine arcs, `bias` (2, h, w) belongs to both.
    `vectors` (4, h, w) give a node's attention as a job predecessor and as the one that attends, and the same for
    machines, which is kept in `logits` (N, 4, h). `shares` (J, h) are kept, too: how O_T shares its attention between
    the last operations; what remains is its own.
    """
    heads, width = out.shape[1], out.shape[2]
    for g in range(links.offset.shape[0] - 1):
        begin, end, mean = links.offset[g], links.offset[g + 1] - 1, means[g]
        for x in range(begin, end + 1):
            for side in range(4):
                for h in range(heads):
                    logits[x, side, h] = _product(message[x, side // 2, h], vectors[side, h])
        for x in range(begin, end):
            job, machine = links.job_pred[x], links.machine_pred[x]
            for h in range(heads):
                to, like = _gate(logits, job, x, 0, h), _gate(logits, machine, x, 2, h)
                for j in range(width):
                    a, b = message[x, 0, h, j], message[x, 1, h, j]
                    a += to * (message[job, 0, h, j] - a) + bias[0, h, j]
                    b += like * (message[machine, 1, h, j] - b) + bias[1, h, j]
                    out[x, h, j] = _HALF * (elu(a) + elu(b))
        _share_attention_of_end(g, links, logits, shares)
        for h in range(heads):
            _end_message(g, links, message, bias, shares, h, mean[h])
            for j in range(width):
                out[end, h, j] = _HALF * (elu(mean[h, j]) + elu(message[end, 1, h, j] + bias[1, h, j]))
        mean[:] = _ZERO
        share = _ONE / np.float32(end + 1 - begin)
        for x in range(begin, end + 1):
            for h in range(heads):
                _add(share, out[x, h], mean[h])


@float_kernel
def _product(a, b):
    total = _ZERO
    for j in range(a.shape[0]):
        total += a[j] * b[j]
    return total


@float_kernel
def _add(factor, a, total):
    for j in range(a.shape[0]):
        total[j] += factor * a[j]


@float_kernel
def _gate(logits, pred, x, side, h):
    """Attention to the predecessor instead of the node itself: the softmax of two is a sigmoid of their difference."""
    to = logits[x, side + 1, h]
    return sigmoid(leaky(logits[pred, side, h] + to) - leaky(logits[x, side, h] + to))


@float_kernel
def _share_attention_of_end(g, links, logits, shares):
    """Softmax of the attention that O_T pays to the last operations and to itself."""
    end = links.offset[g + 1] - 1
    for h in range(logits.shape[2]):
        to = logits[end, 1, h]
        own = leaky(logits[end, 0, h] + to)
        highest = own
        for k in range(links.end_offset[g], links.end_offset[g + 1]):
            highest = max(highest, leaky(logits[links.job_end[k], 0, h] + to))
        total = exp(own - highest)
        for k in range(links.end_offset[g], links.end_offset[g + 1]):
            shares[k, h] = exp(leaky(logits[links.job_end[k], 0, h] + to) - highest)
            total += shares[k, h]
        for k in range(links.end_offset[g], links.end_offset[g + 1]):
            shares[k, h] /= total


@float_kernel
def _end_message(g, links, message, bias, shares, h, out):
    """What O_T gets along the job arcs (w), bias included."""
    end, own = links.offset[g + 1] - 1, _ONE
    out[:] = _ZERO
    _add(_ONE, bias[0, h], out)
    for k in range(links.end_offset[g], links.end_offset[g + 1]):
        own -= shares[k, h]
        _add(shares[k, h], message[links.job_end[k], 0, h], out)
    _add(own, message[end, 0, h], out)


@float_kernel
def attend_back(graphs, rows, links, message, vectors, bias, logits, shares, gradient, out, slopes, sums, work):
    """From the gradient of what `attend` gives to that of the messages, for some of the graphs.

    `graphs` (A) says which, `rows` (A + 1) where each begins in `gradient` (of `attend`'s out) and in `out` (that of
    the messages). `slopes` (rows, 4, h) becomes the gradient of the logits, `sums` (A, 6, h, w) that of `vectors` and
    `bias`, graph by graph. `work` (A, 2, h, w).
    """
    heads, width = bias.shape[1], bias.shape[2]
    for a in range(graphs.shape[0]):
        g = graphs[a]
        begin, end = links.offset[g], links.offset[g + 1] - 1
        shift = rows[a] - begin  # from a node to its row
        sums[a] = _ZERO
        out[rows[a] : rows[a + 1]] = _ZERO
        slopes[rows[a] : rows[a + 1]] = _ZERO
        for x in range(begin, end + 1):
            i, job, machine = x + shift, links.job_pred[x], links.machine_pred[x]
            for h in range(heads):
                da, db = work[a, 0, h], work[a, 1, h]
                to, like = _gate(logits, job, x, 0, h), _gate(logits, machine, x, 2, h)
                if x == end:
                    _end_message(g, links, message, bias, shares, h, da)
                else:
                    for j in range(width):
                        own = message[x, 0, h, j]
                        da[j] = own + to * (message[job, 0, h, j] - own) + bias[0, h, j]
                for j in range(width):
                    da[j] = _HALF * gradient[i, h, j] * _elu_slope(da[j])
                for j in range(width):
                    own = message[x, 1, h, j]
                    b = own + like * (message[machine, 1, h, j] - own) + bias[1, h, j]
                    db[j] = _HALF * gradient[i, h, j] * _elu_slope(b)
                if x == end:
                    _end_back(g, shift, links, message, logits, shares, h, da, out, slopes)
                else:
                    _mix_back(x, job, shift, 0, h, to, message, logits, da, out, slopes)
                _mix_back(x, machine, shift, 2, h, like, message, logits, db, out, slopes)
                _add(_ONE, da, sums[a, 4, h])
                _add(_ONE, db, sums[a, 5, h])
        for x in range(begin, end + 1):
            for side in range(4):
                for h in range(heads):
                    slope = slopes[x + shift, side, h]
                    _add(slope, vectors[side, h], out[x + shift, side // 2, h])
                    _add(slope, message[x, side // 2, h], sums[a, side, h])


@float_kernel
def _mix_back(x, pred, shift, side, h, gate, message, logits, gradient, out, slopes):
    """Through the mixture of a node's own message and that of its predecessor, and through the gate."""
    own, other = message[x, side // 2, h], message[pred, side // 2, h]
    i, k = x + shift, pred + shift
    _add(_ONE - gate, gradient, out[i, side // 2, h])
    _add(gate, gradient, out[k, side // 2, h])
    of_gate = _ZERO
    for j in range(own.shape[0]):
        of_gate += gradient[j] * (other[j] - own[j])
    of_gate *= gate * (_ONE - gate)
    to = logits[x, side + 1, h]
    there = of_gate * _leaky_slope(logits[pred, side, h] + to)
    here = of_gate * _leaky_slope(logits[x, side, h] + to)
    slopes[k, side, h] += there
    slopes[i, side, h] -= here
    slopes[i, side + 1, h] += there - here


@float_kernel
def _end_back(g, shift, links, message, logits, shares, h, gradient, out, slopes):
    """Through the softmax by which O_T attends to the last operations and to itself."""
    end = links.offset[g + 1] - 1
    to = logits[end, 1, h]
    own, expected = _ONE, _ZERO
    for k in range(links.end_offset[g], links.end_offset[g + 1]):
        own -= shares[k, h]
        expected += shares[k, h] * _product(gradient, message[links.job_end[k], 0, h])
    worth = _product(gradient, message[end, 0, h])
    expected += own * worth
    _add(own, gradient, out[end + shift, 0, h])
    slope = own * (worth - expected) * _leaky_slope(logits[end, 0, h] + to)
    slopes[end + shift, 0, h] += slope
    slopes[end + shift, 1, h] += slope
    for k in range(links.end_offset[g], links.end_offset[g + 1]):
        x = links.job_end[k]
        _add(shares[k, h], gradient, out[x + shift, 0, h])
        worth = _product(gradient, message[x, 0, h])
        slope = shares[k, h] * (worth - expected) * _leaky_slope(logits[x, 0, h] + to)
        slopes[x + shift, 0, h] += slope
        slopes[end + shift, 1, h] += slope
