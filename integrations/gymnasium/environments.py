"""The environments: one trajectory (`gymnasium.Env`), or many that are advanced together (`VectorEnv`)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
from gymnasium.utils import seeding
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space
from numpy.typing import ArrayLike, NDArray

from integrations.gymnasium.episodes import Episodes, Observation, whole_number
from l2s_plugin.errors import L2SError
from l2s_plugin.instance import Instance
from l2s_plugin.schedule import Schedule

Info = dict[str, Any]


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
        The instance of all episodes instead; or its name or file, for `l2s_plugin.load`.
    max_steps
        Length of an episode.
    max_moves
        Number of actions, by default as many as operations; of more moves, the most promising ones are offered.
    options
        `host`, `neighbourhood`, `reward`, `start`: see `heuristics.training.environment.Environment`; `features`:
        see `PolicyConfig`, `"scaled"` by default.
    """

    metadata = {"render_modes": []}  # noqa: RUF012 (declared so by the base class)

    def __init__(
        self,
        size: str | None = None,
        instance: Instance | str | Path | None = None,
        max_steps: int = 500,
        max_moves: int | None = None,
        **options: Any,
    ) -> None:
        self._episodes = Episodes(1, size, instance, max_steps, max_moves, **options)
        self.observation_space = self._episodes.observation_space
        self.action_space = self._episodes.action_space

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Observation, Info]:
        """Begin an episode; the seed decides about the instance and all that is random in its trajectory."""
        super().reset(seed=seed)
        _refuse(options)
        self._episodes.begin(0, self.np_random)
        return self._look()

    def step(self, action: int) -> tuple[Observation, float, bool, bool, Info]:
        """Take one action."""
        if self._episodes.over[0]:
            raise L2SError("there is no episode to continue: call reset first")
        rewards, terminated, truncated = self._episodes.step([action])
        observation, info = self._look()
        return observation, float(rewards[0]), bool(terminated[0]), bool(truncated[0]), info

    @property
    def schedule(self) -> Schedule:
        """The current schedule."""
        return self._episodes.environment.schedule(0)

    @property
    def best_schedule(self) -> Schedule:
        """The best schedule of the episode."""
        return self._episodes.environment.best_schedule(0)

    def _look(self) -> tuple[Observation, Info]:
        observation = {name: array[0] for name, array in self._episodes.observe().items()}
        info = self._episodes.info()
        numbers = {name: int(info.pop(name)[0]) for name in ("makespan", "incumbent")}
        return observation, numbers | {"action_mask": info["action_mask"][0]}


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

    def __init__(self, num_envs: int = 1, **options: Any) -> None:
        self.num_envs = whole_number("num_envs", num_envs)
        self._episodes = Episodes(self.num_envs, **options)
        self._generators = [seeding.np_random()[0] for _ in range(self.num_envs)]
        self.single_observation_space = self._episodes.observation_space
        self.single_action_space = self._episodes.action_space
        self.observation_space = batch_space(self.single_observation_space, self.num_envs)
        self.action_space = batch_space(self.single_action_space, self.num_envs)

    def reset(
        self, *, seed: int | list[int | None] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observation, Info]:
        """Begin an episode in every trajectory; from a single seed they get seed, seed + 1, ..."""
        _refuse(options)
        for b, its_seed in enumerate(self._seeds(seed)):
            if its_seed is not None:
                self._generators[b] = seeding.np_random(its_seed)[0]
            self._episodes.begin(b, self._generators[b])
        return self._episodes.observe(), self._info()

    def step(
        self, actions: ArrayLike
    ) -> tuple[Observation, NDArray[np.float64], NDArray[np.bool_], NDArray[np.bool_], Info]:
        """Take one action in every trajectory."""
        begins = self._episodes.over
        rewards, terminated, truncated = self._episodes.step(actions)
        for b in np.flatnonzero(begins).tolist():
            self._episodes.begin(b, self._generators[b])
            rewards[b], terminated[b], truncated[b] = 0, False, False
        return self._episodes.observe(), rewards, terminated, truncated, self._info()

    def schedule(self, b: int) -> Schedule:
        """The current schedule of one trajectory."""
        return self._episodes.environment.schedule(b)

    def best_schedule(self, b: int) -> Schedule:
        """The best schedule of one trajectory's episode."""
        return self._episodes.environment.best_schedule(b)

    def _seeds(self, seed: int | list[int | None] | None) -> list[int | None]:
        if not isinstance(seed, list):
            return [None if seed is None else seed + b for b in range(self.num_envs)]
        if len(seed) != self.num_envs:
            raise L2SError(f"{len(seed)} seeds for {self.num_envs} trajectories, expected one for each")
        return seed

    def _info(self) -> Info:
        """As in other vector environments: beside each entry, which trajectories have it."""
        info = self._episodes.info()
        return info | {f"_{name}": np.ones(self.num_envs, np.bool_) for name in info}


def _refuse(options: dict[str, Any] | None) -> None:
    if options:
        raise L2SError(f"reset takes no options, got {', '.join(map(str, options))}")
