"""The two modules of the policy network with gradients, on a CPU: compiled layers, products by torch.

Each module is one function for autograd. Three things make it quick: what lies between two products is one pass over
the nodes; linear layers that follow each other are one product, as in `l2s_plugin.policy.folding`; and where no
gradient arrives, none is computed: with the paper's reward most graphs of a batch have none. The two modules return
what the action network wants: the nodes of candidate moves, and the means over each graph.

Shapes: N nodes, G graphs, C candidate nodes, K layers, p = width, h = heads.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from l2s_plugin.kernels import layers
from l2s_plugin.kernels.layers import Links
from l2s_plugin.policy.graph import GraphBatch
from l2s_plugin.policy.network import ContextModule, TopologicalModule


class Workspace:
    """Room for intermediate results, used again: fresh memory costs more than the arithmetic in it."""

    def __init__(self) -> None:
        self._rows = 0
        self._free: dict[int, list[Tensor]] = {}  # by number of columns

    def take(self, rows: int, columns: int) -> Tensor:
        """A matrix of any content."""
        if rows != self._rows:  # batches of another size begin
            self._rows, self._free = rows, {}
        free = self._free.get(columns)
        return free.pop() if free else torch.empty(rows, columns)

    def give_back(self, *matrices: Tensor) -> None:
        """These are no longer needed."""
        for matrix in matrices:
            if len(matrix) == self._rows:
                self._free.setdefault(matrix.shape[1], []).append(matrix)


@dataclass
class Nodes:
    """A batch of graphs, and what work on it needs."""

    links: Links
    features: Tensor  # (N, 3)
    candidates: Tensor  # (C), nodes
    candidate_graph: Tensor  # (C)
    workspace: Workspace
    keep: bool = field(default_factory=torch.is_grad_enabled)

    @classmethod
    def of(cls, batch: GraphBatch, workspace: Workspace) -> Nodes:
        """Candidates are the first operations of all moves, then the second ones."""
        ends = np.searchsorted(batch.job_end_graph, np.arange(batch.n_graphs + 1))
        return cls(
            Links(batch.offset, batch.job_pred, batch.machine_pred, batch.job_end, ends.astype(np.int64)),
            torch.from_numpy(batch.features),
            torch.from_numpy(np.concatenate((batch.u, batch.v))),
            torch.from_numpy(np.tile(batch.move_graph, 2)),
            workspace,
        )

    @property
    def sizes(self) -> Tensor:
        """Number of nodes of each graph (G, 1)."""
        return torch.from_numpy(np.diff(self.links.offset)).float().unsqueeze(1)

    def room(self, columns: int) -> Tensor:
        """A matrix (N, columns) of any content."""
        return self.workspace.take(len(self.features), columns)

    def release(self, *matrices: Tensor) -> None:
        """These are no longer needed."""
        self.workspace.give_back(*matrices)


def call(function: Callable[..., None], *arguments: Any) -> None:
    """Call a kernel with tensors."""
    function(*(value.detach().numpy() if isinstance(value, Tensor) else value for value in arguments))


def embed_topology(module: TopologicalModule, nodes: Nodes, mean: bool) -> tuple[Tensor, Tensor]:
    """mu of the candidates (C, p) and of the graphs (G, p), summed over the iterations (eq. 2, 3)."""
    stack: list[Any] = list(module.layers)
    folded: list[Tensor] = []
    for k, layer in enumerate(stack):
        weight, constant = layer.linear1.weight, torch.zeros_like(layer.linear1.bias)
        if k:  # the layer before ends with a product, this one begins with one
            before = stack[k - 1].linear2
            weight, constant = weight @ before.weight, weight @ before.bias
        folded += [weight, constant, layer.norm.weight, layer.norm.bias]
    statistics: list[tuple[Tensor, Tensor]] = []
    found = _Topology.apply(nodes, mean, stack[0].norm.eps, statistics, *folded)
    for layer, (middle, variance) in zip(stack, statistics, strict=True):
        _gather_statistics(layer.norm, middle + layer.linear1.bias.detach(), variance, len(nodes.features))
    weight = torch.cat([layer.linear2.weight for layer in stack], 1)
    bias = torch.stack([layer.linear2.bias for layer in stack]).sum(0)
    candidates, graphs = (torch.cat(found[k::2], 1) @ weight.T + bias for k in (0, 1))
    return candidates, graphs


@torch.no_grad()
def _gather_statistics(norm: Any, mean: Tensor, variance: Tensor, count: int) -> None:
    """As torch's batch normalisation does."""
    norm.num_batches_tracked += 1
    norm.running_mean.lerp_(mean, norm.momentum)
    norm.running_var.lerp_(variance * (count / (count - 1)), norm.momentum)


