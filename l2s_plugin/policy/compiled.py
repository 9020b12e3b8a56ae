"""The policy network for searches: a compiled engine for one state at a time, and one interface to both engines."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from l2s_plugin.errors import L2SError
from l2s_plugin.instance import Instance
from l2s_plugin.kernels.policy import ALIGN, GATHER_ROWS, HEADER, score_pairs
from l2s_plugin.kernels.state import State
from l2s_plugin.kernels.view import StateView
from l2s_plugin.policy.config import PolicyConfig
from l2s_plugin.policy.folding import cam_columns, fold

Scores = NDArray[np.float32]
ENGINES = ("auto", "compiled", "fused")


class CompiledNetwork:
    """The network as one float32 array of weights and work space, for `l2s_plugin.kernels.policy`.

    One array belongs to one thread at a time: searches that run side by side take one each from `parameters`.
    """

    def __init__(self, config: PolicyConfig, weights: Mapping[str, Any]) -> None:
        self.config = config
        folded = fold(config, weights)
        header = np.zeros(HEADER)
        header[:11] = (
            config.width, config.layers, config.heads, config.has_tpm, config.has_cam, config.aggregation == "mean",
            config.normalisation == "batch", config.action_width, len(folded.action_weight),
            config.features == "scaled", cam_columns(config),
        )  # fmt: skip
        pieces = [
            header, folded.action_node, folded.action_graph,
            np.concatenate(folded.action_weight), np.concatenate(folded.action_bias),
        ]  # fmt: skip
        for weight, *vectors in zip(
            folded.tpm_weight, folded.tpm_constant, folded.norm_scale, folded.norm_shift, strict=True
        ):
            pieces += (weight, np.concatenate(vectors))
        for weight, bias in zip(folded.cam_weight, folded.cam_bias, strict=True):
            pieces += (weight, np.zeros(weight.shape[1]), bias)
        self._weights = np.concatenate([_whole_lines(piece) for piece in pieces])
        self._idle: list[tuple[int, Scores]] = []  # work spaces, and for how many operations each is large enough

    def parameters(self, instance: Instance) -> Scores:
        """A fresh array for searches on `instance` (see `CompiledSelector.parameters`)."""
        return self._allocate(instance.n_operations)

    def _allocate(self, n: int) -> Scores:
        p, q = self.config.width, self.config.action_width
        columns = cam_columns(self.config) if self.config.has_cam else p
        sizes = ((n + 2) * 3, (n + 2) * p, 8 * p, GATHER_ROWS * p, q, n * q, n * q, (n + 2) * columns)
        work = sum(size + ALIGN for size in sizes)
        array = np.zeros(len(self._weights) + work + ALIGN, np.float32)  # only touched pages take memory
        array = array[-(array.ctypes.data // 4) % ALIGN :]
        array[: len(self._weights)] = self._weights
        return array

    def scores(self, state: State, u: NDArray[np.uint32], v: NDArray[np.uint32]) -> Scores:
        """Score of every move (u, v); threads may call this at the same time for states of their own."""
        n = len(state.order)
        if u.shape != v.shape or u.ndim != 1:
            raise L2SError(f"moves must be two arrays of the same length, got shapes {u.shape} and {v.shape}")
        if max(u.max(initial=0), v.max(initial=0)) >= n:
            raise L2SError(f"moves must be pairs of operations from 0 to {n - 1}")
        try:
            room, work = self._idle.pop()
        except IndexError:
            room = -1
        if room < n:
            room, work = n, self._allocate(n)
        scores = np.empty(len(u))
        score_pairs(state, u, v, len(u), work, scores)
        self._idle.append((room, work))
        return scores.astype(np.float32)


class Scorer:
    """Scores of candidate moves by a policy, for one state or many.

    Parameters
    ----------
    config, weights
        The architecture, and the network's `state_dict` (torch tensors or numpy arrays).
    device
        "cpu", or any other device torch knows ("cuda", ...).
    engine
        "compiled" (CPU only), "fused" (torch, any device), or "auto": compiled on the CPU, where it is the faster one
        for batches, too (docs/policy-network.md), and fused elsewhere. The scores agree to float32 rounding.
    """

    def __init__(
        self, config: PolicyConfig, weights: Mapping[str, Any], device: str = "cpu", engine: str = "auto"
    ) -> None:
        if engine not in ENGINES:
            raise L2SError(f"unknown policy engine {engine!r}, expected {' or '.join(ENGINES)}")
        if engine == "compiled" and device != "cpu":
            raise L2SError(f"the compiled policy engine runs on the cpu, not on {device!r}")
        self.config = config
        self.device = device
        self.engine = engine
        self._weights = weights
        self._compiled = CompiledNetwork(config, weights) if engine != "fused" and device == "cpu" else None
        self._fused: Any = None
        if self._compiled is None:
            self._load_fused()

    @property
    def compiled(self) -> CompiledNetwork:
        """The compiled form, for searches that run without Python."""
        if self._compiled is None:
            self._compiled = CompiledNetwork(self.config, self._weights)
        return self._compiled

    def scores(self, state: StateView | State, u: ArrayLike, v: ArrayLike) -> Scores:
        """Score of every move (u, v) of one state, (M) float32."""
        return self.scores_batch([state], [(u, v)])[0]

    def scores_batch(self, states: Sequence[Any], moves: Sequence[tuple[ArrayLike, ArrayLike]]) -> list[Scores]:
        """Scores of the moves (u, v) of each state, (M) float32 each.

        States are those of searches, of any instances (`StateView`, kernel `State`); the fused engine, which "auto"
        takes for them, also accepts `Schedule` and `Graph`.
        """
        if len(states) != len(moves):
            raise L2SError(f"{len(states)} states but moves for {len(moves)}")
        kernel_states = [getattr(state, "kernel_state", state) for state in states]
        searching = all(isinstance(state, State) for state in kernel_states)
        if self.engine == "compiled" and not searching:
            raise L2SError("the compiled policy engine scores the states of searches only")
        if self._compiled is None or not searching:
            return self._load_fused().scores(kernel_states, moves)
        return [
            self._compiled.scores(state, _operations(u), _operations(v))
            for state, (u, v) in zip(kernel_states, moves, strict=True)
        ]

    def _load_fused(self) -> Any:
        if self._fused is None:
            from l2s_plugin.policy.fused import FusedNetwork

            self._fused = FusedNetwork(self.config, self._weights, self.device)
        return self._fused


def _whole_lines(piece: NDArray[np.float64]) -> Scores:
    flat = piece.ravel().astype(np.float32)
    return np.pad(flat, (0, -len(flat) % ALIGN))


def _operations(values: ArrayLike) -> NDArray[np.uint32]:
    return np.ascontiguousarray(values, np.uint32)
