"""The policy network of the paper (section 4.2), written with PyG to be read and to be trained.

Searches on the CPU use `l2s_plugin.kernels.tpm_cam`: the same scores, faster. Shapes: N nodes of all graphs of a
batch together, G graphs, M candidate moves, p = `width`, q = `action_width`.

Where the authors' code and the paper's text differ, this follows the code: see docs/policy-network.md.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from l2s_plugin.errors import missing_extra
from l2s_plugin.policy.config import N_FEATURES, PolicyConfig
from l2s_plugin.policy.tpm_cam.graphs import GraphBatch, batch_graphs

try:
    import torch
    from torch import Tensor, nn
    from torch.nn import functional as F  # noqa: N812
    from torch_geometric.nn import GATConv, SimpleConv, global_mean_pool
    from torch_geometric.utils import add_self_loops
except ImportError as error:
    raise missing_extra(str(error.name), "learn") from None


class PolicyNetwork(nn.Module):
    """Scores of candidate moves: a graph embedding (TPM, CAM or both) and the action network on top."""

    def __init__(self, config: PolicyConfig) -> None:
        super().__init__()
        self.config = config
        self.tpm = TopologicalModule(config) if config.has_tpm else None
        self.cam = ContextModule(config) if config.has_cam else None
        self.action = ActionNetwork(config)

    @classmethod
    def trained(cls, config: PolicyConfig, weights: Mapping[str, Any], device: str = "cpu") -> PolicyNetwork:
        """The network with these weights, ready for inference."""
        network = cls(config)
        network.load_state_dict({name: torch.as_tensor(weight) for name, weight in weights.items()})
        return network.to(device).eval()

    @torch.inference_mode()
    def scores(self, states: Sequence[Any], moves: Sequence[tuple[ArrayLike, ArrayLike]]) -> list[NDArray[np.float32]]:
        """Scores of the candidate moves, (u, v) arrays of operations, of every state."""
        if not states:
            return []
        batch = batch_graphs(states, moves, self.config.features)
        return batch.split(self(batch).cpu().numpy())

    def forward(self, batch: GraphBatch) -> Tensor:
        """Score SC[u, v] = h'_u . h'_v of every candidate move (M)."""
        return self.scores_and_embedding(batch)[0]

    def scores_and_embedding(self, batch: GraphBatch) -> tuple[Tensor, Tensor]:
        """Score of every candidate move (M), and h_G (G, p or 2p) of the graphs, for a critic.

        Only the operations of candidate moves pass the action network.
        """
        nodes, graphs = self.embed(batch)
        ends, graph = self._index(np.concatenate((batch.u, batch.v))), self._index(batch.move_graph).repeat(2)
        u, v = self.action(torch.cat((nodes[ends], graphs[graph]), dim=1)).tensor_split(2)
        return (u * v).sum(dim=1), graphs

    def embed(self, batch: GraphBatch) -> tuple[Tensor, Tensor]:
        """Embeddings h_V (N, p or 2p) of the nodes and h_G (G, p or 2p) of the graphs (eq. 8)."""
        x = torch.as_tensor(batch.features).to(self._weight)
        job_arcs, machine_arcs = (self._index(arcs) for arcs in arcs_of(batch))
        graph = self._index(batch.graph)
        parts = []
        if self.tpm is not None:
            parts.append(self.tpm(x, torch.cat((job_arcs, machine_arcs), dim=1), graph))
        if self.cam is not None:
            parts.append(self.cam(x, job_arcs, machine_arcs, graph))
        nodes, graphs = zip(*parts, strict=True)
        return torch.cat(nodes, dim=1), torch.cat(graphs, dim=1)

    def _index(self, values: object) -> Tensor:
        return torch.as_tensor(values, dtype=torch.long, device=self._weight.device)

    @property
    def _weight(self) -> Tensor:
        return next(self.parameters())


def arcs_of(batch: GraphBatch) -> tuple[Tensor, Tensor]:
    """Job arcs (2, E_J) and machine arcs (2, E_M), each a row of sources and one of targets; no self loops."""
    nodes = torch.arange(len(batch.graph))
    arcs = []
    for pred in (torch.as_tensor(batch.job_pred), torch.as_tensor(batch.machine_pred)):
        there = pred != nodes
        arcs.append(torch.stack((pred[there], nodes[there])))
    ends = torch.as_tensor(batch.offset)[1:] - 1
    to_end = torch.stack((torch.as_tensor(batch.job_end), ends[torch.as_tensor(batch.job_end_graph)]))
    return torch.cat((arcs[0], to_end), dim=1), arcs[1]


class TopologicalModule(nn.Module):
    """TPM: K iterations of a graph isomorphism network; embeddings are the sums over all iterations (eq. 2, 3)."""

    def __init__(self, config: PolicyConfig) -> None:
        super().__init__()
        widths = [N_FEATURES] + [config.width] * (config.layers - 1)
        self.layers = nn.ModuleList(GINLayer(width, config) for width in widths)

    def forward(self, x: Tensor, arcs: Tensor, graph: Tensor) -> tuple[Tensor, Tensor]:
        """x (N, 3) -> mu_V = sum_k mu_V^k (N, p) and mu_G = sum_k mean_V mu_V^k (G, p)."""
        total = x.new_zeros(())
        for layer in self.layers:
            x = layer(x, arcs, graph)
            total = total + x
        return total, global_mean_pool(total, graph)


class GINLayer(nn.Module):
    """mu_V^k = MLP_T^k(mu_V^(k-1) + aggregate of mu_U^(k-1)), eps = 0 (eq. 2, appendix B).

    `"mean"`: the mean over the predecessors U and V itself. `"sum"`: the sum over the predecessors.
    """

    def __init__(self, in_width: int, config: PolicyConfig) -> None:
        super().__init__()
        self.with_self = config.aggregation == "mean"
        self.gather = SimpleConv(aggr=config.aggregation)
        self.linear1 = nn.Linear(in_width, config.width)
        self.norm = GraphBatchNorm(config.width, config.normalisation)
        self.linear2 = nn.Linear(config.width, config.width)

    def forward(self, x: Tensor, arcs: Tensor, graph: Tensor) -> Tensor:
        """(N, in_width) -> (N, p)."""
        if self.with_self:
            arcs, _ = add_self_loops(arcs, num_nodes=len(x))
        hidden = self.linear1(x + self.gather(x, arcs))
        return self.linear2(F.relu(self.norm(hidden, graph)))


class GraphBatchNorm(nn.BatchNorm1d):
    """Batch normalisation; which statistics it uses depends on the mode.

    In training mode those of all nodes of the batch, as usual. In evaluation mode, for `"batch"`, those of each graph
    on its own, so that a batch gives every state the answer it gets alone; for `"running"`, those from training.
    """

    def __init__(self, width: int, normalisation: str) -> None:
        super().__init__(width)
        self.per_graph = normalisation == "batch"

    def forward(self, x: Tensor, graph: Tensor) -> Tensor:  # type: ignore[override]
        """(N, p) -> (N, p)."""
        if self.training or not self.per_graph:
            return super().forward(x)
        centred = x - global_mean_pool(x, graph)[graph]
        variance = global_mean_pool(centred * centred, graph)
        return centred * torch.rsqrt(variance + self.eps)[graph] * self.weight + self.bias


class ContextModule(nn.Module):
    """CAM: K iterations of graph attention, on the job arcs and on the machine arcs, averaged (eq. 4-7)."""

    def __init__(self, config: PolicyConfig) -> None:
        super().__init__()
        widths = [N_FEATURES] + [config.width] * (config.layers - 1)
        self.layers = nn.ModuleList(ContextLayer(width, config) for width in widths)

    def forward(self, x: Tensor, job_arcs: Tensor, machine_arcs: Tensor, graph: Tensor) -> tuple[Tensor, Tensor]:
        """x (N, 3) -> nu_V^K (N, p) and its mean nu_G (G, p)."""
        for layer in self.layers:
            x = layer(x, job_arcs, machine_arcs)
        return x, global_mean_pool(x, graph)


class ContextLayer(nn.Module):
    """nu^k = (ELU(GAT_J(nu^(k-1))) + ELU(GAT_M(nu^(k-1)))) / 2, with self loops in both (eq. 4-6)."""

    def __init__(self, in_width: int, config: PolicyConfig) -> None:
        super().__init__()
        self.job = GATConv(in_width, config.width // config.heads, heads=config.heads)
        self.machine = GATConv(in_width, config.width // config.heads, heads=config.heads)

    def forward(self, x: Tensor, job_arcs: Tensor, machine_arcs: Tensor) -> Tensor:
        """(N, in_width) -> (N, p)."""
        return (F.elu(self.job(x, job_arcs)) + F.elu(self.machine(x, machine_arcs))) / 2


class ActionNetwork(nn.Module):
    """MLP_A: blocks of a linear layer, tanh and a linear layer, one after the other (section 4.2.2)."""

    def __init__(self, config: PolicyConfig) -> None:
        super().__init__()
        q = config.action_width
        widths = [2 * config.embedding_width] + [q] * (2 * config.action_layers - 1)
        self.layers = nn.ModuleList(nn.Linear(width, q) for width in widths)

    def forward(self, h: Tensor) -> Tensor:
        """h = (h_V : h_G) (N, 2p or 4p) -> h'_V (N, q)."""
        for i, layer in enumerate(self.layers):
            h = layer(h)
            if i % 2 == 0:
                h = torch.tanh(h)
        return h


@contextmanager
def frozen_statistics(network: nn.Module) -> Iterator[None]:
    """Look at a state without counting it among those that the running statistics are gathered from."""
    norms = [module for module in network.modules() if isinstance(module, nn.BatchNorm1d)]
    kept = [(norm.momentum, norm.num_batches_tracked.clone()) for norm in norms]  # type: ignore[union-attr]
    for norm in norms:
        norm.momentum = 0.0
    try:
        yield
    finally:
        for norm, (momentum, count) in zip(norms, kept, strict=True):
            norm.momentum, norm.num_batches_tracked = momentum, count
