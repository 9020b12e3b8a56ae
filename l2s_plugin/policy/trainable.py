"""The policy network in the form that is trained: the parameters of the reference, computed without torch_geometric.

On a CPU by `l2s_plugin.policy.compiled_layers`. Elsewhere by torch, with the gathers of `l2s_plugin.policy.fused` on
unfolded weights. A batch is normalised by the statistics of all its nodes, as in the authors' code, and the running
statistics are gathered on the way.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from l2s_plugin.policy.config import AnyConfig, MovePolicyConfig, PolicyConfig
from l2s_plugin.policy.graph import GraphBatch
from l2s_plugin.policy.move_network import MoveNetwork
from l2s_plugin.policy.network import PolicyNetwork

import torch  # isort: skip  (the line above says which extra is missing)
from torch import Tensor, nn  # isort: skip
from torch.nn import functional as F  # isort: skip  # noqa: N812

from l2s_plugin.policy.compiled_layers import Nodes, Workspace, embed_context, embed_topology

_SLOPE = 0.2  # of the leaky rectifier in graph attention


class TrainableNetwork(PolicyNetwork):
    """A `PolicyNetwork`, faster: same parameters, same scores, same gradients."""

    def __init__(self, config: PolicyConfig) -> None:
        super().__init__(config)
        self._workspace = Workspace()

    def forward(self, batch: GraphBatch) -> Tensor:
        """Score of every candidate move (M)."""
        return self.scores_and_embedding(batch)[0]

    def scores_and_embedding(self, batch: GraphBatch) -> tuple[Tensor, Tensor]:
        """Score of every candidate move (M), and h_G (G, p or 2p) of the graphs."""
        weight = self._weight
        compiled = self.training and weight.device.type == "cpu" and weight.dtype == torch.float32
        parts = self._embed_compiled(batch) if compiled else self._embed(batch)
        candidates, graphs = (torch.cat(part, dim=1) for part in zip(*parts, strict=True))
        graph = self._index(batch.move_graph).repeat(2)
        latent = self.action(torch.cat((candidates, graphs.index_select(0, graph)), dim=1))
        scores = (latent[: len(batch.u)] * latent[len(batch.u) :]).sum(dim=1)
        if self.hint_weight is not None:
            scores = scores + torch.as_tensor(batch.hints).to(scores) @ self.hint_weight
        return scores, graphs

    def _embed_compiled(self, batch: GraphBatch) -> Iterator[tuple[Tensor, Tensor]]:
        """What each module gives for the nodes u, then v, of the moves (2M, p), and for the graphs (G, p)."""
        nodes = Nodes.of(batch, self._workspace)
        if self.tpm is not None:
            yield embed_topology(self.tpm, nodes, self.config.aggregation == "mean")
        if self.cam is not None:
            yield embed_context(self.cam, nodes)

    def _embed(self, batch: GraphBatch) -> Iterator[tuple[Tensor, Tensor]]:
        """The same in torch, on any device."""
        arcs = Arcs.of(batch, self._weight.device)
        rows = torch.cat((self._index(batch.u), self._index(batch.v)))
        x = torch.as_tensor(batch.features).to(self._weight)
        if self.tpm is not None:
            shares = arcs.shares(self.config.aggregation == "mean", x.dtype)
            hidden, total = x, x.new_zeros(())
            for layer in self.tpm.layers:
                hidden = _topological(layer, hidden, arcs, shares)
                total = total + hidden
            yield total.index_select(0, rows), arcs.mean(total)
        if self.cam is not None:
            hidden = x
            for layer in self.cam.layers:
                hidden = _context(layer, hidden, arcs)
            yield hidden.index_select(0, rows), arcs.mean(hidden)


@dataclass(frozen=True)
class Arcs:
    """The arcs of a batch as index tensors; see `GraphBatch`."""

    job_pred: Tensor
    machine_pred: Tensor
    job_end: Tensor
    job_end_graph: Tensor
    end: Tensor
    graph: Tensor
    n_nodes: Tensor
    equal_size: bool

    @classmethod
    def of(cls, batch: GraphBatch, device: torch.device) -> Arcs:
        """The arcs of `batch` on the device."""

        def index(values: Any) -> Tensor:
            return torch.as_tensor(values, dtype=torch.long, device=device)

        sizes = batch.offset[1:] - batch.offset[:-1]
        return cls(
            index(batch.job_pred),
            index(batch.machine_pred),
            index(batch.job_end),
            index(batch.job_end_graph),
            index(batch.offset[1:] - 1),
            index(batch.graph),
            index(sizes),
            bool((sizes == sizes[0]).all()),
        )

    def shares(self, mean: bool, dtype: torch.dtype) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """With what weight a node (N, 1) adds its own message, those of its job and its machine predecessor, and an
        end (G, 1) those of the last operations."""
        nodes = torch.arange(len(self.graph), device=self.graph.device)
        job, machine = (self.job_pred != nodes).to(dtype), (self.machine_pred != nodes).to(dtype)
        ends = torch.bincount(self.job_end_graph, minlength=len(self.end)).to(dtype)
        own, last = torch.ones_like(job), torch.ones_like(ends)
        if mean:
            degree = 1 + job + machine
            degree[self.end] = 1 + ends
            own, job, machine, last = 1 + 1 / degree, job / degree, machine / degree, 1 / (1 + ends)
        return own.unsqueeze(1), job.unsqueeze(1), machine.unsqueeze(1), last.unsqueeze(1)

    def mean(self, x: Tensor) -> Tensor:
        """Mean over each graph's nodes, (N, p) -> (G, p)."""
        if self.equal_size:
            return x.view(len(self.end), -1, x.shape[1]).mean(dim=1)
        total = x.new_zeros(len(self.end), x.shape[1]).index_add(0, self.graph, x)
        return total / self.n_nodes.unsqueeze(1)

    def sum_ends(self, x: Tensor) -> Tensor:
        """Sum over the last operations of each graph's jobs, (J, p) -> (G, p)."""
        return x.new_zeros(len(self.end), *x.shape[1:]).index_add(0, self.job_end_graph, x)