class _Topology(torch.autograd.Function):
    """r^k = relu(norm(aggregate(r^(k-1) @ weight^T + constant))); gives r^k of candidates and graphs, k = 1 ... K."""

    @staticmethod
    def forward(ctx: Any, nodes: Nodes, mean: bool, eps: float, statistics: list[Any], *folded: Tensor) -> Any:
        count, n_graphs = len(nodes.features), len(nodes.links.offset) - 1
        sizes, x, results, kept = nodes.sizes, nodes.features, [], []
        for k in range(0, len(folded), 4):
            weight, constant, scale, shift = folded[k : k + 4]
            p = len(weight)
            message, hidden, out = (nodes.room(p) for _ in range(3))
            middles, spreads, averages = (torch.empty(n_graphs, p) for _ in range(3))
            torch.mm(x, weight.T, out=message)
            call(layers.aggregate, nodes.links, mean, message, constant, hidden, middles, spreads)
            nodes.release(message)
            middle = (sizes * middles).sum(0) / count
            variance = (spreads + sizes * (middles - middle).square()).sum(0) / count
            statistics.append((middle, variance))
            inverse = torch.rsqrt(variance + eps)
            standard = torch.stack((inverse, -middle * inverse))
            line = torch.stack((scale * inverse, shift - scale * middle * inverse))
            call(layers.rectify, nodes.links, hidden, line, out, averages)
            results += [out.index_select(0, nodes.candidates), averages]
            kept.append((x, hidden, standard, line))
            x = out
        ctx.nodes, ctx.mean, ctx.kept, ctx.weights, ctx.last = nodes, mean, kept, folded[::4], x
        if not nodes.keep:
            _release(ctx)
        return tuple(results)

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, *gradients: Tensor) -> Any:
        nodes, count, n_graphs = ctx.nodes, len(ctx.nodes.features), len(ctx.nodes.links.offset) - 1
        p = len(ctx.weights[0])
        results: list[Tensor] = []
        gradient, of_message = nodes.room(p).zero_(), nodes.room(p)
        for k in reversed(range(len(ctx.weights))):
            x, hidden, standard, line = ctx.kept[k]
            gradient.index_add_(0, nodes.candidates, gradients[2 * k])
            sums, constants = torch.empty(n_graphs, 2, p), torch.empty(n_graphs, p)
            of_means = gradients[2 * k + 1].contiguous()
            call(layers.rectify_back, nodes.links, hidden, line, standard, of_means, gradient, sums)
            of_shift, of_scale = sums.sum(0)
            # scale / deviation (d - mean of d - standard x . mean of d standard x)
            steep = line[0] * of_scale / count
            back = torch.stack((line[0], -steep * standard[0], -line[0] * of_shift / count - steep * standard[1]))
            call(layers.aggregate_back, nodes.links, ctx.mean, hidden, back, gradient, of_message, constants)
            results = [of_message.T @ x, constants.sum(0), of_scale, of_shift, *results]
            if k:
                torch.mm(of_message, ctx.weights[k], out=gradient)
        nodes.release(gradient, of_message)
        _release(ctx)
        return None, None, None, None, *results


def embed_context(module: ContextModule, nodes: Nodes) -> tuple[Tensor, Tensor]:
    """nu of the candidates (C, p) and of the graphs (G, p) (eq. 4-7)."""
    stack: list[Any] = list(module.layers)
    parts: list[Tensor] = []
    for layer in stack:
        pair = (layer.job, layer.machine)
        vectors = [vector.view(1, -1) for gat in pair for vector in (gat.att_src, gat.att_dst)]
        parts += [torch.cat([gat.lin.weight for gat in pair]), torch.cat(vectors), torch.stack([g.bias for g in pair])]
    candidates, graphs = _Context.apply(nodes, stack[0].job.heads, *parts)
    return candidates, graphs


