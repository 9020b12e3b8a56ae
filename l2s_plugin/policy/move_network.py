"""The weights of a policy over moves as training keeps them; searches use `l2s_plugin.kernels.move_rule`."""

from __future__ import annotations

from l2s_plugin.errors import missing_extra
from l2s_plugin.kernels.move_features import N_MOVE_FEATURES
from l2s_plugin.policy.config import MovePolicyConfig

try:
    import torch
    from torch import nn
except ImportError as error:
    raise missing_extra(str(error.name), "learn") from None

SHARPNESS = 3.0  # of the rule that training begins with: the smallest estimate, with some noise


class MoveNetwork(nn.Module):
    """score = rule . x, where x are the features of a move.

    With `drift` the rule depends on where the search is: rule + x[6] drift[0] + x[7] drift[1], by how far the makespan
    is above the incumbent and how long ago that was found.
    """

    embedding_width = 1

    def __init__(self, config: MovePolicyConfig) -> None:
        super().__init__()
        self.config = config
        self.rule = nn.Parameter(torch.zeros(N_MOVE_FEATURES))
        with torch.no_grad():
            self.rule[0] = -SHARPNESS
        if config.drift:
            self.drift = nn.Parameter(torch.zeros(2, N_MOVE_FEATURES))
