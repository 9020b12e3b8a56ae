"""How Python code sees the state of a search: numpy views, nothing copied."""

from __future__ import annotations

import numpy as np

from l2s_plugin.instance import Instance, IntArray
from l2s_plugin.kernels.moves import Moves, exact_values
from l2s_plugin.kernels.state import Operations, State


class StateView:
    """The current schedule of a search, for selectors and neighbourhoods written in Python.

    The arrays are live: they change with the next move; copy what you want to keep.

    Attributes
    ----------
    instance, step, incumbent
        What is searched, how many moves were made, and the smallest makespan so far.
    tail
        Longest path from the start of every operation to the end of the schedule.
    machine_pred, machine_succ
        Operation before and after each on its machine; the number of operations stands for none.
    linear_order
        All operations in one topological order.
    """

    def __init__(self, instance: Instance, kernel_state: State) -> None:
        self.instance = instance
        self.kernel_state = kernel_state
        self.step = self.incumbent = 0
        n = instance.n_operations
        self.tail: IntArray = kernel_state.tail[:n]
        self.machine_pred: Operations = kernel_state.machine_pred[:n]
        self.machine_succ: Operations = kernel_state.machine_succ[:n]
        self.linear_order: Operations = kernel_state.order

    @property
    def makespan(self) -> int:
        """Makespan of the current schedule."""
        return int(self.kernel_state.makespan[0])

    @property
    def est(self) -> IntArray:
        """Earliest start of every operation."""
        n = self.instance.n_operations
        return self.kernel_state.end[:n] - self.kernel_state.duration[:n]

    @property
    def lst(self) -> IntArray:
        """Latest start of every operation that keeps the makespan."""
        return self.makespan - self.tail

    @property
    def critical_path(self) -> Operations:
        """The critical path the candidate moves were taken from."""
        return self.kernel_state.path[: self.kernel_state.path_length[0]]

    def evaluate(self, moves: Moves) -> IntArray:
        """Exact makespan after each of the moves; the state stays as it is."""
        values = np.empty(len(moves.u), np.int32)
        exact_values(self.kernel_state, moves.u, moves.v, moves.forward, len(moves.u), values)
        return values
