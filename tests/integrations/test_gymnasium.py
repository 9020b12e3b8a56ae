"""Gymnasium: the environments keep its contract, and their trajectories are those of schedules."""

from __future__ import annotations

import subprocess
import sys
import warnings
from itertools import pairwise

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env, data_equivalence
from hypothesis import given, settings
from hypothesis import strategies as st

import l2s_plugin as l2s
from heuristics import dispatch
from heuristics.training.environment import HOSTS, Environment
from integrations.gymnasium import ENVIRONMENT_ID, JobShopImprovementEnv, JobShopImprovementVectorEnv
from l2s_plugin.errors import L2SError
from l2s_plugin.generate import uniform, with_dates
from l2s_plugin.instance import Instance
from l2s_plugin.schedule import Schedule
from tests.strategies import instances

RAGGED = Instance.from_jobs([[(0, 3), (1, 0), (0, 4)], [(1, 5), (0, 2)], [(0, 1), (1, 6)]], 3)
NOTHING_TO_SWAP = Instance.from_jobs([[(0, 3), (1, 2)]])


def sample(env: gymnasium.Env, info: dict) -> int:
    """An admissible action."""
    return int(env.action_space.sample(info["action_mask"]))


def moves_in(observation: dict) -> list[tuple[int, int]]:
    """The operations of the moves on offer, action by action."""
    nodes = observation["moves"][observation["action_mask"] == 1]
    return [(int(u) - 1, int(v) - 1) for u, v in nodes if u > 0]


@pytest.mark.parametrize(
    "options",
    [
        {"size": "6x6"},
        {"instance": "ft06", "features": "paper", "host": "tabu", "reward": "decrement"},
        {"instance": RAGGED, "neighbourhood": "n6", "max_moves": 4},
        {"instance": NOTHING_TO_SWAP},
    ],
    ids=["random", "benchmark", "ragged", "no moves"],
)
def test_gymnasium_s_own_checker_has_no_complaints(options):
    env = gymnasium.make(ENVIRONMENT_ID, **options)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_env(env.unwrapped)


@settings(deadline=None, max_examples=40)
@given(instances(), st.sampled_from(["n1", "n4", "n5", "n6", "n7"]), st.sampled_from(HOSTS), st.integers(0, 1000))
def test_whatever_happens_lies_within_the_spaces(instance, neighbourhood, host, seed):
    env = JobShopImprovementEnv(instance=instance, neighbourhood=neighbourhood, host=host, max_steps=10)
    env.action_space.seed(seed)
    observation, info = env.reset(seed=seed)
    over = False
    while not over:
        assert env.observation_space.contains(observation)
        observation, _, terminated, truncated, info = env.step(sample(env, info))
        over = terminated or truncated
    assert env.observation_space.contains(observation)


def n5_of(schedule: Schedule, path: list[int]) -> set[tuple[int, int]]:
    """First and last pair of every block of a critical path; not the first of the first, nor the last of the last."""
    machine = schedule.instance.machine
    starts = [k for k in range(len(path)) if k == 0 or machine[path[k]] != machine[path[k - 1]]]
    blocks = [path[a:b] for a, b in pairwise([*starts, len(path)])]
    moves = set()
    for number, block in enumerate(blocks):
        pairs = list(pairwise(block))
        moves |= set(pairs[:1] if number > 0 else []) | set(pairs[-1:] if number < len(blocks) - 1 else [])
    return moves


def test_the_mask_admits_the_moves_of_the_neighbourhood_but_the_undo():
    """Of one critical path, any of them. Arcs may share a place in the memory: now and then it forbids one more."""
    env = JobShopImprovementEnv("6x5", max_steps=15)
    env.action_space.seed(0)
    allowed = missing = 0
    for seed in range(30):
        observation, info = env.reset(seed=seed)
        undo: set[tuple[int, int]] = set()
        over = False
        while not over:
            offered = moves_in(observation)
            expected = [n5_of(env.schedule, path) - undo for path in env.schedule.critical_paths()]
            fitting = min((moves for moves in expected if moves.issuperset(offered)), key=len)
            allowed, missing = allowed + len(fitting), missing + len(fitting) - len(offered)
            assert undo or fitting == set(offered), "nothing to remember yet"
            assert (observation["action_mask"] == info["action_mask"]).all()
            assert (np.diff(observation["hints"][: len(offered), 0]) <= 0).all(), "the most promising first"
            action = sample(env, info)
            undo = {offered[action][::-1]} if offered else set()
            observation, _, terminated, truncated, info = env.step(action)
            over = terminated or truncated
    assert allowed > 1000
    assert missing < allowed / 50


