"""From states to what the network over surroundings sees: whole graphs, with the inputs that the compiled form has."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from l2s_plugin.kernels.compile import kernel
from l2s_plugin.kernels.graph import N_ARC_FEATURES, N_NODE_FEATURES, fill_arc_features, fill_nodes
from l2s_plugin.kernels.move_rule import fill_common_features
from l2s_plugin.kernels.moves import Moves
from l2s_plugin.policy.graph.network import Surroundings
from l2s_plugin.selectors import per_duration


@kernel
def fill_arcs(state, moves, rows, per_duration, work, features):  # type: ignore[no-untyped-def]
    """Inputs of the moves in those rows."""
    fill_common_features(state, moves, rows.shape[0], per_duration, work)
    for i in range(rows.shape[0]):
        fill_arc_features(state, moves, rows[i], per_duration, work, features[i])


def observe(states: Sequence[Any], moves: Sequence[Moves], device: str = "cpu") -> Surroundings:
    """The graphs of states of searches, and all their moves."""
    sizes = [len(state.kernel_state.order) for state in states]
    total, counts = sum(sizes), [len(m.u) for m in moves]
    nodes, neighbours = np.empty((total, N_NODE_FEATURES), np.float32), np.empty((total, 4), np.int64)
    arcs, work = np.empty((sum(counts), N_ARC_FEATURES), np.float32), np.zeros(32, np.float32)
    firsts, starts = np.cumsum([0, *sizes]), np.cumsum([0, *counts])
    for k, (state, move) in enumerate(zip(states, moves, strict=True)):
        unit, own = np.float32(per_duration(state.instance)), slice(firsts[k], firsts[k + 1])
        fill_nodes(state.kernel_state, unit, nodes[own], neighbours[own], firsts[k], total)
        columns = Moves._make(np.ascontiguousarray(column) for column in move)
        fill_arcs(state.kernel_state, columns, np.arange(counts[k]), unit, work, arcs[starts[k] : starts[k + 1]])
    u, v = (_numbers([m[side] for m in moves], firsts) for side in (0, 1))
    return Surroundings(*(torch.as_tensor(array, device=device) for array in (nodes, neighbours, u, v, arcs)))


def _numbers(operations: Sequence[NDArray[Any]], firsts: NDArray[np.int64]) -> NDArray[np.int64]:
    return np.concatenate([column.astype(np.int64) + first for column, first in zip(operations, firsts, strict=False)])
