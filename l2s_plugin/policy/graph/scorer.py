"""Policies over the surroundings of moves, for searches: compiled on the CPU, the readable form on other devices."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from l2s_plugin.devices import check_device
from l2s_plugin.instance import Instance
from l2s_plugin.kernels.graph import HEADER, N_ARC_FEATURES, N_NODE_FEATURES, ROWS, score_moves, score_surroundings
from l2s_plugin.kernels.moves import Moves
from l2s_plugin.kernels.tpm_cam import ALIGN
from l2s_plugin.kernels.view import StateView
from l2s_plugin.policy.checkpoint import checked_weights
from l2s_plugin.policy.config import GraphPolicyConfig
from l2s_plugin.selectors import CompiledSelector, per_duration

if TYPE_CHECKING:
    from l2s_plugin.policy.graph.network import GraphNetwork

Floats = NDArray[np.float32]


class GraphScorer:
    """Scores of candidate moves by a policy over their surroundings."""

    def __init__(self, config: GraphPolicyConfig, weights: Mapping[str, Any], device: str = "cpu") -> None:
        weights = checked_weights(config, weights, "policy")
        self._config = config
        self._network: GraphNetwork | None = None
        self._weights = _flat(config, weights)
        self._device = device
        if device != "cpu":
            check_device(device)
            from l2s_plugin.policy.graph.network import GraphNetwork

            self._network = GraphNetwork.trained(config, weights, device)

    def selector(self, name: str, sample: bool) -> CompiledSelector | None:
        """The selector for the compiled gear, where there is one."""
        if self._network is not None:
            return None
        return CompiledSelector(name, score_moves, sample=sample, forbid_undo=True, parameters=self.parameters)

    def parameters(self, instance: Instance) -> Floats:
        """A fresh array for searches on `instance`: weights, and room to work in."""
        config, n = self._config, instance.n_operations
        width, pair = config.width, 2 * config.width + N_ARC_FEATURES
        rows = ROWS * (N_NODE_FEATURES + 5 * width + config.hidden + width + pair + config.head)
        work = config.layers + 33 + rows + 2 * n * width + 11 * ALIGN
        array = np.zeros(len(self._weights) + work + ALIGN, np.float32)  # only touched pages take memory
        array = array[-(array.ctypes.data // 4) % ALIGN :]
        array[: len(self._weights)] = self._weights
        array[0] = per_duration(instance)
        return array

    def scores_batch(self, states: Sequence[StateView], moves: Sequence[Moves]) -> list[Floats]:
        """Scores of the moves of each state."""
        if self._network is not None:
            import torch

            from l2s_plugin.policy.graph.observation import observe

            with torch.no_grad():
                scores = self._network(observe(states, moves, self._device)).cpu().numpy()
            return np.split(scores, np.cumsum([len(m.u) for m in moves])[:-1])
        return [self._scores(state, m) for state, m in zip(states, moves, strict=True)]

    def _scores(self, state: StateView, moves: Moves) -> Floats:
        scores = np.empty(len(moves.u))
        own = Moves._make(np.ascontiguousarray(column) for column in moves)
        score_surroundings(state.kernel_state, own, len(scores), self.parameters(state.instance), scores)
        return scores.astype(np.float32)


def _flat(config: GraphPolicyConfig, weights: Mapping[str, NDArray[Any]]) -> Floats:
    """The weights in the order in which the kernel takes them, each piece on a cache line of its own."""
    w = {name: np.asarray(weight, np.float32) for name, weight in weights.items()}
    header = np.zeros(HEADER, np.float32)
    header[1:5] = config.width, config.hidden, config.layers, config.head
    pieces = [header, w["embed.weight"].T, w["embed.bias"]]
    for k in range(config.layers):
        at = f"layers.{k}"
        pieces += [w[f"{at}.norm.weight"], w[f"{at}.norm.bias"], w[f"{at}.inward.weight"].T, w[f"{at}.inward.bias"]]
        pieces += [w[f"{at}.outward.weight"].T, w[f"{at}.outward.bias"]]
    pieces += [w["first.weight"].T, w["first.bias"], np.append(w["last.weight"], w["last.bias"])]
    return np.concatenate([np.pad(piece.ravel(), (0, -piece.size % ALIGN)) for piece in pieces])
