"""The learned selector: a policy scores the candidate moves, and one is sampled or the best is taken."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from l2s_plugin.kernels.moves import Moves
from l2s_plugin.kernels.view import StateView
from l2s_plugin.policy.checkpoint import Policy
from l2s_plugin.policy.config import GraphPolicyConfig, MovePolicyConfig
from l2s_plugin.policy.library import find_policy
from l2s_plugin.policy.moves.scorer import MoveScorer
from l2s_plugin.registry import Registry

if TYPE_CHECKING:
    from l2s_plugin.policy.graph.scorer import GraphScorer
    from l2s_plugin.policy.tpm_cam.scorer import PaperScorer

FAST = "l2s-fast"  # the policy of the selector of that name


class L2SSelector:
    """Selects moves as a policy says: the selector `l2s`, or `l2s:NAME_OR_FILE`.

    A policy over graphs is the paper's (section 4.2.2): a move is the pair (u, v), its score h'_u . h'_v. A policy over
    moves looks at a few numbers about each, at the speed of the hand-made rules.

    On the CPU the whole search runs compiled; on other devices the network is asked from Python, step by step.

    Parameters
    ----------
    policy
        A policy, the name of an installed one, or a file; None for the default, see `find_policy`, and `for_host`.
    sample
        True: sample from the softmax of the scores, as the paper does. False: take the highest score.
    device
        Where a network over graphs runs: `"cpu"`, compiled, or `"cuda"`, ..., by torch. Policies over moves stay on the
        CPU.
    registry
        Where to look for the policy, instead of among the installed plugins.
    """

    forbid_undo = True  # what local search does by default with this selector, as the authors' code

    def __init__(
        self,
        policy: str | Path | Policy | None = None,
        sample: bool = True,
        device: str = "cpu",
        registry: Registry | None = None,
    ) -> None:
        self.policy = find_policy(policy, registry)
        self.sample = sample
        self._default = policy is None
        self._device, self._registry = device, registry
        self.name = f"{'l2s' if sample else 'l2s-greedy'}:{self.policy.name}"
        self._scorer: GraphScorer | PaperScorer | MoveScorer
        if isinstance(self.policy.config, MovePolicyConfig):
            self._scorer = MoveScorer(self.policy.config, self.policy.weights)
        elif isinstance(self.policy.config, GraphPolicyConfig):  # imported where needed: each compiles its own network
            from l2s_plugin.policy.graph.scorer import GraphScorer

            self._scorer = GraphScorer(self.policy.config, self.policy.weights, device)
        else:
            from l2s_plugin.policy.tpm_cam.scorer import PaperScorer

            self._scorer = PaperScorer(self.policy.config, self.policy.weights, device)
        self.compiled = self._scorer.selector(self.name, sample)

    def for_host(self, host: str) -> L2SSelector:
        """What to select by in that host: where no policy was named, by the default one that was trained there.

        In a tabu search that one takes the highest score, as it did in training: the memory is all the chance it needs.
        """
        if not self._default or self.policy.host.get("method") == host:
            return self
        policy = find_policy(None, self._registry, host)
        if policy.name == self.policy.name:
            return self
        return L2SSelector(policy, self.sample and host != "tabu", self._device, self._registry)

    def check_neighbourhood(self, neighbourhood: str) -> None:
        """Raise when the policy does not know these moves; hosts ask before they start."""
        self.policy.check_neighbourhood(neighbourhood)

    def score_moves(self, state: StateView, moves: Moves) -> NDArray[np.float32]:
        """The score of each move; only differences between them mean something."""
        return self._scorer.scores_batch([state], [moves])[0]

    def score_batch(self, states: Sequence[StateView], moves: Sequence[Moves]) -> list[NDArray[np.float32]]:
        """The scores of the moves of each state; all states go through a network over graphs together."""
        return self._scorer.scores_batch(states, moves)

    def select(self, state: StateView, moves: Moves, rng: np.random.Generator) -> int:
        """One of the moves, for loops other than those of this project."""
        scores = self.score_moves(state, moves).astype(np.float64)
        if not self.sample:
            return int(scores.argmax())
        cumulative = np.exp(scores - scores.max()).cumsum()
        row = np.searchsorted(cumulative, rng.random() * cumulative[-1], side="right")
        return min(int(row), len(scores) - 1)


create_greedy = partial(L2SSelector, sample=False)  # the selector `l2s-greedy`, or `l2s-greedy:NAME_OR_FILE`


def create_fast(policy: str | None = None) -> L2SSelector:
    """The selector `l2s-fast`, or `l2s-fast:NAME_OR_FILE`: the best move by a policy made for the compiled loop."""
    return L2SSelector(policy or FAST, sample=False)