def _topological(layer: Any, x: Tensor, arcs: Arcs, shares: tuple[Tensor, ...]) -> Tensor:
    """One iteration of the topological module (eq. 2), (N, 3 or p) -> (N, p)."""
    own, job, machine, last = shares
    total = x * own + x.index_select(0, arcs.job_pred) * job + x.index_select(0, arcs.machine_pred) * machine
    total = total.index_add(0, arcs.end, arcs.sum_ends(x.index_select(0, arcs.job_end)) * last)
    return layer.linear2(F.relu(layer.norm(layer.linear1(total), arcs.graph)))


def _context(layer: Any, x: Tensor, arcs: Arcs) -> Tensor:
    """One iteration of the context-aware module (eq. 4-6), (N, 3 or p) -> (N, p)."""
    # one product for both: those with so few columns cost far more than their arithmetic
    attention = F.linear(x, torch.cat((_attention(layer.job), _attention(layer.machine))))
    job, machine = attention.chunk(2, 1)
    job = _attend(layer.job, x, job, arcs.job_pred, arcs)
    machine = _attend(layer.machine, x, machine, arcs.machine_pred, None)
    return (F.elu(job) + F.elu(machine)) / 2


def _attention(gat: Any) -> Tensor:
    """What gives the attention of all heads as source and as target right from the input, (2h, 3 or p)."""
    return torch.cat([torch.block_diag(*vectors[0]) @ gat.lin.weight for vectors in (gat.att_src, gat.att_dst)])


def _attend(gat: Any, x: Tensor, attention: Tensor, pred: Tensor, ends: Arcs | None) -> Tensor:
    """Attention to one predecessor and the node itself: the softmax of two is a sigmoid of their difference."""
    source, target = attention.chunk(2, 1)
    values = gat.lin(x).unflatten(1, (gat.heads, gat.out_channels))  # (N, h, p / h); source and target (N, h)
    gate = torch.sigmoid(_leaky(source.index_select(0, pred) + target) - _leaky(source + target))
    mixed = torch.lerp(values, values.index_select(0, pred), gate.unsqueeze(2))
    if ends is not None:
        mixed = mixed.index_copy(0, ends.end, _attend_to_ends(values, source, target, ends))
    return mixed.flatten(1) + gat.bias


def _attend_to_ends(values: Tensor, source: Tensor, target: Tensor, arcs: Arcs) -> Tensor:
    """Attention of the dummy ends to the last operations of all jobs and to themselves, (G, h, p / h)."""
    own = _leaky(source[arcs.end] + target[arcs.end])
    others = _leaky(source[arcs.job_end] + target[arcs.end][arcs.job_end_graph])
    index = arcs.job_end_graph.unsqueeze(1).expand_as(others)
    highest = own.detach().scatter_reduce(0, index, others.detach(), "amax")
    own, others = (own - highest).exp(), (others - highest[arcs.job_end_graph]).exp()
    weighted = values[arcs.end] * own.unsqueeze(2) + arcs.sum_ends(values[arcs.job_end] * others.unsqueeze(2))
    return weighted / (own + arcs.sum_ends(others)).unsqueeze(2)


def _leaky(x: Tensor) -> Tensor:
    return F.leaky_relu(x, _SLOPE)


@contextmanager
def frozen_statistics(network: nn.Module) -> Iterator[None]:
    """Look at a state without counting it among those that the running statistics are gathered from."""
    norms = [module for module in network.modules() if isinstance(module, nn.BatchNorm1d)]
    kept = [(norm.momentum, norm.num_batches_tracked.clone()) for norm in norms]  # type: ignore[union-attr]
    for norm in norms:
        norm.momentum = 0.0
    yield
    for norm, (momentum, count) in zip(norms, kept, strict=True):
        norm.momentum, norm.num_batches_tracked = momentum, count


def new_network(config: AnyConfig) -> Any:
    """The network to train, close to the rule that it is to improve on, if there is one."""
    if isinstance(config, MovePolicyConfig):
        return MoveNetwork(config)
    network = TrainableNetwork(config)
    if config.hints:
        with torch.no_grad():
            last: Any = network.action.layers[-1]
            last.weight.mul_(0.1)
            last.bias.zero_()
    return network
