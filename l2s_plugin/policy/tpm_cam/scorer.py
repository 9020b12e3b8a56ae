"""Policies over graphs, for searches: on the CPU with weights, rearranged, and work space as the compiled kernel wants
them; on other devices by the reference network.

Between two non-linear steps everything is linear, and aggregating over predecessors commutes with a product from the
other side. So the second layer of each MLP_T and the first layer of the next one are one matrix; embeddings mu_V^k need
not be formed, for they enter the action network, and the graph's mean, linearly. The attention scores are products with
the same input as the messages. Done in float64, once per policy. docs/policy-network.md derives it.

Matrices act on rows from the right; K layers, p = width, q = action_width, h = heads.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from l2s_plugin.devices import check_device
from l2s_plugin.errors import L2SError
from l2s_plugin.instance import Instance
from l2s_plugin.kernels.state import State
from l2s_plugin.kernels.tpm_cam import ALIGN, HEADER, score_pairs
from l2s_plugin.policy.checkpoint import checked_weights
from l2s_plugin.policy.config import PolicyConfig
from l2s_plugin.policy.tpm_cam.graphs import state_of
from l2s_plugin.selectors import CompiledSelector, score_kernel

if TYPE_CHECKING:
    from l2s_plugin.policy.tpm_cam.network import PolicyNetwork

Scores = NDArray[np.float32]
Floats = NDArray[np.float64]
Weights = Mapping[str, Floats]

_NORM_EPS = 1e-5
_COLUMN_BLOCK = 16  # products with whole blocks of columns are faster


@score_kernel
def _score(state, moves, count, parameters, scores):  # type: ignore[no-untyped-def]
    score_pairs(state, moves.u, moves.v, count, parameters, scores)


class PaperScorer:
    """Scores of candidate moves by a policy over graphs, for one state or many.

    On `device` "cpu" by the compiled network; on one in torch's words ("cuda", "cpu:0", ...) by the reference, whose
    scores agree to float32 rounding.
    """

    def __init__(self, config: PolicyConfig, weights: Mapping[str, Any], device: str = "cpu") -> None:
        weights = checked_weights(config, weights, "policy")
        self._network: CompiledNetwork | PolicyNetwork
        if device == "cpu":
            self._network = CompiledNetwork(config, weights)
        else:
            check_device(device)
            from l2s_plugin.policy.tpm_cam.network import PolicyNetwork

            self._network = PolicyNetwork.trained(config, weights, device)

    def selector(self, name: str, sample: bool) -> CompiledSelector | None:
        """The selector for the compiled gear, where there is one."""
        if not isinstance(self._network, CompiledNetwork):
            return None
        return CompiledSelector(name, _score, sample=sample, parameters=self._network.parameters)

    def scores_batch(self, states: Sequence[Any], moves: Sequence[Any]) -> list[NDArray[np.float32]]:
        """Scores of the moves, `Moves` or arrays (u, v), of each state, a `StateView`, `State` or `Schedule`."""
        if len(states) != len(moves):
            raise L2SError(f"{len(states)} states but moves for {len(moves)}")
        return self._network.scores([state_of(state) for state in states], moves)


class CompiledNetwork:
    """The network as one float32 array of weights and work space, for `l2s_plugin.kernels.tpm_cam`.

    One array belongs to one thread at a time: searches that run side by side take one each from `parameters`.
    """

    def __init__(self, config: PolicyConfig, weights: Mapping[str, NDArray[Any]]) -> None:
        self.config = config
        w = {name: np.asarray(weight, np.float64) for name, weight in weights.items()}
        header = np.zeros(HEADER)
        header[:11] = (
            config.width, config.layers, config.heads, config.has_tpm, config.has_cam, config.aggregation == "mean",
            config.normalisation == "batch", config.action_width, config.action_layers,
            config.features == "scaled", _cam_columns(config),
        )  # fmt: skip
        pieces = [header, *_action(config, w)]
        for k in range(config.layers if config.has_tpm else 0):
            pieces += _tpm(config, w, k)
        for k in range(config.layers if config.has_cam else 0):
            pieces += _cam(config, w, k)
        self._weights = np.concatenate([_whole_lines(piece) for piece in pieces])
        self._idle: list[tuple[int, Scores]] = []  # work spaces, and for how many operations each is large enough

    def parameters(self, instance: Instance) -> Scores:
        """A fresh array for searches on `instance` (see `CompiledSelector.parameters`)."""
        return self._allocate(instance.n_operations)

    def _allocate(self, n: int) -> Scores:
        p, q = self.config.width, self.config.action_width
        columns = _cam_columns(self.config) if self.config.has_cam else p
        sizes = ((n + 2) * 3, (n + 2) * p, 8 * p, q, n * q, n * q, (n + 2) * columns)
        work = sum(size + ALIGN for size in sizes)
        array = np.zeros(len(self._weights) + work + ALIGN, np.float32)  # only touched pages take memory
        array = array[-(array.ctypes.data // 4) % ALIGN :]
        array[: len(self._weights)] = self._weights
        return array

    def scores(self, states: Sequence[State], moves: Sequence[Any]) -> list[Scores]:
        """Scores of the moves, (u, v, ...) arrays of operations, of every state; threads may call this at the same time
        for states of their own."""
        pairs = ([np.ascontiguousarray(each, np.uint32) for each in pair[:2]] for pair in moves)
        return [self._scores(state, u, v) for state, (u, v) in zip(states, pairs, strict=True)]

    def _scores(self, state: State, u: NDArray[np.uint32], v: NDArray[np.uint32]) -> Scores:
        n = len(state.order)
        if u.shape != v.shape or u.ndim != 1:
            raise L2SError(f"moves must be two arrays of the same length, got shapes {u.shape} and {v.shape}")
        if max(u.max(initial=0), v.max(initial=0)) >= n:
            raise L2SError(f"moves must be pairs of operations from 0 to {n - 1}")
        try:
            room, work = self._idle.pop()
        except IndexError:
            room = -1
        if room < n:
            room, work = n, self._allocate(n)
        scores = np.empty(len(u))
        score_pairs(state, u, v, len(u), work, scores)
        self._idle.append((room, work))
        return scores.astype(np.float32)


def _tpm(config: PolicyConfig, w: Weights, k: int) -> list[Floats]:
    """With r^k the hidden layer k after the rectifier, r^0 the features: r^(k+1) = relu(norm(aggregate(r^k @ M + c))).

    M (3 or p, p), then c, and what to multiply with and to add in the norm: after standardising the numbers by
    themselves for normalisation "batch", directly for "running".
    """
    at, before = f"tpm.layers.{k}", f"tpm.layers.{k - 1}.linear2"
    inner = w[f"{at}.linear1.weight"]
    matrix, constant = inner, np.zeros(config.width)
    if k:
        matrix, constant = inner @ w[f"{before}.weight"], inner @ w[f"{before}.bias"]
    scale, shift = w[f"{at}.norm.weight"], w[f"{at}.norm.bias"]
    if config.normalisation == "running":
        scale = scale / np.sqrt(w[f"{at}.norm.running_var"] + _NORM_EPS)
        shift = shift + scale * (w[f"{at}.linear1.bias"] - w[f"{at}.norm.running_mean"])
    return [matrix.T, np.concatenate((constant, scale, shift))]


def _cam(config: PolicyConfig, w: Weights, k: int) -> list[Floats]:
    """nu^k @ M holds the job message (p), the machine message (p), then for each of the two the attention of a node as
    a predecessor (h) and as the one that attends (h), then zeros. M, a row of zeros, and the bias of both parts."""
    p, h = config.width, config.heads
    parts = [f"cam.layers.{k}.{arcs}" for arcs in ("job", "machine")]
    messages = [w[f"{at}.lin.weight"] for at in parts]
    attention = [
        np.einsum("hc,hcf->hf", w[f"{at}.{side}"][0], message.reshape(h, p // h, -1))
        for at, message in zip(parts, messages, strict=True)
        for side in ("att_src", "att_dst")
    ]
    matrix = np.vstack((*messages, *attention))
    columns = _cam_columns(config)
    matrix = np.vstack((matrix, np.zeros((columns - len(matrix), matrix.shape[1]))))
    return [matrix.T, np.zeros(columns), np.concatenate([w[f"{at}.bias"] for at in parts])]


def _cam_columns(config: PolicyConfig) -> int:
    return -(-(2 * config.width + 4 * config.heads) // _COLUMN_BLOCK) * _COLUMN_BLOCK


def _action(config: PolicyConfig, w: Weights) -> list[Floats]:
    """What acts on (r^1 : ... : r^K : nu^K), of a node and averaged over all nodes; then the matrices (q, q) of the
    following layers, and all biases (q). A block's second layer and the next block's first are one."""
    p, width = config.width, config.embedding_width
    first, bias = w["action.layers.0.weight"], w["action.layers.0.bias"].copy()
    sides: list[Floats] = []
    for columns in (first[:, :width], first[:, width:]):
        rows = []
        for k in range(config.layers if config.has_tpm else 0):
            at = f"tpm.layers.{k}.linear2"
            rows.append((columns[:, :p] @ w[f"{at}.weight"]).T)
            bias += columns[:, :p] @ w[f"{at}.bias"]
        if config.has_cam:
            rows.append(columns[:, width - p :].T)
        sides.append(np.concatenate(rows))
    weights: list[Floats] = []
    biases = [bias]
    last = 2 * config.action_layers - 1
    for i in range(1, last + 1, 2):
        weight, bias = w[f"action.layers.{i}.weight"], w[f"action.layers.{i}.bias"]
        if i < last:
            after = w[f"action.layers.{i + 1}.weight"]
            weight, bias = after @ weight, after @ bias + w[f"action.layers.{i + 1}.bias"]
        weights.append(weight.T)
        biases.append(bias)
    return [*sides, np.concatenate(weights), np.concatenate(biases)]


def _whole_lines(piece: NDArray[np.float64]) -> Scores:
    flat = piece.ravel().astype(np.float32)
    return np.pad(flat, (0, -len(flat) % ALIGN))
