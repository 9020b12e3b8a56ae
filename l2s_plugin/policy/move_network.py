"""The network over moves in the form that is trained; searches use `l2s_plugin.kernels.move_policy`."""

from __future__ import annotations

from l2s_plugin.errors import missing_extra
from l2s_plugin.kernels.move_policy import N_MOVE_FEATURES, N_STATE_FEATURES
from l2s_plugin.policy.config import MovePolicyConfig
from l2s_plugin.policy.moves import MoveBatch

try:
    import torch
    from torch import Tensor, nn
except ImportError as error:
    raise missing_extra(str(error.name), "learn") from None

SHARPNESS = 3.0  # of the rule that training begins with: the smallest estimate, with some noise


class MoveNetwork(nn.Module):
    """score = rule . x + output . relu(hidden x + bias), where x are the features of a move.

    The rule is a part of the network like any other; at first there is nothing else. With `drift` it depends on where
    the search is: rule + x[6] drift[0] + x[7] drift[1], by how far the makespan is above the incumbent and how long
    ago that was found.
    """

    embedding_width = N_STATE_FEATURES + 2 * N_MOVE_FEATURES

    def __init__(self, config: MovePolicyConfig) -> None:
        super().__init__()
        self.config = config
        self.rule = nn.Parameter(torch.zeros(N_MOVE_FEATURES))
        with torch.no_grad():
            self.rule[0] = -SHARPNESS
        if config.drift:
            self.drift = nn.Parameter(torch.zeros(2, N_MOVE_FEATURES))
        if config.hidden:
            self.hidden = nn.Linear(N_MOVE_FEATURES, config.hidden)
            self.output = nn.Linear(config.hidden, 1, bias=False)
            nn.init.zeros_(self.output.weight)

    def forward(self, features: Tensor) -> Tensor:
        """Scores (M) of moves with the given features (M, 27)."""
        scores = features @ self.rule
        if self.config.drift:
            scores = scores + (features[:, 6:8] * (features @ self.drift.T)).sum(1)
        if self.config.hidden:
            scores = scores + self.output(torch.relu(self.hidden(features))).squeeze(-1)
        return scores

    def scores_and_embedding(self, batch: MoveBatch) -> tuple[Tensor, Tensor]:
        """Score of every candidate move (M), and what a critic may know of the states (B, 60): their features, and
        mean and minimum of those of the moves."""
        features, states = (torch.as_tensor(part).to(self.rule) for part in (batch.features, batch.states))
        return self(features), torch.cat((states, *_pooled(features, torch.as_tensor(batch.counts))), dim=1)


def _pooled(features: Tensor, counts: Tensor) -> tuple[Tensor, Tensor]:
    state = torch.repeat_interleave(torch.arange(len(counts)), counts).to(features.device)
    rows = state.unsqueeze(1).expand_as(features)
    empty = features.new_zeros(len(counts), features.shape[1])
    mean = empty.scatter_reduce(0, rows, features, "mean", include_self=False)
    return mean, empty.scatter_reduce(0, rows, features, "amin", include_self=False)
