"""How Python code sees the state of a search: numpy views, nothing copied."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from l2s_plugin.instance import Instance, IntArray
from l2s_plugin.kernels.moves import Moves, exact_values
from l2s_plugin.kernels.state import State


class StateView:
    """The current schedule of a search, for selectors and neighbourhoods written in Python.

    The arrays are live: they change with the next move; copy what you want to keep.
    """

    def __init__(self, instance: Instance, kernel_state: State) -> None:
        self.instance = instance
        self.kernel_state = kernel_state
        self.step = 0
        self.incumbent = 0
        self._n = instance.n_operations

    @property
    def makespan(self) -> int:
        """Makespan of the current schedule."""
        return int(self.kernel_state.makespan[0])

    @property
    def est(self) -> IntArray:
        """Earliest start of every operation."""
        return self.kernel_state.end[: self._n] - self.kernel_state.duration[: self._n]

    @property
    def lst(self) -> IntArray:
        """Latest start of every operation that keeps the makespan."""
        return self.makespan - self.tail

    @property
    def tail(self) -> IntArray:
        """Longest path from the start of every operation to the end of the schedule."""
        return self.kernel_state.tail[: self._n]

    @property
    def machine_pred(self) -> NDArray[np.uint32]:
        """Operation before each on its machine; the number of operations stands for none."""
        return self.kernel_state.machine_pred[: self._n]

    @property
    def machine_succ(self) -> NDArray[np.uint32]:
        """Operation after each on its machine; the number of operations stands for none."""
        return self.kernel_state.machine_succ[: self._n]

    @property
    def critical_path(self) -> NDArray[np.uint32]:
        """The critical path the candidate moves were taken from."""
        return self.kernel_state.path[: self.kernel_state.path_length[0]]

    @property
    def linear_order(self) -> NDArray[np.uint32]:
        """All operations in one topological order."""
        return self.kernel_state.order

    def evaluate(self, moves: Moves) -> IntArray:
        """Exact makespan after each of the moves; the state stays as it is."""
        values = np.empty(len(moves.u), np.int32)
        exact_values(self.kernel_state, moves.u, moves.v, moves.forward, len(moves.u), values)
        return values
