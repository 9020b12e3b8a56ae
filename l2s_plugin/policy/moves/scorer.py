"""Policies over moves, for searches: weights and work space as the compiled scoring function wants them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from l2s_plugin.instance import Instance
from l2s_plugin.kernels.move_features import N_MOVE_FEATURES
from l2s_plugin.kernels.move_rule import (
    FEATURE_GROUPS,
    GROUPS,
    MARGIN,
    PER_DURATION,
    ROW,
    RULE,
    SIZE,
    score_moves,
    score_near_moves,
)
from l2s_plugin.kernels.moves import Moves
from l2s_plugin.kernels.view import StateView
from l2s_plugin.policy.checkpoint import checked_weights
from l2s_plugin.policy.config import MovePolicyConfig
from l2s_plugin.selectors import CompiledSelector, per_duration

Floats = NDArray[np.float32]


def used_groups(rules: NDArray[Any]) -> int:
    """The groups of features (in the last dimension) that any of the rules has a weight for."""
    return sum(group for group, members in FEATURE_GROUPS.items() if np.any(rules[..., members]))


class MoveScorer:
    """The scores of a policy over moves."""

    def __init__(self, config: MovePolicyConfig, weights: Mapping[str, Any]) -> None:
        self.config = config
        weights = checked_weights(config, weights, "policy")
        rules = np.vstack((weights["rule"], *weights.get("drift", ())))
        self._array = np.zeros(SIZE, np.float32)
        self._array[[MARGIN, GROUPS]] = config.margin, used_groups(rules)
        for k, row in enumerate(rules):
            self._array[RULE + ROW * k :][:N_MOVE_FEATURES] = row

    def parameters(self, instance: Instance) -> Floats:
        """A fresh array for a search on `instance`."""
        array = self._array.copy()
        array[PER_DURATION] = per_duration(instance)
        return array

    def selector(self, name: str, sample: bool) -> CompiledSelector:
        """The selector for the compiled gear."""
        return CompiledSelector(
            name, score_moves, "near", sample, forbid_undo=True, parameters=self.parameters, margin=self.config.margin
        )

    def scores_batch(self, states: Sequence[StateView], moves: Sequence[Moves]) -> list[Floats]:
        """Scores of the moves of each state; -inf for those that are not looked at."""

        def scores_of(state: StateView, moves: Moves) -> Floats:
            own = Moves._make(np.ascontiguousarray(column) for column in moves)
            scores = np.empty(len(own.u))
            score_near_moves(state.kernel_state, own, len(scores), self.parameters(state.instance), scores)
            return scores.astype(np.float32)

        return [scores_of(*pair) for pair in zip(states, moves, strict=True)]
