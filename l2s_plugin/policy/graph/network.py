"""A network over the graph of a schedule, for moves of any neighbourhood: the readable form, which trains.

What a swap leads to depends on what comes before the two operations and on what comes after them, so messages go both
ways. The inputs are bounded and free of the instance's size, rows are normalised by themselves, and nothing is summed
over the graph: a state has the same scores in any company, and a move depends on `layers` arcs around it.

Shapes: N operations of all graphs, M moves, w = width.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812

from l2s_plugin.kernels.graph import N_ARC_FEATURES, N_NODE_FEATURES
from l2s_plugin.policy.config import GraphPolicyConfig


@dataclass(frozen=True)
class Surroundings:
    """Several graphs as one."""

    nodes: Tensor  # (N, features)
    neighbours: Tensor  # (N, 4): job and machine predecessors, job and machine successors; N where there is none
    u: Tensor  # (M)
    v: Tensor  # (M)
    arcs: Tensor  # (M, features)


class Layer(nn.Module):
    """h + U relu(M [h, and h of the four neighbours]), all of them normalised."""

    def __init__(self, width: int, hidden: int) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.inward = nn.Linear(5 * width, hidden)
        self.outward = nn.Linear(hidden, width)

    def forward(self, h: Tensor, neighbours: Tensor) -> Tensor:
        x = F.pad(self.norm(h), (0, 0, 0, 1))  # a row of zeros for those who are not there
        message = torch.cat((x[:-1], x[neighbours].flatten(1)), dim=1)
        return h + self.outward(F.relu(self.inward(message)))


class GraphNetwork(nn.Module):
    """Scores of moves (u, v)."""

    def __init__(self, config: GraphPolicyConfig) -> None:
        super().__init__()
        self.config = config
        self.embed = nn.Linear(N_NODE_FEATURES, config.width)
        self.layers = nn.ModuleList(Layer(config.width, config.hidden) for _ in range(config.layers))
        self.first = nn.Linear(2 * config.width + N_ARC_FEATURES, config.head)
        self.last = nn.Linear(config.head, 1)

    @classmethod
    def trained(cls, config: GraphPolicyConfig, weights: Mapping[str, Any], device: str) -> GraphNetwork:
        """With weights of a checkpoint."""
        network = cls(config)
        network.load_state_dict({name: torch.as_tensor(weight) for name, weight in weights.items()})
        return network.to(device).eval()

    def forward(self, seen: Surroundings) -> Tensor:
        """(M)"""
        h = self.embed(seen.nodes)
        for layer in self.layers:
            h = layer(h, seen.neighbours)
        pair = torch.cat((h[seen.u], h[seen.v], seen.arcs), dim=1)
        return self.last(F.relu(self.first(pair))).squeeze(1)
