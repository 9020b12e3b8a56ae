"""Policies over graphs, for searches: the compiled network on the CPU, the reference on other devices."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from l2s_plugin.devices import check_device
from l2s_plugin.errors import L2SError
from l2s_plugin.kernels.graph_network import score_pairs
from l2s_plugin.policy.checkpoint import checked_weights
from l2s_plugin.policy.config import PolicyConfig
from l2s_plugin.policy.graph.compiled import CompiledNetwork
from l2s_plugin.policy.graph.graphs import state_of
from l2s_plugin.selectors import CompiledSelector, score_kernel

if TYPE_CHECKING:
    from l2s_plugin.policy.graph.network import PolicyNetwork


@score_kernel
def _score(state, moves, count, parameters, scores):  # type: ignore[no-untyped-def]
    score_pairs(state, moves.u, moves.v, count, parameters, scores)


class GraphScorer:
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
            from l2s_plugin.policy.graph.network import PolicyNetwork

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
