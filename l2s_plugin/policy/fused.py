"""The policy network for inference in torch, on any device: many states at once, and no torch_geometric.

Every node has at most one job and one machine predecessor (but the dummy end), so message passing is two gathers per
layer, and attention to one predecessor and the node itself is a sigmoid gate. The weights are those of
`l2s_plugin.policy.folding`. Each graph is normalised by its own statistics, so every state gets the scores it gets
alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from l2s_plugin.devices import check_device
from l2s_plugin.errors import missing_extra
from l2s_plugin.policy.config import PolicyConfig
from l2s_plugin.policy.folding import NORM_EPS, Folded, fold
from l2s_plugin.policy.graph import GraphBatch, batch_graphs

try:
    import torch
    from torch import Tensor
    from torch.nn import functional as F  # noqa: N812
except ImportError:
    raise missing_extra("torch", "learn") from None

_SLOPE = 0.2  # of the leaky rectifier in graph attention


class FusedNetwork:
    """Scores of candidate moves, for a batch of states of any sizes.

    Parameters
    ----------
    config, weights
        The architecture, and the network's `state_dict` (torch tensors or numpy arrays).
    device, dtype
        Where and how exactly to compute.
    """

    def __init__(
        self,
        config: PolicyConfig,
        weights: Mapping[str, Any],
        device: str = "cpu",
        dtype: torch.dtype = torch.float32,
    ) -> None:
        self.config = config
        check_device(device)
        self.device = torch.device(device)
        self.dtype = dtype
        folded = fold(config, weights)
        self._w: Any = Folded._make(
            [self._floats(array) for array in part] if isinstance(part, list) else self._floats(part) for part in folded
        )

    def scores(self, states: Sequence[Any], moves: Sequence[tuple[ArrayLike, ArrayLike]]) -> list[NDArray[np.float32]]:
        """Scores of the candidate moves, (u, v) arrays of operations, of every state."""
        if not states:
            return []
        batch = batch_graphs(states, moves, self.config.features)
        return batch.split(self(batch).cpu().numpy().astype(np.float32))

    @torch.inference_mode()
    def __call__(self, batch: GraphBatch) -> Tensor:
        """Score h'_u . h'_v of every candidate move (M)."""
        if len(batch.u) == 0:
            return torch.zeros(0, dtype=self.dtype, device=self.device)
        candidates, places = np.unique(np.concatenate((batch.u, batch.v)), return_inverse=True)
        arcs = self._arcs(batch)
        sink = _FirstActionLayer(
            self._w, arcs, self._indices(candidates), self._indices(batch.graph[candidates]), self.config.width
        )
        x = self._floats(batch.features)
        if self.config.has_tpm:
            self._topological(x, arcs, sink)
        if self.config.has_cam:
            self._context(x, arcs, sink)
        latent = sink.result()
        for weight, bias in zip(self._w.action_weight, self._w.action_bias[1:], strict=True):
            latent = torch.addmm(bias, torch.tanh(latent), weight)
        u, v = self._indices(places).view(2, -1)
        return (latent[u] * latent[v]).sum(dim=1)

    def _topological(self, x: Tensor, arcs: _Arcs, sink: _FirstActionLayer) -> None:
        """TPM (eq. 2, 3): hands the hidden layers r^1 ... r^K (N, p) to `sink`."""
        own, first, second, end_share = self._shares(arcs)
        batch_statistics = self.config.normalisation == "batch"
        w = self._w
        for weight, constant, scale, shift in zip(
            w.tpm_weight, w.tpm_constant, w.norm_scale, w.norm_shift, strict=True
        ):
            message = torch.addmm(constant, x, weight)
            x = message * own
            x.addcmul_(message[arcs.job_pred], first)
            x.addcmul_(message[arcs.machine_pred], second)
            x[arcs.end] += arcs.sum_ends(message[arcs.job_end]) * end_share
            if batch_statistics:
                x -= arcs.expand(arcs.mean(x))
                deviation = torch.rsqrt(arcs.mean(x * x) + NORM_EPS)
                x = torch.addcmul(shift, x, arcs.expand(deviation * scale))
            else:
                x = torch.addcmul(shift, x, scale)
            x.relu_()
            sink.add(x)

    def _shares(self, arcs: _Arcs) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """With what weight messages are added: the node's own, from its job and its machine predecessor (N, 1);
        and for the ends (G, 1) that of each last operation."""
        first, second = arcs.has_job.unsqueeze(1).to(self.dtype), arcs.has_machine.unsqueeze(1).to(self.dtype)
        ends = arcs.n_jobs.unsqueeze(1).to(self.dtype)
        if self.config.aggregation == "sum":
            return torch.ones_like(first), first, second, torch.ones_like(ends)
        share = 1 / (1 + first + second)
        share[arcs.end] = 1 / (1 + ends)
        return 1 + share, first * share, second * share, 1 / (1 + ends)

    def _context(self, x: Tensor, arcs: _Arcs, sink: _FirstActionLayer) -> None:
        """CAM (eq. 4-7): hands nu^K (N, p) to `sink`."""
        p, h = self.config.width, self.config.heads
        for weight, bias in zip(self._w.cam_weight, self._w.cam_bias, strict=True):
            message = x @ weight
            attention = message[:, 2 * p : 2 * p + 4 * h].unflatten(1, (2, 2, h))
            parts = []
            for i, pred in enumerate((arcs.job_pred, arcs.machine_pred)):
                values = message[:, i * p : (i + 1) * p].unflatten(1, (h, p // h))
                source, target = attention[:, i, 0], attention[:, i, 1]
                gate = torch.sigmoid(_leaky(source[pred] + target) - _leaky(source + target))
                mixed = torch.lerp(values, values[pred], gate.unsqueeze(2))
                if i == 0:
                    mixed[arcs.end] = _attend_to_ends(values, source, target, arcs)
                parts.append(F.elu_(mixed.flatten(1).add_(bias[i * p : (i + 1) * p])))
            x = parts[0].add_(parts[1]).mul_(0.5)
        sink.add(x)

    def _arcs(self, batch: GraphBatch) -> _Arcs:
        nodes = np.arange(len(batch.graph))
        end = batch.offset[1:] - 1
        return _Arcs(
            job_pred=self._indices(batch.job_pred),
            machine_pred=self._indices(batch.machine_pred),
            has_job=self._indices(batch.job_pred != nodes),
            has_machine=self._indices(batch.machine_pred != nodes),
            job_end=self._indices(batch.job_end),
            job_end_graph=self._indices(batch.job_end_graph),
            end=self._indices(end),
            n_nodes=self._indices(np.diff(batch.offset)),
            n_jobs=self._indices(np.bincount(batch.job_end_graph, minlength=batch.n_graphs)),
            graph=self._indices(batch.graph),
            equal_size=len(set(np.diff(batch.offset).tolist())) == 1,
        )

    def _indices(self, values: NDArray[Any]) -> Tensor:
        return torch.as_tensor(values.astype(np.int64, copy=False), device=self.device)

    def _floats(self, values: NDArray[Any]) -> Tensor:
        return torch.as_tensor(np.ascontiguousarray(values), dtype=self.dtype, device=self.device)


@dataclass(frozen=True)
class _Arcs:
    """The batch's arcs on the device, and sums over its graphs.

    Sums are taken segment by segment: unlike atomic additions they come out the same every time, also on a GPU.
    """

    job_pred: Tensor
    machine_pred: Tensor
    has_job: Tensor
    has_machine: Tensor
    job_end: Tensor
    job_end_graph: Tensor
    end: Tensor
    n_nodes: Tensor
    n_jobs: Tensor
    graph: Tensor
    equal_size: bool

    def mean(self, x: Tensor) -> Tensor:
        """Mean over each graph's nodes, (N, p) -> (G, p)."""
        if self.equal_size:
            return x.view(len(self.n_nodes), -1, x.shape[1]).mean(dim=1)
        return torch.segment_reduce(x, "mean", lengths=self.n_nodes, axis=0, unsafe=True)

    def expand(self, graphs: Tensor) -> Tensor:
        """A row per graph (G, p) as a row per node (N, p)."""
        return graphs if len(graphs) == 1 else graphs[self.graph]

    def sum_ends(self, x: Tensor) -> Tensor:
        """Sum over the last operations of each graph's jobs, (J, p) -> (G, p)."""
        return torch.segment_reduce(x, "sum", lengths=self.n_jobs, axis=0, unsafe=True)


