"""The environment is the paper's decision process: its states, actions, rewards and graphs are those of a search."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import l2s_plugin as l2s
from heuristics.hosts.dispatching import dispatch
from heuristics.hosts.trajectories import tabu_memory
from heuristics.loop.memory import Memory
from heuristics.loop.search import Search
from heuristics.training.environment import DUMMY, HOSTS, Environment
from l2s_plugin.errors import L2SError
from l2s_plugin.instance import Instance
from l2s_plugin.kernels.moves import NEVER
from l2s_plugin.kernels.state import new_state, set_order
from l2s_plugin.policy.tpm_cam.graphs import batch_graphs

# re-entrant, ragged, with zero durations; both of one size
ODD = [
    Instance.from_jobs([[(0, 3), (1, 0), (0, 4)], [(1, 5), (0, 2)], [(0, 1), (1, 6)]]),
    Instance.from_jobs([[(1, 0), (0, 0), (1, 2)], [(1, 1), (0, 9)], [(0, 4), (0, 4)]]),
]


def batch(n_jobs: int, n_machines: int, count: int = 4) -> list[Instance]:
    return [l2s.generate.uniform(n_jobs, n_machines, seed) for seed in range(count)]


def random_actions(environment: Environment, rng: np.random.Generator) -> np.ndarray:
    counts = environment.n_actions
    return np.where(counts > 0, (rng.random(len(counts)) * counts).astype(int), DUMMY)


@pytest.mark.parametrize("host", HOSTS)
@settings(deadline=None, max_examples=25)
@given(seed=st.integers(0, 1000), odd=st.booleans())
def test_rewards_are_those_of_the_schedules(host: str, seed: int, odd: bool) -> None:
    """Makespans are computed anew, from the machine orders, by other code."""
    instances = ODD if odd else batch(5, 4)
    paper, other = (Environment(instances, host, reward=reward, seed=seed) for reward in ("incumbent", "decrement"))
    before = np.array([dispatch(instance, seed=seed).makespan for instance in instances])
    best = before.copy()
    mean = np.array([instance.duration.mean() for instance in instances])
    rng = np.random.default_rng(seed)
    for _ in range(12):
        paper.observe(), other.observe()
        actions = random_actions(paper, rng)
        earned, gained = paper.step(actions), other.step(actions)
        for b in range(len(instances)):
            paper.schedule(b).verify()
        after = np.array([paper.schedule(b).makespan for b in range(len(instances))])
        np.testing.assert_allclose(earned * mean, np.maximum(best - after, 0), atol=1e-9)
        np.testing.assert_allclose(gained * mean, before - after, atol=1e-9)
        before, best = after, np.minimum(best, after)
        np.testing.assert_array_equal(paper.makespans, after)
        np.testing.assert_array_equal(paper.incumbents, best)


@pytest.mark.parametrize("features", ["paper", "scaled"])
def test_the_network_sees_the_graph_of_each_schedule(features: str) -> None:
    """Observations equal graphs built from schedules one by one, as searches do."""
    for instances in (ODD, batch(6, 5)):
        environment = Environment(instances, features=features, seed=3)
        rng = np.random.default_rng(0)
        made: list[dict[tuple[int, int], int]] = [{} for _ in instances]  # when each swap was made
        for step in range(8):
            seen = environment.observe()
            states, pairs, promises = [], [], []
            for b, instance in enumerate(instances):
                state = new_state(instance, 0)
                set_order(state, environment.schedule(b).linear_order.astype(np.uint32))
                actions = np.array(environment.actions(b), np.uint32).reshape(-1, 2)
                values = [estimate_of_swap(environment, b, u, v) for u, v in actions.tolist()]
                states.append(state)
                pairs.append(tuple(actions.T))
                gains = (environment.makespans[b] - np.array(values).reshape(-1)) / max(instance.duration.mean(), 1e-6)
                promises.append(np.column_stack([gains, idle_steps(made[b], actions.tolist(), step)]))
            np.testing.assert_allclose(np.column_stack(environment.promises()), np.concatenate(promises), rtol=1e-6)
            expected = batch_graphs(states, pairs, features)
            for name, array in vars(expected).items():
                np.testing.assert_allclose(getattr(seen, name), array, rtol=1e-6, err_msg=name)
            chosen = random_actions(environment, rng)
            for b, action in enumerate(chosen):
                if action >= 0:
                    made[b][environment.actions(b)[action]] = step
            environment.step(chosen)


def idle_steps(made: dict[tuple[int, int], int], actions: list[list[int]], step: int) -> list[int]:
    """For how long what a swap brings back was left alone, from the moment on that it is allowed again."""
    return [step - made[v, u] - 2 if (v, u) in made else NEVER for u, v in actions]


def estimate_of_swap(environment: Environment, b: int, u: int, v: int) -> int:
    """Longest path through u or v after their swap, from starts and tails of the schedule (Taillard 1994)."""
    schedule, instance = environment.schedule(b), environment.instances[b]
    start, makespan, duration = schedule.start.astype(int), schedule.makespan, instance.duration.astype(int)
    end, tail = start + duration, makespan - schedule.lst
    order = next(list(map(int, o)) for o in schedule.machine_orders if u in o)
    before, after = order[: order.index(u)][-1:], order[order.index(v) + 1 :][:1]

    def before_in_job(x: int) -> int:
        return end[x - 1] if instance.job_pred[x] != instance.n_operations else 0

    def after_in_job(x: int) -> int:
        return tail[x + 1] if instance.job_succ[x] != instance.n_operations else 0

    machine_ready = end[before[0]] if before else 0
    machine_tail = tail[after[0]] if after else 0
    start_v = max(before_in_job(v), machine_ready)
    start_u = max(before_in_job(u), start_v + duration[v])
    tail_u = duration[u] + max(after_in_job(u), machine_tail)
    tail_v = duration[v] + max(after_in_job(v), tail_u)
    return int(max(start_v + tail_v, start_u + tail_u))


@pytest.mark.parametrize("host", HOSTS)
def test_trajectories_are_those_of_a_search(host: str) -> None:
    """Taking the first admissible move, again and again, in the environment and in the host's own loop."""
    (instance,) = batch(8, 6, 1)
    environment = Environment([instance], host, seed=5)
    memory = Memory(tenure=(1, 1)) if host == "local-search" else tabu_memory(instance, None)
    search = Search(instance, "n5", FirstMove(), memory, gear="python")
    search.state.rng[:] = environment._states.rng[0]
    search.start(dispatch(instance, seed=5).linear_order)
    search.state.rng[:] = np.random.SeedSequence(5).generate_state(1, np.uint64)
    for step in range(1, 120):
        environment.observe()
        environment.step(np.minimum(environment.n_actions, 1) - 1)
        search.run(step)
        assert search.view.makespan == environment.makespans[0], step
        assert search.best_makespan == environment.incumbents[0]


