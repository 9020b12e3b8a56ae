"""The environments: one trajectory (`gymnasium.Env`), or many that are advanced together (`VectorEnv`)."""

from __future__ import annotations

from pathlib import Path
from reprlib import repr as short
from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces
from gymnasium.utils import seeding
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space
from numpy.typing import ArrayLike, NDArray

from heuristics.training.environment import DUMMY, Environment
from heuristics.training.instances import parse_size
from l2s_plugin.errors import L2SError, whole_number
from l2s_plugin.instance import Instance
from l2s_plugin.loader import load
from l2s_plugin.objectives import MAKESPAN
from l2s_plugin.policy.config import PolicyConfig
from l2s_plugin.policy.tpm_cam.graphs import node_features
from l2s_plugin.schedule import Schedule

Observation = dict[str, NDArray[Any]]
Info = dict[str, Any]

_LONGEST = 99  # duration in random instances
_SEEDS = 2**31
_SPANS = (4, 16, 64)  # steps


class JobShopImprovementEnv(gymnasium.Env[Any, Any]):
    """One trajectory through the schedules of an instance, move by move.

    Actions are numbered from the most promising move on. Where no move is admissible, and for actions that the mask
    forbids, the host decides: local search lets the step pass, tabu search takes the move that is free first. An
    episode is terminated by a schedule without moves, and truncated after `max_steps`.

    The observation of n operations, J jobs and A actions; node 0 is the dummy start, x + 1 operation x, n + 1 the
    dummy end:

    - `features` (n + 2, 3): processing time, earliest and latest start;
    - `job_pred`, `machine_pred` (n + 2): the node before each, the node itself where there is none;
    - `job_end` (J): the last node of each job, which are the nodes before the dummy end;
    - `moves` (A, 2): the nodes of each move, zeros where there is none;
    - `hints` (A, 4): by how much it promises to lower the makespan, in mean durations, and how recently what it brings
      back was changed, exp(-steps / 4), exp(-steps / 16) and exp(-steps / 64);
    - `action_mask` (A): 1 for what can be chosen; action 0 always can.

    `info` has `makespan`, `incumbent` (the best makespan of the episode) and `action_mask`.

    Parameters
    ----------
    size
        Jobs x machines, `"10x10"` by default: a new random instance for every episode.
    instance
        The instance of all episodes instead; or its name or file, for `l2s_plugin.load`. It may have dates; what counts
        is the makespan.
    max_steps
        Length of an episode.
    max_moves
        Number of actions, by default as many as operations; of more moves, the most promising ones are offered.
    options
        `host`, `neighbourhood`, `reward`, `start`: see `heuristics.training.environment.Environment`; `features`:
        see `PolicyConfig`, `"scaled"` by default.
    """

    metadata = {"render_modes": []}  # noqa: RUF012 (declared so by the base class)

    def __init__(self, size: str | None = None, instance: Instance | str | Path | None = None, **options: Any) -> None:
        self._batch = JobShopImprovementVectorEnv(1, size=size, instance=instance, **options)
        self.observation_space = self._batch.single_observation_space
        self.action_space = self._batch.single_action_space

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Observation, Info]:
        """Begin an episode; the seed decides about the instance and all that is random in its trajectory."""
        super().reset(seed=seed)
        self._batch.generators[0] = self.np_random
        return _first(*self._batch.reset(options=options))

    def step(self, action: int) -> tuple[Observation, float, bool, bool, Info]:
        """Take one action."""
        if self._batch.over[0]:
            raise L2SError("there is no episode to continue: call reset first")
        observations, rewards, terminated, truncated, infos = self._batch.step([action])
        observation, info = _first(observations, infos)
        return observation, float(rewards[0]), bool(terminated[0]), bool(truncated[0]), info

    @property
    def schedule(self) -> Schedule:
        """The current schedule."""
        return self._batch.schedule(0)

    @property
    def best_schedule(self) -> Schedule:
        """The best schedule of the episode."""
        return self._batch.best_schedule(0)


def _first(observations: Observation, infos: Info) -> tuple[Observation, Info]:
    """What a batch of one shows, without the batch."""
    info = {name: int(infos[name][0]) for name in ("makespan", "incumbent")}
    return {name: array[0] for name, array in observations.items()}, info | {"action_mask": infos["action_mask"][0]}