def test_with_fewer_actions_than_moves_the_most_promising_are_left():
    wide, narrow = (JobShopImprovementEnv("15x15", max_moves=most) for most in (None, 3))
    (all_moves, _), (few, _) = wide.reset(seed=1), narrow.reset(seed=1)
    assert len(moves_in(all_moves)) > 3
    assert moves_in(few) == moves_in(all_moves)[:3]
    for action in range(3):
        wide.reset(seed=1), narrow.reset(seed=1)
        wide.step(action), narrow.step(action)
        assert wide.schedule.makespan == narrow.schedule.makespan


def test_an_action_makes_the_swap_that_the_observation_says():
    env = JobShopImprovementEnv("8x6")
    count = len(moves_in(env.reset(seed=2)[0]))
    for action in range(count):
        observation, _ = env.reset(seed=2)
        u, v = moves_in(observation)[action]
        orders = [row.tolist() for row in env.schedule.machine_orders]
        env.step(action)
        row = next(row for row in orders if u in row)
        at = row.index(u)
        assert row[at + 1] == v
        row[at : at + 2] = [v, u]
        assert [row.tolist() for row in env.schedule.machine_orders] == orders


@pytest.mark.parametrize("host", HOSTS)
@pytest.mark.parametrize("options", [{"size": "6x6"}, {"instance": RAGGED}], ids=["random", "ragged"])
def test_rewards_and_makespans_are_those_of_the_schedules(host, options):
    paper, other = (JobShopImprovementEnv(**options, host=host, reward=reward) for reward in ("incumbent", "decrement"))
    paper.action_space.seed(1)
    (_, info), _ = paper.reset(seed=3), other.reset(seed=3)
    mean = paper.schedule.instance.duration.mean()
    assert info["makespan"] == info["incumbent"] == dispatch(paper.schedule.instance).makespan
    before = best = info["makespan"]
    for _ in range(40):
        action = sample(paper, info)
        _, earned, terminated, _, info = paper.step(action)
        _, gained, *_ = other.step(action)
        paper.schedule.verify()
        after = paper.schedule.makespan
        assert earned * mean == pytest.approx(max(best - after, 0))
        assert gained * mean == pytest.approx(before - after)
        before, best = after, min(best, after)
        assert (info["makespan"], info["incumbent"]) == (after, best)
        paper.best_schedule.verify()
        assert paper.best_schedule.makespan == best
        if terminated:
            break


def test_the_graph_is_that_of_the_schedule():
    env = JobShopImprovementEnv("5x4", features="paper")
    observation, _ = env.reset(seed=4)
    schedule, instance = env.schedule, env.schedule.instance
    n = instance.n_operations
    durations = [0, *instance.duration, 0]
    starts, latest = [0, *schedule.start, schedule.makespan], [0, *schedule.lst, schedule.makespan]
    expected = np.column_stack((np.array(durations) / 99, np.array(starts) / 1000, np.array(latest) / 1000))
    np.testing.assert_allclose(observation["features"], expected, rtol=1e-6)
    before = {int(v): int(u) for row in schedule.machine_orders for u, v in pairwise(row)}
    assert observation["machine_pred"].tolist() == [0, *(before.get(x, x) + 1 for x in range(n)), n + 1]
    first_of_jobs = set(instance.job_offset[:-1].tolist())
    assert observation["job_pred"].tolist() == [0, *(0 if x in first_of_jobs else x for x in range(n)), n + 1]
    assert observation["job_end"].tolist() == instance.job_offset[1:].tolist()


def test_a_forbidden_action_lets_the_step_pass():
    env = JobShopImprovementEnv("6x6", reward="decrement")
    _, info = env.reset(seed=5)
    forbidden = int(np.flatnonzero(info["action_mask"] == 0)[0])
    orders = env.schedule.machine_orders
    _, reward, terminated, truncated, after = env.step(forbidden)
    assert (reward, terminated, truncated, after["makespan"]) == (0, False, False, info["makespan"])
    assert all((a == b).all() for a, b in zip(orders, env.schedule.machine_orders, strict=True))


