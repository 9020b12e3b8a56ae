"""The improvement process as a Markov decision process (paper, section 4.1), for a batch of instances at once.

State: a schedule. Action: one of the admissible moves. Transition: deterministic. A schedule without moves is
absorbing: its only action is the dummy, which changes nothing and earns nothing. The host decides which moves are
admissible: local search leaves out the immediate undo, as the authors do; tabu search what its memory forbids.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from heuristics.hosts.dispatching import dispatch
from heuristics.hosts.trajectories import tabu_memory
from heuristics.loop.kernels import BEST
from heuristics.loop.memory import Memory, begin_record, move_capacity, new_record, rules_for
from heuristics.training import kernels
from l2s_plugin.errors import L2SError, PluginError
from l2s_plugin.instance import Instance
from l2s_plugin.kernels.move_features import ARC_FEATURES, N_MOVE_FEATURES, N_NODE_FEATURES
from l2s_plugin.kernels.moves import new_moves
from l2s_plugin.kernels.state import new_state, set_order
from l2s_plugin.neighbourhoods import Neighbourhood
from l2s_plugin.policy.tpm_cam.graphs import GraphBatch, node_features
from l2s_plugin.registry import Registry, default_registry
from l2s_plugin.schedule import Schedule
from l2s_plugin.selectors import per_duration
from l2s_plugin.specs import NeighbourhoodSpec

if TYPE_CHECKING:
    from l2s_plugin.policy.graph.network import Surroundings

HOSTS = ("local-search", "tabu")
REWARDS = ("incumbent", "decrement")
DUMMY = -1


class Environment:
    """A batch of trajectories, one per instance; all instances have the same numbers of operations and jobs.

    >>> environment = Environment(instances, seed=1)                    # doctest: +SKIP
    >>> while training:                                                 # doctest: +SKIP
    ...     rewards = environment.step(choose(environment.observe()))   # doctest: +SKIP

    Parameters
    ----------
    instances
        What to schedule.
    host
        Whose moves are the actions: `"local-search"` (all but the undo of the last one) or `"tabu"`.
    neighbourhood
        Name, or a compiled neighbourhood.
    features
        How node features are scaled; see `PolicyConfig`.
    reward
        In mean durations. `"incumbent"`: by how much a step lowers the best makespan so far (paper, eq. 1);
        `"decrement"`: by how much it lowers the current makespan, negative where it rises.
    start
        Dispatching rule of the first schedules.
    seed
        Of the critical paths, where there are several, and the tenures.
    """

    def __init__(
        self,
        instances: Sequence[Instance],
        host: str = "local-search",
        neighbourhood: Any = "n5",
        features: str = "paper",
        reward: str = "incumbent",
        start: str = "fdd/mwkr",
        seed: int = 0,
        registry: Registry | None = None,
    ) -> None:
        if len({(instance.n_operations, instance.n_jobs) for instance in instances}) != 1:
            raise L2SError("an environment needs one or more instances, all of the same size")
        if host not in HOSTS or reward not in REWARDS:
            raise L2SError(f"host must be {' or '.join(HOSTS)} and reward {' or '.join(REWARDS)}, got {host}, {reward}")
        self.instances = list(instances)
        self.reward = reward
        part = (registry or default_registry()).create(NeighbourhoodSpec, neighbourhood)
        if not isinstance(part, Neighbourhood):
            raise L2SError(f"training needs a compiled neighbourhood, {neighbourhood!r} is written in Python")
        self._list_moves = part.kernel
        memory = host_memory(host, instances[0])
        self._rules = rules_for(memory)
        n, capacity = instances[0].n_operations, move_capacity(instances[0].n_operations)
        seeds = np.random.SeedSequence(seed).generate_state(len(instances), np.uint64)
        states = [new_state(instance, kernel_seed) for instance, kernel_seed in zip(instances, seeds, strict=True)]
        records = [new_record(n, memory, capacity, event_rows=2) for _ in instances]
        for instance, state, record in zip(instances, states, records, strict=True):
            set_order(state, dispatch(instance, start, seed).linear_order.astype(np.uint32))
            begin_record(state, record, self._rules)
        self._states, self._records = _stack(states), _stack(records)
        self._moves = _stack([new_moves(capacity) for _ in instances])
        self._counts = np.zeros(len(instances), np.int64)
        self._admissible = np.zeros(len(instances), np.int64)
        self._features = features
        self._per_duration = np.array([per_duration(instance) for instance in instances])
        self._job_pred, self._job_end = _job_arcs(instances)
        self.initial_makespans = self.makespans
        self._list()

    @property
    def makespans(self) -> NDArray[np.int32]:
        """Makespan of the current schedules (B)."""
        return self._states.makespan[:, 0].copy()

    @property
    def incumbents(self) -> NDArray[np.int64]:
        """Best makespan of each trajectory so far (B)."""
        return self._records.counters[:, BEST].copy()

    @property
    def n_actions(self) -> NDArray[np.int64]:
        """Number of moves to choose from (B); where it is 0, the dummy action is all there is."""
        return self._admissible.copy()

    @property
    def absorbed(self) -> NDArray[np.bool_]:
        """Which schedules have no moves at all, forbidden ones included (B)."""
        return self._counts == 0

    def schedule(self, b: int) -> Schedule:
        """The current schedule of one trajectory."""
        return Schedule.from_linear_order(self.instances[b], self._states.order[b].astype(np.int32))

    def best_schedule(self, b: int) -> Schedule:
        """The incumbent of one trajectory."""
        return Schedule.from_linear_order(self.instances[b], self._records.best_order[b].astype(np.int32))

    def adopt(self, b: int, other: Environment) -> None:
        """Let trajectory `b` be the first one of another environment, made with the same options for the same size."""
        if (self._job_pred.shape[1], self._job_end.shape[1]) != (other._job_pred.shape[1], other._job_end.shape[1]):
            raise L2SError("the trajectories of an environment are all of the same size")
        for mine, theirs in zip(self._arrays(), other._arrays(), strict=True):
            mine[b] = theirs[0]
        self._number()
        self.instances[b] = other.instances[0]
        first = b * self._job_pred.shape[1]
        self._job_pred[b], self._job_end[b] = other._job_pred[0] + first, other._job_end[0] + first

    def _arrays(self) -> tuple[NDArray[Any], ...]:
        """All that differs from trajectory to trajectory, node numbers aside."""
        return (
            *self._states, *self._records, *self._moves, self._counts, self._admissible, self._per_duration,
            self.initial_makespans,
        )  # fmt: skip

    def actions(self, b: int) -> list[tuple[int, int]]:
        """The admissible moves (u, v) of one trajectory, in the order in which actions number them."""
        rows = self._rows[self._trajectory == b]
        return [(int(self._moves.u[b, row]), int(self._moves.v[b, row])) for row in rows]

    def observe(self) -> GraphBatch:
        """The schedules as graphs, with the admissible moves of all of them, instance by instance."""
        states, moves = self._states, self._moves
        count, n = states.order.shape
        duration, makespan = states.duration[:, :n], states.makespan
        est, lst = states.end[:, :n] - duration, makespan - states.tail[:, :n]
        nodes = np.arange(count * (n + 2)).reshape(count, n + 2)
        first, before = nodes[:, :1], states.machine_pred[:, :n].astype(np.int64)
        machine_pred = nodes.copy()
        np.copyto(machine_pred[:, 1:-1], before + first + 1, where=before < n)
        b, numbers = self._trajectory, np.arange(count)
        return GraphBatch(
            features=node_features(duration, est, lst, makespan, self._features).reshape(-1, 3),
            job_pred=self._job_pred.reshape(-1),
            machine_pred=machine_pred.reshape(-1),
            job_end=self._job_end.reshape(-1),
            job_end_graph=np.repeat(numbers, self._job_end.shape[1]),
            graph=np.repeat(numbers, n + 2),
            offset=np.arange(count + 1) * (n + 2),
            u=moves.u[b, self._rows] + first[b, 0] + 1,
            v=moves.v[b, self._rows] + first[b, 0] + 1,
            move_graph=b,
        )

    def surroundings(self, device: str = "cpu") -> tuple[Surroundings, NDArray[np.float32]]:
        """The same for a network over surroundings, beside all that is known about the moves (M, `MoveFeature`)."""
        import torch

        from l2s_plugin.policy.graph.network import Surroundings

        count, n = self._states.order.shape
        nodes = np.empty((count, n, N_NODE_FEATURES), np.float32)
        neighbours = np.empty((count, n, 4), np.int64)
        features = np.zeros((len(self._rows), N_MOVE_FEATURES), np.float32)
        b, rows = self._trajectory, self._rows
        kernels.observe_graphs(
            self._states,
            self._moves,
            self._counts,
            b,
            rows,
            self._per_duration.astype(np.float32),
            nodes,
            neighbours,
            features,
        )
        u, v = (column[b, rows].astype(np.int64) + b * n for column in (self._moves.u, self._moves.v))
        arrays = (nodes.reshape(-1, N_NODE_FEATURES), neighbours.reshape(-1, 4), u, v, features[:, ARC_FEATURES])
        return Surroundings(*(torch.as_tensor(array, device=device) for array in arrays)), features

    def promises(self) -> tuple[NDArray[np.float64], NDArray[np.int32]]:
        """By how much every admissible move promises to lower the makespan, in mean durations; and for how many steps
        what it brings back was left alone."""
        b, rows = self._trajectory, self._rows
        gains = (self._states.makespan[b, 0] - self._moves.value[b, rows]) * self._per_duration[b]
        return gains, np.maximum(self._moves.idle[b, rows], 0)

    def step(self, actions: NDArray[np.integer[Any]]) -> NDArray[np.float64]:
        """Take one move in every trajectory, a number from 0 to `n_actions` - 1 or `DUMMY`; returns the rewards (B)."""
        actions = np.asarray(actions, np.int64)
        if ((actions < DUMMY) | (actions >= self._admissible)).any():
            raise L2SError("an action must be the number of an admissible move, or DUMMY")
        first = np.cumsum(self._admissible) - self._admissible
        chosen = np.where(actions < 0, DUMMY, np.append(self._rows, DUMMY)[first + np.maximum(actions, 0)])
        improved, decreased = (np.zeros(len(actions), np.int64) for _ in range(2))
        batch = self._states, self._moves, self._records, self._rules
        self._check(kernels.advance_batch(*batch, self._counts, chosen, improved, decreased))
        self._list()
        return (improved if self.reward == "incumbent" else decreased) * self._per_duration

    def _list(self) -> None:
        batch = self._states, self._moves, self._records, self._rules
        self._check(kernels.list_batch(*batch, self._list_moves, self._counts, self._admissible))
        self._number()

    def _number(self) -> None:
        """Trajectory and row of every admissible move, one after the other."""
        most = int(self._counts.max())
        listed = np.arange(most) < self._counts[:, None]
        self._trajectory, self._rows = np.nonzero(self._moves.admissible[:, :most] & listed)

    def _check(self, culprit: int) -> None:
        if culprit >= 0:
            raise PluginError(f"the neighbourhood offered an impossible move for {self.instances[culprit]!r}")


def host_memory(host: str, instance: Instance) -> Memory:
    """What the host forbids."""
    return Memory(tenure=(1, 1)) if host == "local-search" else tabu_memory(instance)


def _stack(tuples: Sequence[Any]) -> Any:
    """Named tuples of arrays as one, its arrays with one dimension more in front."""
    return type(tuples[0])._make(np.stack(arrays) for arrays in zip(*tuples, strict=True))


def _job_arcs(instances: Sequence[Instance]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Job predecessor (B, n + 2) of every node of the batch, last operation (B, J) of every job; see `GraphBatch`."""
    n = instances[0].n_operations
    first = (np.arange(len(instances)) * (n + 2))[:, None]
    pred = np.tile(np.arange(n + 2), (len(instances), 1))
    pred[:, 1:-1] = [(instance.job_pred + 1) % (n + 1) for instance in instances]  # none: O_S
    ends = np.stack([instance.job_offset[1:].astype(np.int64) for instance in instances])  # node of the last operation
    return pred + first, ends + first