def _leaky(x: Tensor) -> Tensor:
    return F.leaky_relu(x, _SLOPE)


def _attend_to_ends(values: Tensor, source: Tensor, target: Tensor, arcs: _Arcs) -> Tensor:
    """Attention of the dummy ends to the last operations of all jobs and to themselves, (G, h, p / h)."""
    own = _leaky(source[arcs.end] + target[arcs.end])
    others = _leaky(source[arcs.job_end] + target[arcs.end][arcs.job_end_graph])
    highest = torch.maximum(torch.segment_reduce(others, "max", lengths=arcs.n_jobs, axis=0, unsafe=True), own)
    own = (own - highest).exp()
    others = (others - highest[arcs.job_end_graph]).exp()
    total = own + arcs.sum_ends(others)
    weighted = arcs.sum_ends((values[arcs.job_end] * others.unsqueeze(2)).flatten(1))
    return (values[arcs.end] * own.unsqueeze(2) + weighted.view_as(values[arcs.end])) / total.unsqueeze(2)


class _FirstActionLayer:
    """The first layer of the action network, added up part by part: only candidates, the graph's share once."""

    def __init__(self, w: Any, arcs: _Arcs, candidates: Tensor, graph: Tensor, width: int) -> None:
        self._w, self._arcs, self._width = w, arcs, width
        self._candidates, self._candidate_graph = candidates, graph
        self._at = 0
        self._nodes = w.action_bias[0].new_zeros(len(candidates), w.action_node.shape[1])
        self._graphs = w.action_bias[0].repeat(len(arcs.n_nodes), 1)

    def add(self, x: Tensor) -> None:
        """Take in the next of (r^1, ..., r^K, nu^K), (N, p)."""
        rows = slice(self._at, self._at + self._width)
        self._at += self._width
        self._nodes.addmm_(x[self._candidates], self._w.action_node[rows])
        self._graphs.addmm_(self._arcs.mean(x), self._w.action_graph[rows])

    def result(self) -> Tensor:
        """(C, q), before tanh."""
        return self._nodes + self._graphs[self._candidate_graph]
