"""The graph network for searches on a CPU: weights and work space as the compiled kernel wants them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from l2s_plugin.errors import L2SError
from l2s_plugin.instance import Instance
from l2s_plugin.kernels.graph_network import ALIGN, GATHER_ROWS, HEADER, score_pairs
from l2s_plugin.kernels.state import State
from l2s_plugin.policy.config import PolicyConfig
from l2s_plugin.policy.graph.folding import cam_columns, fold

Scores = NDArray[np.float32]


class CompiledNetwork:
    """The network as one float32 array of weights and work space, for `l2s_plugin.kernels.graph_network`.

    One array belongs to one thread at a time: searches that run side by side take one each from `parameters`.
    """

    def __init__(self, config: PolicyConfig, weights: Mapping[str, NDArray[Any]]) -> None:
        self.config = config
        folded = fold(config, weights)
        header = np.zeros(HEADER)
        header[:11] = (
            config.width, config.layers, config.heads, config.has_tpm, config.has_cam, config.aggregation == "mean",
            config.normalisation == "batch", config.action_width, len(folded.action_weight),
            config.features == "scaled", cam_columns(config),
        )  # fmt: skip
        pieces = [
            header, folded.action_node, folded.action_graph,
            np.concatenate(folded.action_weight), np.concatenate(folded.action_bias),
        ]  # fmt: skip
        for weight, *vectors in zip(
            folded.tpm_weight, folded.tpm_constant, folded.norm_scale, folded.norm_shift, strict=True
        ):
            pieces += (weight, np.concatenate(vectors))
        for weight, bias in zip(folded.cam_weight, folded.cam_bias, strict=True):
            pieces += (weight, np.zeros(weight.shape[1]), bias)
        self._weights = np.concatenate([_whole_lines(piece) for piece in pieces])
        self._idle: list[tuple[int, Scores]] = []  # work spaces, and for how many operations each is large enough

    def parameters(self, instance: Instance) -> Scores:
        """A fresh array for searches on `instance` (see `CompiledSelector.parameters`)."""
        return self._allocate(instance.n_operations)

    def _allocate(self, n: int) -> Scores:
        p, q = self.config.width, self.config.action_width
        columns = cam_columns(self.config) if self.config.has_cam else p
        sizes = ((n + 2) * 3, (n + 2) * p, 8 * p, GATHER_ROWS * p, q, n * q, n * q, (n + 2) * columns)
        work = sum(size + ALIGN for size in sizes)
        array = np.zeros(len(self._weights) + work + ALIGN, np.float32)  # only touched pages take memory
        array = array[-(array.ctypes.data // 4) % ALIGN :]
        array[: len(self._weights)] = self._weights
        return array

    def scores(self, state: State, u: NDArray[np.uint32], v: NDArray[np.uint32]) -> Scores:
        """Score of every move (u, v); threads may call this at the same time for states of their own."""
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


def _whole_lines(piece: NDArray[np.float64]) -> Scores:
    flat = piece.ravel().astype(np.float32)
    return np.pad(flat, (0, -len(flat) % ALIGN))