def test_an_episode_is_truncated_after_its_steps_and_terminated_by_a_schedule_without_moves():
    env = JobShopImprovementEnv("6x6", max_steps=3)
    for _ in range(2):
        env.reset(seed=6)
        assert [env.step(0)[2:4] for _ in range(3)] == [(False, False), (False, False), (False, True)]
    env = JobShopImprovementEnv(instance=NOTHING_TO_SWAP)
    _, info = env.reset()
    assert info["action_mask"].tolist() == [1, 0]
    assert env.step(0)[1:4] == (0, True, False)


@pytest.mark.parametrize("host", HOSTS)
@pytest.mark.parametrize(
    "options",
    [{"size": "4x3", "max_steps": 7}, {"size": "3x2", "max_steps": 40}, {"instance": "ft06", "max_steps": 9}],
    ids=["truncated", "terminated at different times", "benchmark"],
)
def test_many_trajectories_are_those_of_single_environments(options, host):
    """Gymnasium's own vector environment, around single ones, says what is right; over several episodes."""
    ours = gymnasium.make_vec(ENVIRONMENT_ID, num_envs=5, host=host, **options)
    theirs = gymnasium.make_vec(ENVIRONMENT_ID, num_envs=5, vectorization_mode="sync", host=host, **options)
    assert isinstance(ours, JobShopImprovementVectorEnv)
    assert ours.metadata["autoreset_mode"] == theirs.metadata["autoreset_mode"]
    assert (ours.observation_space, ours.action_space) == (theirs.observation_space, theirs.action_space)
    seen = ours.reset(seed=7)
    assert data_equivalence(seen, theirs.reset(seed=7), exact=True)
    info = seen[1]
    rng = np.random.default_rng(7)
    for _ in range(30):
        actions = (rng.random(5) * info["action_mask"].sum(axis=1)).astype(int)
        seen = ours.step(actions)
        assert data_equivalence(seen, theirs.step(actions), exact=True)
        assert ours.observation_space.contains(seen[0])
        info = seen[-1]
        for b in range(5):
            ours.schedule(b).verify()
            assert ours.schedule(b).makespan == info["makespan"][b]
            assert ours.best_schedule(b).makespan == info["incumbent"][b]
    assert data_equivalence(ours.reset(), theirs.reset(), exact=True)
    seeds = [3, None, 1, None, 9]
    assert data_equivalence(ours.reset(seed=seeds), theirs.reset(seed=seeds), exact=True)


def test_terminations_at_different_times_do_happen_above():
    """Otherwise the comparison would prove less than it says."""
    envs = JobShopImprovementVectorEnv(5, size="3x2", max_steps=40)
    envs.reset(seed=7)
    ended = np.array([envs.step(np.zeros(5, int))[2] for _ in range(30)])
    assert ended.any()
    assert not ended.all(axis=1).any()


def trajectory(seed: int) -> list:
    env = JobShopImprovementEnv("8x8", start="random")
    observation, info = env.reset(seed=seed)
    seen = [(observation, info)]
    for _ in range(20):
        seen.append(env.step(0))
    return [*seen, env.reset()]


def test_same_seed_same_trajectory_and_instances_another_seed_others():
    assert data_equivalence(trajectory(1), trajectory(1), exact=True)
    assert not data_equivalence(trajectory(1)[0], trajectory(2)[0])
    env = JobShopImprovementEnv("8x8")
    env.reset(seed=1)
    first = env.schedule.instance
    env.reset()
    assert env.schedule.instance != first


