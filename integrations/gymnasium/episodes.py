"""Trajectories that begin, end and begin again, seen through spaces of fixed shapes."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from gymnasium import spaces
from numpy.typing import ArrayLike, NDArray

from heuristics.training.environment import DUMMY, Environment
from heuristics.training.instances import parse_size
from l2s_plugin.errors import L2SError
from l2s_plugin.instance import Instance
from l2s_plugin.loader import load
from l2s_plugin.policy.config import PolicyConfig
from l2s_plugin.policy.graph.graphs import GraphBatch, node_features

Observation = dict[str, NDArray[Any]]

_LONGEST = 99  # duration in random instances
_SEEDS = 2**31
_SPANS = (4, 16, 64)  # steps


class Episodes:
    """A batch of trajectories; the options are those of `JobShopImprovementEnv`."""

    def __init__(
        self,
        count: int,
        size: str | None = None,
        instance: Instance | str | Path | None = None,
        max_steps: int = 500,
        max_moves: int | None = None,
        features: str = "scaled",
        host: str = "local-search",
        neighbourhood: Any = "n5",
        reward: str = "incumbent",
        start: str = "fdd/mwkr",
    ) -> None:
        if size is not None and instance is not None:
            raise L2SError("an environment takes a size or an instance, not both")
        PolicyConfig(features=features)  # refuses unknown ones
        self._size = parse_size("10x10" if size is None else size)
        self._instance = None if instance is None else _loaded(instance)
        self._max_steps = whole_number("max_steps", max_steps)
        self._make = partial(
            Environment, host=host, neighbourhood=neighbourhood, features=features, reward=reward, start=start
        )
        example = self._draw(0)
        capacity = whole_number("max_moves", example.n_operations if max_moves is None else max_moves)
        longest = np.full(example.n_operations, _LONGEST) if self._instance is None else example.duration
        self.environment = self._make([example] * count)
        self.over = np.ones(count, np.bool_)  # none has begun
        self._steps = np.zeros(count, np.int64)
        self._numbers = np.full((count, capacity), DUMMY)  # what the environment calls each action
        self.action_space = spaces.Discrete(capacity)
        self.observation_space = observation_space(example.n_jobs, longest, features, capacity)
        self.observe()

    def begin(self, b: int, rng: np.random.Generator) -> None:
        """Begin an episode of trajectory `b`."""
        instance_seed, seed = rng.integers(_SEEDS, size=2).tolist()
        self.environment.adopt(b, self._make([self._draw(instance_seed)], seed=seed))
        self._steps[b] = 0
        self.over[b] = False

    def _draw(self, seed: int) -> Instance:
        return self._size.instance(seed) if self._instance is None else self._instance

    def step(self, actions: ArrayLike) -> tuple[NDArray[np.float64], NDArray[np.bool_], NDArray[np.bool_]]:
        """Take one action each; returns rewards, terminated and truncated."""
        chosen = self._checked(actions)
        rewards = self.environment.step(self._numbers[np.arange(len(chosen)), chosen])
        self._steps += 1
        terminated, truncated = self.environment.absorbed, self._steps >= self._max_steps
        self.over = terminated | truncated
        return rewards, terminated, truncated

    def _checked(self, actions: ArrayLike) -> NDArray[np.integer[Any]]:
        chosen, count = np.asarray(actions), self.action_space.n
        if chosen.shape != self.over.shape or not np.issubdtype(chosen.dtype, np.integer):
            raise L2SError(f"expected {len(self.over)} actions as whole numbers, got {_in_one_line(actions)}")
        if ((chosen < 0) | (chosen >= count)).any():
            raise L2SError(f"an action is a number from 0 to {count - 1}, got {_in_one_line(actions)}")
        return chosen

    def observe(self) -> Observation:
        """All trajectories; see `JobShopImprovementEnv`. Has to be called between two steps."""
        graphs = self.environment.observe()
        first_node = graphs.offset[:-1, None]
        moves, hints = self._offer(graphs)
        return {
            "features": graphs.features.reshape(len(first_node), -1, 3),
            "job_pred": graphs.job_pred.reshape(len(first_node), -1) - first_node,
            "machine_pred": graphs.machine_pred.reshape(len(first_node), -1) - first_node,
            "job_end": graphs.job_end.reshape(len(first_node), -1) - first_node,
            "moves": moves,
            "hints": hints,
            "action_mask": self._mask(),
        }

    def _offer(self, graphs: GraphBatch) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
        """Number the moves of every trajectory, the most promising first; nodes and hints of each action."""
        shape = self._numbers.shape
        moves, hints = np.zeros((*shape, 2), np.int64), np.zeros((*shape, 1 + len(_SPANS)), np.float32)
        b = graphs.move_graph
        gains, idle = self.environment.promises()
        order = np.lexsort((-gains, b))  # stays within each trajectory
        n_moves = self.environment.n_actions
        first_move = np.cumsum(n_moves) - n_moves
        action = np.arange(len(order)) - first_move[b]
        b, order, action = (column[action < shape[1]] for column in (b, order, action))
        moves[b, action] = np.column_stack((graphs.u, graphs.v))[order] - graphs.offset[b, None]
        recency = (np.exp(-idle / span) for span in _SPANS)
        hints[b, action] = np.column_stack((gains, *recency))[order]
        self._numbers.fill(DUMMY)
        self._numbers[b, action] = order - first_move[b]
        return moves, hints

    def info(self) -> dict[str, NDArray[Any]]:
        """What is known about all trajectories beside the observation."""
        return {
            "makespan": self.environment.makespans.astype(np.int64),
            "incumbent": self.environment.incumbents,
            "action_mask": self._mask(),
        }

    def _mask(self) -> NDArray[np.int8]:
        """What can be chosen; the first action where there is no move, so that there always is something."""
        mask = (self._numbers != DUMMY).astype(np.int8)
        mask[:, 0] = 1
        return mask


def observation_space(n_jobs: int, duration: NDArray[Any], features: str, capacity: int) -> spaces.Dict:
    """The space of one trajectory; `duration` (n) holds the longest that operations can be."""
    n = len(duration)
    total = int(duration.sum())
    latest = np.full(n, total)
    largest = node_features(duration, latest, latest, total, features)
    largest = np.nextafter(np.broadcast_to(largest.max(axis=0), (n + 2, 3)), np.float32(np.inf))
    # an estimate adds two paths through the schedule, which are no longer than all operations together
    gain_and_recency = np.tile(np.array([[-2 * n, 0, 0, 0], [n, 1, 1, 1]], np.float32), (capacity, 1, 1))
    return spaces.Dict(
        {
            "features": spaces.Box(np.float32(0), largest, (n + 2, 3), np.float32),
            "job_pred": spaces.Box(0, n + 1, (n + 2,), np.int64),
            "machine_pred": spaces.Box(0, n + 1, (n + 2,), np.int64),
            "job_end": spaces.Box(1, n, (n_jobs,), np.int64),
            "moves": spaces.Box(0, n, (capacity, 2), np.int64),
            "hints": spaces.Box(gain_and_recency[:, 0], gain_and_recency[:, 1], (capacity, 4), np.float32),
            "action_mask": spaces.MultiBinary(capacity),
        }
    )


def _in_one_line(value: Any) -> str:
    return " ".join(repr(value).split())


def _loaded(instance: Any) -> Instance:
    if isinstance(instance, str | Path):
        return load(instance)
    if not isinstance(instance, Instance):
        raise L2SError(f"instance must be an Instance, a name or a file, got {instance!r}")
    return instance


def whole_number(name: str, value: Any) -> int:
    """The value, if it is one that counts something."""
    if not isinstance(value, int | np.integer) or isinstance(value, bool) or value < 1:
        raise L2SError(f"{name} must be a whole number, 1 or more, got {value!r}")
    return int(value)