class _Context(torch.autograd.Function):
    """nu^k = mean of the two attention layers on nu^(k-1) @ weight^T; gives nu^K of candidates and graphs."""

    @staticmethod
    def forward(ctx: Any, nodes: Nodes, heads: int, *parts: Tensor) -> Any:
        n_graphs, n_jobs = len(nodes.links.offset) - 1, len(nodes.links.job_end)
        x, kept, p = nodes.features, [], parts[2].shape[1]
        averages = torch.empty(n_graphs, p)
        for k in range(0, len(parts), 3):
            weight, vectors, bias = parts[k : k + 3]
            message, out, logits = nodes.room(2 * p), nodes.room(p), nodes.room(4 * heads)
            shares = torch.empty(n_jobs, heads)
            torch.mm(x, weight.T, out=message)
            call(
                layers.attend, nodes.links, _split(message, 2, heads), _split(vectors, heads), _split(bias, heads),
                logits.view(-1, 4, heads), shares, _split(out, heads), _split(averages, heads),
            )  # fmt: skip
            kept.append((x, message, logits, shares))
            x = out
        ctx.nodes, ctx.heads, ctx.kept, ctx.parts, ctx.last = nodes, heads, kept, parts, x
        candidates = x.index_select(0, nodes.candidates)
        if not nodes.keep:
            _release(ctx)
        return candidates, averages

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, of_candidates: Tensor, of_means: Tensor) -> Any:
        nodes, parts, heads, p = ctx.nodes, ctx.parts, ctx.heads, of_means.shape[1]
        chosen = _Chosen.of(nodes, of_candidates, of_means)
        count, n_graphs = len(chosen.nodes), len(chosen.graphs)
        rooms = [nodes.room(columns) for columns in (p, p, 2 * p)]
        gradient, x_there, of_message = (room[:count] for room in rooms)
        chosen.fill(gradient, nodes, of_candidates, of_means)
        slopes, sums, work = torch.empty(count, 4, heads), torch.empty(n_graphs, 6, p), torch.empty(n_graphs, 2, p)
        results: list[Tensor] = []
        for k in reversed(range(len(ctx.kept))):
            weight, vectors, bias = parts[3 * k : 3 * k + 3]
            x, message, logits, shares = ctx.kept[k]
            call(
                layers.attend_back, chosen.graphs, chosen.rows, nodes.links, _split(message, 2, heads),
                _split(vectors, heads), _split(bias, heads), logits.view(-1, 4, heads), shares,
                _split(gradient, heads), _split(of_message, 2, heads), slopes, _split(sums, heads), _split(work, heads),
            )  # fmt: skip
            total = sums.sum(0)
            x = torch.index_select(x, 0, chosen.nodes, out=x_there) if k else x.index_select(0, chosen.nodes)
            results = [of_message.T @ x, total[:4], total[4:], *results]
            if k:
                torch.mm(of_message, weight, out=gradient)
        nodes.release(*rooms)
        _release(ctx)
        return None, None, *results


def _split(x: Tensor, *parts: int) -> Tensor:
    """The numbers of each row, head by head."""
    return x.view(*x.shape[:-1], *parts, x.shape[-1] // math.prod(parts))


@dataclass(frozen=True)
class _Chosen:
    """The graphs that a gradient arrives at, A of them: from zeros nothing but zeros would come."""

    graphs: NDArray[np.int64]  # (A)
    rows: NDArray[np.int64]  # (A + 1), where each begins when they stand one below the other
    nodes: Tensor  # of them all, one row each

    @classmethod
    def of(cls, nodes: Nodes, of_candidates: Tensor, of_means: Tensor) -> _Chosen:
        there = (of_means != 0).any(1)
        there[nodes.candidate_graph[(of_candidates != 0).any(1)]] = True
        graphs = np.flatnonzero(there.numpy())
        first, sizes = nodes.links.offset[graphs], np.diff(nodes.links.offset)[graphs]
        rows = np.concatenate(([0], np.cumsum(sizes)))
        numbers = np.repeat(first - rows[:-1], sizes) + np.arange(rows[-1])
        return cls(graphs, rows, torch.from_numpy(numbers))

    def fill(self, gradient: Tensor, nodes: Nodes, of_candidates: Tensor, of_means: Tensor) -> None:
        """Make it that of the nodes (rows, p)."""
        sizes = torch.from_numpy(np.diff(self.rows))
        means = of_means[torch.from_numpy(self.graphs)] / sizes.unsqueeze(1)
        torch.index_select(means, 0, torch.arange(len(sizes)).repeat_interleave(sizes), out=gradient)
        row = torch.full((len(nodes.features),), -1)
        row[self.nodes] = torch.arange(len(self.nodes))
        own = row[nodes.candidates]
        gradient.index_add_(0, own[own >= 0], of_candidates[own >= 0])


def _release(ctx: Any) -> None:
    """Give back what a module kept for its way back: large matrices, all but the features. There is no second way."""
    matrices = [matrix for row in ctx.kept for matrix in row if len(matrix) == len(ctx.last)]
    ctx.nodes.release(*matrices[1:], ctx.last)
    ctx.kept = None