def test_a_vector_environment_that_was_never_reset_begins_with_the_first_step():
    envs = JobShopImprovementVectorEnv(3, size="4x4")
    _, rewards, terminated, truncated, _ = envs.step([0, 0, 0])
    assert (rewards.tolist(), terminated.any(), truncated.any()) == ([0, 0, 0], False, False)
    assert len({envs.schedule(b).instance for b in range(3)}) == 3


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"size": "10"}, "a size is JOBSxMACHINES"),
        ({"size": ""}, "a size is JOBSxMACHINES"),
        ({"size": "3x3", "instance": "ft06"}, "a size or an instance, not both"),
        ({"instance": "ft007"}, "ft007"),
        ({"instance": 7}, "instance must be an Instance, a name or a file, got 7"),
        ({"max_steps": 0}, "max_steps must be a whole number, 1 or more, got 0"),
        ({"max_moves": 2.5}, "max_moves must be a whole number, 1 or more, got 2.5"),
        ({"num_envs": -1}, "num_envs must be a whole number, 1 or more, got -1"),
        ({"host": "annealing"}, "host must be local-search or tabu"),
        ({"reward": "best"}, "reward incumbent or decrement"),
        ({"features": "raw"}, "features must be"),
        ({"neighbourhood": "n55"}, "unknown neighbourhood 'n55'"),
        ({"start": "spd"}, "did you mean"),
    ],
)
def test_bad_options_are_told_in_one_line(options, words):
    with pytest.raises(L2SError, match=words) as caught:
        JobShopImprovementVectorEnv(**options)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("action", [-1, 36, 0.5, None, "first", [0, 1]])
def test_what_is_no_action_is_told_in_one_line(action):
    env = JobShopImprovementEnv("6x6")
    env.reset(seed=1)
    with pytest.raises(L2SError, match="action") as caught:
        env.step(action)
    assert "\n" not in str(caught.value)
    env.step(35)


def test_wrong_calls_are_told_in_one_line():
    env = JobShopImprovementEnv("3x3", max_steps=1)
    with pytest.raises(L2SError, match="call reset first"):
        env.step(0)
    with pytest.raises(L2SError, match="reset takes no options, got reset_mask"):
        env.reset(options={"reset_mask": True})
    env.reset()
    env.step(0)
    with pytest.raises(L2SError, match="call reset first"):
        env.step(0)
    envs = JobShopImprovementVectorEnv(3, size="3x3")
    with pytest.raises(L2SError, match="2 seeds for 3 trajectories"):
        envs.reset(seed=[1, 2])
    with pytest.raises(L2SError, match="expected 3 actions"):
        envs.step([0, 0])
    many = JobShopImprovementVectorEnv(100, size="3x3")
    with pytest.raises(L2SError, match="from 0 to 8") as caught:
        many.step(np.full(100, 9))
    assert "\n" not in str(caught.value)


def test_trajectories_of_another_size_are_not_adopted():
    small, large = (Environment([l2s.load(name)]) for name in ("ft06", "ft10"))
    with pytest.raises(L2SError, match="same size"):
        small.adopt(0, large)


def run(code: str) -> str:
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip()


def test_the_module_can_be_named_in_the_id_and_loads_what_is_heavy_with_the_environment():
    """Gymnasium imports what stands before the colon."""
    assert run(
        "import sys, gymnasium, integrations.gymnasium as ours;"
        "print({'numba', 'torch'} & {*sys.modules});"
        "gymnasium.make(ours.ENVIRONMENT_ID, size='3x3').reset(seed=1);"
        "print({'torch'} & {*sys.modules})"
    ).splitlines() == ["set()", "set()"]
    assert run(
        f"import gymnasium; env = gymnasium.make('integrations.gymnasium:{ENVIRONMENT_ID}', size='3x3');"
        "print(type(env.unwrapped).__name__)"
    ).endswith("JobShopImprovementEnv")


def test_without_gymnasium_the_extra_is_named():
    message = run(
        "import sys; sys.modules['gymnasium'] = None\n"
        "from l2s_plugin.errors import MissingExtraError\n"
        "try: import integrations.gymnasium\n"
        "except MissingExtraError as error: print(error)"
    )
    assert message == "gymnasium is not installed; run: pip install 'l2s-plugin[gymnasium]'"


def test_instances_may_have_dates_and_lateness_is_refused():
    instance = with_dates(uniform(4, 3, 1), 1)
    env = JobShopImprovementEnv(instance=instance, max_steps=20)
    _, info = env.reset(seed=1)
    for _ in range(20):
        assert info["makespan"] == env.schedule.makespan
        env.schedule.verify()
        *_, info = env.step(0)
    with pytest.raises(L2SError, match="is about lateness, an environment about the makespan"):
        JobShopImprovementEnv(instance=instance.with_objective("lateness"))
