"""From schedules to the arrays that the network eats: a batch of disjunctive graphs of any sizes.

Nodes of a graph: the dummy start O_S, the operations in their order, the dummy end O_T. Arcs point to the node that
waits: every operation has one job predecessor (O_S before the first of a job) and at most one machine predecessor;
O_T has the last operation of every job. The dummies are in no machine order.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from l2s_plugin.errors import L2SError
from l2s_plugin.kernels.state import State, new_state, set_order
from l2s_plugin.schedule import Schedule

Floats = NDArray[np.float32]
Indices = NDArray[np.int64]

_DURATION_SCALE = 99.0
_TIME_SCALE = 1000.0


def state_of(state: Any) -> State:
    """The kernel state behind a `StateView` or of a `Schedule`; a `State` is returned as it is."""
    if isinstance(state, Schedule):
        own = new_state(state.instance, 0)
        set_order(own, state.linear_order.astype(np.uint32))
        return own
    state = getattr(state, "kernel_state", state)
    if not isinstance(state, State):
        raise L2SError(f"expected the state of a search or a schedule, got {type(state).__name__}")
    return state


@dataclass(frozen=True)
class GraphBatch:
    """Several graphs as one, N nodes in all; node numbers run through the batch.

    `job_pred` and `machine_pred` (N) hold the node itself where there is none: O_S has no job predecessor, O_T has
    several, which stand in `job_end` (J, all graphs' jobs) beside the graph each belongs to (`job_end_graph`).
    """

    features: Floats  # (N, 3)
    job_pred: Indices  # (N)
    machine_pred: Indices  # (N)
    job_end: Indices  # (J)
    job_end_graph: Indices  # (J)
    graph: Indices  # (N), the graph of each node
    offset: Indices  # (G + 1), the first node of each graph
    u: Indices  # (M), the nodes of the candidate moves
    v: Indices  # (M)
    move_graph: Indices  # (M)

    @property
    def n_graphs(self) -> int:
        return len(self.offset) - 1

    def split(self, scores: NDArray[Any]) -> list[NDArray[Any]]:
        """Scores of all moves (M), graph by graph."""
        counts = np.bincount(self.move_graph, minlength=self.n_graphs)
        return np.split(scores, np.cumsum(counts)[:-1])


def node_features(
    duration: NDArray[Any], est: NDArray[Any], lst: NDArray[Any], makespan: NDArray[Any] | int, features: str
) -> Floats:
    """Processing time, earliest and latest start of every node (paper, section 4.1, appendix B).

    Of one graph, (n) and a makespan, or of several of one size, (G, n) and (G, 1); returns (n + 2, 3) or (G, n + 2, 3).
    `features` is that of a `PolicyConfig`.
    """
    longest = duration.max(axis=-1, keepdims=True)
    unit = np.where((features == "scaled") & (longest > 0), _DURATION_SCALE / np.maximum(longest, 1), 1.0)
    x = np.zeros((*duration.shape[:-1], duration.shape[-1] + 2, 3), np.float32)
    x[..., 1:-1, 0] = duration * (unit / _DURATION_SCALE)
    x[..., 1:-1, 1] = est * (unit / _TIME_SCALE)
    x[..., 1:-1, 2] = lst * (unit / _TIME_SCALE)
    x[..., -1, 1:] = makespan * (unit / _TIME_SCALE)
    return x


def batch_graphs(
    states: Iterable[Any], moves: Sequence[tuple[ArrayLike, ArrayLike]], features: str = "paper"
) -> GraphBatch:
    """Put the graphs of `states` and their candidate moves, (u, v) arrays of operations for each, into one batch."""
    graphs = [state_of(state) for state in states]
    sizes = [len(graph.order) + 2 for graph in graphs]
    offset = np.concatenate(([0], np.cumsum(sizes, dtype=np.int64)))
    nodes_features: list[Floats] = []
    job_pred: list[Indices] = []
    machine_pred: list[Indices] = []
    job_end: list[Indices] = []
    for graph, first, size in zip(graphs, offset.tolist(), sizes, strict=False):
        n, nodes, makespan = size - 2, np.arange(first, first + size), int(graph.makespan[0])
        duration, end, tail = graph.duration[:n], graph.end[:n], graph.tail[:n]
        nodes_features.append(node_features(duration, end - duration, makespan - tail, makespan, features))
        for pred, none, column in (
            (graph.job_pred[:n], first, job_pred),
            (graph.machine_pred[:n], nodes[1:-1], machine_pred),
        ):
            row = nodes.copy()
            row[1:-1] = np.where(pred == n, none, pred.astype(np.int64) + first + 1)
            column.append(row)
        job_end.append(graph.job_last.astype(np.int64) + first + 1)
    us, vs = ([np.asarray(pair[k], np.int64).ravel() for pair in moves] for k in (0, 1))
    numbers = np.arange(len(graphs))
    return GraphBatch(
        features=np.concatenate(nodes_features),
        job_pred=np.concatenate(job_pred),
        machine_pred=np.concatenate(machine_pred),
        job_end=np.concatenate(job_end),
        job_end_graph=np.repeat(numbers, [len(ends) for ends in job_end]),
        graph=np.repeat(numbers, sizes),
        offset=offset,
        u=np.concatenate([u + 1 + first for u, first in zip(us, offset, strict=False)]),
        v=np.concatenate([v + 1 + first for v, first in zip(vs, offset, strict=False)]),
        move_graph=np.repeat(numbers, [len(u) for u in us]),
    )
