"""Weights of a policy network, rearranged for inference: fewer products, the same scores.

Between two non-linear steps everything is linear, and aggregating over predecessors commutes with a product from the
other side. So the second layer of each MLP_T and the first layer of the next one are one matrix; embeddings mu_V^k need
not be formed, for they enter the action network, and the graph's mean, linearly. The attention scores are products with
the same input as the messages. Done in float64, once per policy. docs/policy-network.md derives it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from l2s_plugin.policy.config import PolicyConfig

Floats = NDArray[np.float64]

NORM_EPS = 1e-5
COLUMN_BLOCK = 16  # products with whole blocks of columns are faster


class Folded(NamedTuple):
    """Matrices act on rows from the right; K layers, p = width, q = action_width, h = heads.

    TPM, with r^k the hidden layer after the rectifier, r^0 the features:
    r^k = relu(norm(aggregate(r^(k-1) @ tpm_weight[k] + tpm_constant[k]))). `norm_scale` and `norm_shift` are what to
    multiply with and to add: after standardising the numbers by themselves for normalisation "batch", directly for
    "running". CAM: nu^(k-1) @ cam_weight[k] holds the job message (p), the machine message (p), then for each of the
    two the attention of a node as a predecessor (h) and as the one that attends (h), then zeros.
    `action_node` and `action_graph` act on (r^1 : ... : r^K : nu^K), of a node and averaged over all nodes.
    """

    tpm_weight: list[Floats]  # (3 or p, p)
    tpm_constant: list[Floats]  # (p)
    norm_scale: list[Floats]  # (p)
    norm_shift: list[Floats]  # (p)
    cam_weight: list[Floats]  # (3 or p, cam_columns)
    cam_bias: list[Floats]  # (2 p): of the job part, of the machine part
    action_node: Floats  # ((K + 1) p, q)
    action_graph: Floats  # ((K + 1) p, q)
    action_weight: list[Floats]  # (q, q), one fewer than products
    action_bias: list[Floats]  # (q), that of `action_node` first


def cam_columns(config: PolicyConfig) -> int:
    """Columns of `cam_weight`, a multiple of `COLUMN_BLOCK`."""
    return -(-(2 * config.width + 4 * config.heads) // COLUMN_BLOCK) * COLUMN_BLOCK


def fold(config: PolicyConfig, weights: Mapping[str, NDArray[Any]]) -> Folded:
    """Rearrange the weights of a `PolicyNetwork` (its `state_dict` as numpy arrays)."""
    w = {name: np.asarray(weight, np.float64) for name, weight in weights.items()}
    p, n_layers = config.width, config.layers
    tpm_weight, tpm_constant, norm_scale, norm_shift = [], [], [], []
    cam_weight, cam_bias = [], []
    outer, outer_bias = np.zeros((0, 0)), np.zeros(0)  # linear2 of the layer before
    width = config.embedding_width
    first = w["action.layers.0.weight"]
    node: list[Floats] = []
    graph: list[Floats] = []
    bias = w["action.layers.0.bias"].copy()
    for k in range(n_layers):
        if config.has_tpm:
            at = f"tpm.layers.{k}"
            inner = w[f"{at}.linear1.weight"]
            tpm_weight.append((inner @ outer if k else inner).T)
            tpm_constant.append(inner @ outer_bias if k else np.zeros(p))
            scale, shift = w[f"{at}.norm.weight"], w[f"{at}.norm.bias"]
            if config.normalisation == "running":
                scale = scale / np.sqrt(w[f"{at}.norm.running_var"] + NORM_EPS)
                shift = shift + scale * (w[f"{at}.linear1.bias"] - w[f"{at}.norm.running_mean"])
            norm_scale.append(scale)
            norm_shift.append(shift)
            outer, outer_bias = w[f"{at}.linear2.weight"], w[f"{at}.linear2.bias"]
            for part, columns in ((node, first[:, :p]), (graph, first[:, width : width + p])):
                part.append((columns @ outer).T)
                bias += columns @ outer_bias
        if config.has_cam:
            cam_weight.append(_cam_weight(config, w, k))
            cam_bias.append(np.concatenate([w[f"cam.layers.{k}.{arcs}.bias"] for arcs in ("job", "machine")]))
    if config.has_cam:
        node.append(first[:, width - p : width].T)
        graph.append(first[:, 2 * width - p :].T)
    action_weight, action_bias = _action(config, w, bias)
    return Folded(
        tpm_weight, tpm_constant, norm_scale, norm_shift, cam_weight, cam_bias,
        np.concatenate(node), np.concatenate(graph), action_weight, action_bias,
    )  # fmt: skip


def _cam_weight(config: PolicyConfig, w: Mapping[str, Floats], k: int) -> Floats:
    p, h = config.width, config.heads
    in_width = w[f"cam.layers.{k}.job.lin.weight"].shape[1]
    weight = np.zeros((cam_columns(config), in_width))
    for i, arcs in enumerate(("job", "machine")):
        at = f"cam.layers.{k}.{arcs}"
        message = w[f"{at}.lin.weight"]
        weight[i * p : (i + 1) * p] = message
        for j, side in enumerate(("att_src", "att_dst")):
            attention = w[f"{at}.{side}"][0]
            row = 2 * p + (2 * i + j) * h
            weight[row : row + h] = np.einsum("hc,hcf->hf", attention, message.reshape(h, p // h, in_width))
    return weight.T


def _action(config: PolicyConfig, w: Mapping[str, Floats], bias: Floats) -> tuple[list[Floats], list[Floats]]:
    """The layers after the first; a block's second layer and the next block's first are one."""
    q = config.action_width
    weights, biases = [], [bias]
    before, before_bias = np.eye(q), np.zeros(q)
    for i in range(1, 2 * config.action_layers):
        weight, bias = w[f"action.layers.{i}.weight"], w[f"action.layers.{i}.bias"]
        weight, bias = weight @ before, weight @ before_bias + bias
        if i % 2 == 1 and i + 1 < 2 * config.action_layers:
            before, before_bias = weight, bias
            continue
        weights.append(weight.T)
        biases.append(bias)
        before, before_bias = np.eye(q), np.zeros(q)
    return weights, biases