class FirstMove:
    def select(self, state, moves, rng):
        return 0


def test_the_immediate_undo_is_no_action() -> None:
    environment = Environment(batch(6, 6), seed=1)
    rng = np.random.default_rng(1)
    for _ in range(30):
        environment.observe()
        actions = random_actions(environment, rng)
        made = [environment.actions(b)[a] if a >= 0 else None for b, a in enumerate(actions)]
        environment.step(actions)
        for b, move in enumerate(made):
            assert move is None or (move[1], move[0]) not in environment.actions(b)


def test_a_schedule_without_moves_is_absorbing() -> None:
    """One job: nothing to swap. The dummy action changes nothing and earns nothing."""
    environment = Environment([Instance.from_jobs([[(0, 3), (1, 2)]])])
    for _ in range(3):
        graphs = environment.observe()
        assert (len(graphs.u), environment.n_actions.tolist()) == (0, [0])
        assert environment.step(np.array([DUMMY])).tolist() == [0.0]
    assert environment.incumbents.tolist() == [5]


def test_same_seed_same_trajectory_and_another_seed_another() -> None:
    def incumbents(seed: int) -> list[int]:
        environment = Environment(batch(10, 10), "tabu", seed=seed)
        for _ in range(60):
            environment.observe()
            environment.step(np.minimum(environment.n_actions, 1) - 1)
        return environment.makespans.tolist()

    assert incumbents(1) == incumbents(1) != incumbents(2)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"instances": []}, "one or more instances"),
        ({"instances": [*batch(3, 3, 1), *batch(3, 2, 1)]}, "same size"),
        ({"host": "annealing"}, "host must be local-search or tabu"),
        ({"reward": "best"}, "reward incumbent or decrement"),
        ({"neighbourhood": "n55"}, "unknown neighbourhood 'n55'"),
        ({"start": "spd"}, "did you mean"),
    ],
)
def test_bad_input_is_told(arguments: dict, words: str) -> None:
    with pytest.raises(L2SError, match=words):
        Environment(**{"instances": batch(3, 3)} | arguments)


def test_a_step_does_not_need_an_observation() -> None:
    """The numbers of actions are those of `actions`, whether somebody has looked or not."""
    seen, unseen = (Environment(batch(10, 10), seed=1) for _ in range(2))
    for _ in range(20):
        seen.observe()
        last = seen.n_actions - 1
        assert seen.step(last).tolist() == unseen.step(last).tolist()
    assert seen.makespans.tolist() == unseen.makespans.tolist()


def test_an_impossible_action_is_told() -> None:
    environment = Environment(batch(4, 4))
    environment.observe()
    with pytest.raises(L2SError, match="number of an admissible move"):
        environment.step(environment.n_actions)
