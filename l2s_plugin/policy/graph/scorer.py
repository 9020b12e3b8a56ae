"""Policies over graphs, for searches: the compiled network on the CPU, the reference on other devices."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from l2s_plugin.devices import check_device
from l2s_plugin.errors import L2SError
from l2s_plugin.kernels.graph_network import score_pairs
from l2s_plugin.kernels.state import State
from l2s_plugin.policy.checkpoint import checked_weights
from l2s_plugin.policy.config import PolicyConfig
from l2s_plugin.policy.graph.compiled import CompiledNetwork
from l2s_plugin.selectors import CompiledSelector, score_kernel

if TYPE_CHECKING:
    from l2s_plugin.policy.graph.network import PolicyNetwork


@score_kernel
def _score(state, moves, count, parameters, scores):  # type: ignore[no-untyped-def]
    score_pairs(state, moves.u, moves.v, count, parameters, scores)


class GraphScorer:
    """Scores of candidate moves by a policy over graphs, for one state or many.

    Parameters
    ----------
    config, weights
        The architecture, and the network's `state_dict` (torch tensors or numpy arrays).
    device
        `"cpu"` for the compiled network, or a device in torch's words (`"cuda"`, `"cpu:0"`, ...) for the reference. The
        scores agree to float32 rounding.
    """

    def __init__(self, config: PolicyConfig, weights: Mapping[str, Any], device: str = "cpu") -> None:
        self._config, self._device = config, device
        self._weights = checked_weights(config, weights, "policy")
        self.compiled = CompiledNetwork(config, self._weights) if device == "cpu" else None
        if self.compiled is None:
            check_device(device)
            _ = self._reference  # what is missing for it is told now

    def selector(self, name: str, sample: bool) -> CompiledSelector | None:
        """The selector for the compiled gear, where there is one."""
        if self.compiled is None:
            return None
        return CompiledSelector(name, _score, sample=sample, parameters=self.compiled.parameters)

    def scores_batch(self, states: Sequence[Any], moves: Sequence[Any]) -> list[NDArray[np.float32]]:
        """Scores of the moves of each state, `Moves` or pairs of arrays (u, v).

        States are those of searches, of any instances (`StateView`, kernel `State`); the reference, which is loaded for
        them, also takes a `Schedule` or a `Graph`.
        """
        if len(states) != len(moves):
            raise L2SError(f"{len(states)} states but moves for {len(moves)}")
        states = [getattr(state, "kernel_state", state) for state in states]
        if self.compiled is None or not all(isinstance(state, State) for state in states):
            return self._reference.scores(states, moves)
        return [
            self.compiled.scores(state, _operations(u), _operations(v))
            for state, (u, v, *_) in zip(states, moves, strict=True)
        ]

    @cached_property
    def _reference(self) -> PolicyNetwork:
        from l2s_plugin.policy.graph.network import PolicyNetwork

        return PolicyNetwork.trained(self._config, self._weights, self._device)


def _operations(values: ArrayLike) -> NDArray[np.uint32]:
    return np.ascontiguousarray(values, np.uint32)
