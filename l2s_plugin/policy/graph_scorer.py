"""Policies over graphs, for searches: the scores of the network."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from l2s_plugin.kernels.moves import Moves
from l2s_plugin.kernels.policy import score_pairs
from l2s_plugin.kernels.view import StateView
from l2s_plugin.policy.compiled import Scorer
from l2s_plugin.policy.config import PolicyConfig
from l2s_plugin.selectors import CompiledSelector, score_kernel


@score_kernel
def _score(state, moves, count, parameters, scores):  # type: ignore[no-untyped-def]
    score_pairs(state, moves.u, moves.v, count, parameters, scores)


class GraphScorer:
    """The scores of a policy over graphs."""

    def __init__(self, config: PolicyConfig, weights: Mapping[str, Any], device: str, engine: str) -> None:
        self._scorer = Scorer(config, weights, device, engine)
        self._is_compiled = device == "cpu" and engine != "fused"

    def selector(self, name: str, sample: bool) -> CompiledSelector | None:
        """The selector for the compiled gear, where there is one."""
        if not self._is_compiled:
            return None
        return CompiledSelector(name, _score, sample=sample, parameters=self._scorer.compiled.parameters)

    def scores_batch(self, states: Sequence[StateView], moves: Sequence[Moves]) -> list[NDArray[np.float32]]:
        """Scores of the moves of each state."""
        return self._scorer.scores_batch(states, [(m.u, m.v) for m in moves])
