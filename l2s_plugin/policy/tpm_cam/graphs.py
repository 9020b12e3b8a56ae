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
    offset = np.cumsum([0, *(len(graph.order) + 2 for graph in graphs)])
    rows = []
    for graph, (u, v, *_), first in zip(graphs, moves, offset[:-1], strict=True):
        n, makespan, duration = len(graph.order), int(graph.makespan[0]), graph.duration[: len(graph.order)]
        est, lst = graph.end[:n] - duration, makespan - graph.tail[:n]
        job_pred, machine_pred = np.arange(n + 2), np.arange(n + 2)
        job_pred[1:-1] = (graph.job_pred[:n] + 1) % (n + 1)  # none: O_S
        np.copyto(machine_pred[1:-1], graph.machine_pred[:n] + 1, where=graph.machine_pred[:n] < n)
        operations = (np.asarray(each, np.int64).ravel() + 1 for each in (graph.job_last, u, v))
        nodes = [column + first for column in (job_pred, machine_pred, *operations)]
        rows.append((node_features(duration, est, lst, makespan, features), *nodes))
    columns = [list(column) for column in zip(*rows, strict=True)]
    x, job_pred, machine_pred, job_end, u, v = (np.concatenate(column) for column in columns)
    numbers = np.arange(len(graphs))
    of_node, _, _, of_job, of_move, _ = (np.repeat(numbers, [len(row) for row in column]) for column in columns)
    return GraphBatch(x, job_pred, machine_pred, job_end, of_job, of_node, offset, u, v, of_move)