class JobShopImprovementVectorEnv(VectorEnv[Observation, ArrayLike, NDArray[Any]]):
    """Many trajectories, advanced together; each is that of a `JobShopImprovementEnv` with its seed.

    The step after the end of an episode begins the next one, whatever the action (`AutoresetMode.NEXT_STEP`).

    Parameters
    ----------
    num_envs
        Number of trajectories.
    options
        See `JobShopImprovementEnv`.
    """

    metadata = {"render_modes": [], "autoreset_mode": AutoresetMode.NEXT_STEP}  # noqa: RUF012

    def __init__(
        self,
        num_envs: int = 1,
        *,
        size: str | None = None,
        instance: Instance | str | Path | None = None,
        max_steps: int = 500,
        max_moves: int | None = None,
        features: str = "scaled",
        **options: Any,
    ) -> None:
        if size is not None and instance is not None:
            raise L2SError("an environment takes a size or an instance, not both")
        PolicyConfig(features=features)  # refuses unknown ones
        self.num_envs = whole_number("num_envs", num_envs, 1)
        self._size = parse_size("10x10" if size is None else size)
        self._instance = load(instance) if isinstance(instance, str | Path) else instance
        if not isinstance(self._instance, Instance | None):
            raise L2SError(f"instance must be an Instance, a name or a file, got {instance!r}")
        if self._instance is not None and self._instance.objective != MAKESPAN:
            raise L2SError(f"{self._instance!r} is about {self._instance.objective}, an environment about the makespan")
        self._max_steps = whole_number("max_steps", max_steps, 1)
        self._options: dict[str, Any] = {"features": features, **options}
        self.generators = [seeding.np_random()[0] for _ in range(self.num_envs)]
        example = self._draw(0)
        capacity = whole_number("max_moves", example.n_operations if max_moves is None else max_moves, 1)
        longest = np.full(example.n_operations, _LONGEST) if self._instance is None else example.duration
        self._environment = Environment([example] * self.num_envs, **self._options)
        self.over = np.ones(self.num_envs, np.bool_)  # none has begun
        self._steps = np.zeros(self.num_envs, np.int64)
        self._numbers = np.full((self.num_envs, capacity), DUMMY)  # what the environment calls each action
        self.single_action_space = spaces.Discrete(capacity)
        self.single_observation_space = observation_space(example.n_jobs, longest, features, capacity)
        self.action_space = batch_space(self.single_action_space, self.num_envs)
        self.observation_space = batch_space(self.single_observation_space, self.num_envs)
        self._look()

    def reset(
        self, *, seed: int | list[int | None] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observation, Info]:
        """Begin an episode in every trajectory; from a single seed they get seed, seed + 1, ..."""
        if options:
            raise L2SError(f"reset takes no options, got {', '.join(map(str, options))}")
        seeds = seed if isinstance(seed, list) else [None if seed is None else seed + b for b in range(self.num_envs)]
        if len(seeds) != self.num_envs:
            raise L2SError(f"{len(seeds)} seeds for {self.num_envs} trajectories, expected one for each")
        for b, its_seed in enumerate(seeds):
            if its_seed is not None:
                self.generators[b] = seeding.np_random(its_seed)[0]
            self._begin(b)
        return self._look()

    def step(
        self, actions: ArrayLike
    ) -> tuple[Observation, NDArray[np.float64], NDArray[np.bool_], NDArray[np.bool_], Info]:
        """Take one action in every trajectory."""
        chosen, begins, count = np.asarray(actions), self.over, self._numbers.shape[1]
        if chosen.shape != begins.shape or not np.issubdtype(chosen.dtype, np.integer):
            raise L2SError(f"expected {self.num_envs} actions as whole numbers, got {short(chosen.tolist())}")
        if ((chosen < 0) | (chosen >= count)).any():
            raise L2SError(f"an action is a number from 0 to {count - 1}, got {short(chosen.tolist())}")
        rewards = self._environment.step(self._numbers[np.arange(self.num_envs), chosen])
        self._steps += 1
        terminated, truncated = self._environment.absorbed, self._steps >= self._max_steps
        self.over = terminated | truncated
        for b in np.flatnonzero(begins).tolist():
            self._begin(b)
            rewards[b], terminated[b], truncated[b] = 0, False, False
        observation, info = self._look()
        return observation, rewards, terminated, truncated, info

    def schedule(self, b: int) -> Schedule:
        """The current schedule of one trajectory."""
        return self._environment.schedule(b)

    def best_schedule(self, b: int) -> Schedule:
        """The best schedule of one trajectory's episode."""
        return self._environment.best_schedule(b)

    def _begin(self, b: int) -> None:
        """Begin an episode of trajectory `b`."""
        instance_seed, seed = self.generators[b].integers(_SEEDS, size=2).tolist()
        self._environment.adopt(b, Environment([self._draw(instance_seed)], seed=seed, **self._options))
        self._steps[b] = 0
        self.over[b] = False

    def _look(self) -> tuple[Observation, Info]:
        """Observation and info of all trajectories, and the numbers of their actions, the most promising move first.

        Has to be called between two steps.
        """
        graphs, shape = self._environment.observe(), self._numbers.shape
        b, n_moves = graphs.move_graph, self._environment.n_actions
        gains, idle = self._environment.promises()
        order = np.lexsort((-gains, b))  # stays within each trajectory
        first_move = np.cumsum(n_moves) - n_moves
        action = np.arange(len(order)) - first_move[b]
        b, order, action = (column[action < shape[1]] for column in (b, order, action))
        self._numbers.fill(DUMMY)
        self._numbers[b, action] = order - first_move[b]
        moves, hints = np.zeros((*shape, 2), np.int64), np.zeros((*shape, 1 + len(_SPANS)), np.float32)
        moves[b, action] = np.column_stack((graphs.u, graphs.v))[order] - graphs.offset[b, None]
        hints[b, action] = np.column_stack((gains, *(np.exp(-idle / span) for span in _SPANS)))[order]
        mask = (self._numbers != DUMMY).astype(np.int8)
        mask[:, 0] = 1  # so that there always is something to choose
        first_node, rows = graphs.offset[:-1, None], (self.num_envs, -1)
        observation = {
            "features": graphs.features.reshape(*rows, 3),
            "job_pred": graphs.job_pred.reshape(rows) - first_node,
            "machine_pred": graphs.machine_pred.reshape(rows) - first_node,
            "job_end": graphs.job_end.reshape(rows) - first_node,
            "moves": moves,
            "hints": hints,
            "action_mask": mask,
        }
        info = {
            "makespan": self._environment.makespans.astype(np.int64),
            "incumbent": self._environment.incumbents,
            "action_mask": mask.copy(),
        }
        # as in other vector environments: beside each entry, which trajectories have it
        return observation, info | {f"_{name}": np.ones(self.num_envs, np.bool_) for name in info}

    def _draw(self, seed: int) -> Instance:
        return self._size.instance(seed) if self._instance is None else self._instance


def observation_space(n_jobs: int, duration: NDArray[Any], features: str, capacity: int) -> spaces.Dict:
    """The space of one trajectory; `duration` (n) holds the longest that operations can be."""
    n, total = len(duration), int(duration.sum())
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
