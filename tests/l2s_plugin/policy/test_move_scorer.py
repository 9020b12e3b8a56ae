"""Policies over moves: features as plain Python computes them, scores as torch does, the same in both gears."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from policies import random_policy, random_weights, write_random_policy

from heuristics import local_search, tabu_search
from heuristics.hosts.trajectories import first_order
from heuristics.loop.memory import Memory
from heuristics.loop.search import Search
from l2s_plugin import generate, stop
from l2s_plugin.errors import L2SError, PolicyError
from l2s_plugin.kernels import move_features, move_rule
from l2s_plugin.kernels.compile import _kernel_files
from l2s_plugin.kernels.move_features import COMMON, N_MOVE_FEATURES, MoveFeature
from l2s_plugin.kernels.move_rule import (
    DRAWN_TO,
    EVERYTHING,
    FEATURE_GROUPS,
    fill_common_features,
    fill_move_features,
    smallest_admissible,
)
from l2s_plugin.kernels.moves import NEVER
from l2s_plugin.policy import L2SSelector, load_policy, tensor_file
from l2s_plugin.policy.checkpoint import Policy, save_policy
from l2s_plugin.policy.config import MovePolicyConfig
from l2s_plugin.policy.moves.scorer import MoveScorer, used_groups

CONFIG = MovePolicyConfig(margin=1.5)


class Watched:
    """A selector that takes any move and shows every state to a check first."""

    name = "watched"
    search: Search

    def __init__(self, check: Any) -> None:
        self.check = check
        self.moved: dict[int, int] = {}

    def select(self, state: Any, moves: Any, rng: np.random.Generator) -> int:
        self.check(self.search, moves, self.moved)
        row = int(rng.integers(len(moves.u)))
        for x in (moves.u[row], moves.v[row]):
            self.moved[int(x)] = state.step
        return row


def watch(
    instance: Any, check: Any, seed: int, neighbourhood: str = "n7", steps: int = 40, drawn_to: Any = None
) -> Search:
    memory = Memory(tenure=(3, 6), aspiration=True, wait=True)  # every move is the selector's own
    selector = Watched(check)
    search = selector.search = Search(instance, neighbourhood, selector, memory, seed)
    search.start(first_order(instance, "random", seed, None), drawn_to)
    search.run(steps)
    return search


def kernel_features(state: Any, moves: Any, groups: int = EVERYTHING) -> np.ndarray:
    """The features as the kernels fill them, zeros where they leave them out."""
    features = np.zeros((len(moves.u), N_MOVE_FEATURES), np.float32)
    own = type(moves)._make(np.ascontiguousarray(column) for column in moves)
    scale = np.float32(1 / state.instance.duration.mean())
    smallest = smallest_admissible(own, len(own.u))
    for row in range(len(own.u)):
        fill_common_features(state.kernel_state, own, len(own.u), scale, features[row])
        fill_move_features(state.kernel_state, own, row, scale, smallest, groups, features[row])
    return features


def shorter_path(state: Any, u: int, v: int, forward: bool) -> int:
    """Of the longest path through the operation that is moved and that through one it is moved past, from the times of
    all other operations as they are."""
    instance = state.instance
    end = [*(state.est + instance.duration).tolist(), 0]
    tail = [*(state.makespan - state.lst).tolist(), 0]
    row = [u]
    while row[-1] != v:
        row.append(int(state.machine_succ[row[-1]]))
    moved = u if forward else v
    new = [*row[1:], u] if forward else [v, *row[:-1]]
    heads, tails = {}, {}
    before, after = end[state.machine_pred[u]], tail[state.machine_succ[v]]
    for x in new:
        heads[x] = max(before, end[instance.job_pred[x]])
        before = heads[x] + int(instance.duration[x])
    for x in reversed(new):
        after = tails[x] = max(after, tail[instance.job_succ[x]]) + int(instance.duration[x])
    lengths = {x: heads[x] + tails[x] for x in new}
    return min(lengths.pop(moved), max(lengths.values()))


def plain_features(
    state: Any, moves: Any, moved: dict[int, int], best: Any, best_step: int, drawn_to: list[int]
) -> np.ndarray:
    """The features by their definitions, from what Python code sees of a search."""
    instance = state.instance
    mean, n = instance.duration.mean(), instance.n_operations
    start, lst, makespan = state.est, state.lst, state.makespan

    def slack(x: int) -> float:
        return min((makespan if x == n else lst[x] - start[x]) / mean, 4) / 2

    rows = []
    for u, v, forward, value, idle, returns in zip(
        moves.u.tolist(), moves.v.tolist(), moves.forward, moves.value, moves.idle, moves.returns, strict=True
    ):
        idle = max(idle, 0)
        since = state.step - best_step
        passed, x = 0, u
        while x != v:
            passed, x = passed + 1, int(state.machine_succ[x])
        age = [state.step - moved[x] if x in moved else np.inf for x in (u, v)]
        rows.append(
            [
                np.clip((value - makespan) / mean, -3, 3),
                min((value - moves.value.min()) / mean, 3),
                np.exp(-idle / 4), np.exp(-idle / 16), np.exp(-idle / 64), 512 / (512 + idle),
                min((makespan - state.incumbent) / mean, 8) / 2,
                since / (since + 200),
                min(len(moves.u), 32) / 16,
                (start[u] + instance.duration[u]) / makespan,
                forward,
                min(passed, 6) / 4,
                instance.duration[u] / mean, instance.duration[v] / mean,
                slack(instance.job_pred[u]), slack(instance.job_succ[u]),
                slack(instance.job_pred[v]), slack(instance.job_succ[v]),
                slack(state.machine_pred[u]), slack(state.machine_succ[v]),
                returns / (returns + 4),
                16 / (16 + age[0]), 16 / (16 + age[1]), 128 / (128 + age[0]), 128 / (128 + age[1]),
                float(best[u] > best[v]),
                np.clip((shorter_path(state, u, v, forward) - makespan) / mean, -3, 3),
                bool(drawn_to) and drawn_to.index(v) < drawn_to.index(u),
            ]
        )  # fmt: skip
    return np.array(rows)


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 2**20), st.sampled_from(["n5", "n7"]), st.booleans())
def test_features_are_what_they_are_called(seed: int, neighbourhood: str, drawn: bool) -> None:
    instance = generate.uniform(5, 4, seed)
    drawn_to = first_order(instance, "random", seed + 1, None) if drawn else None
    known = [] if drawn_to is None else drawn_to.tolist()

    def check(search: Search, moves: Any, moved: dict[int, int]) -> None:
        state = search.view
        features = kernel_features(state, moves)
        position = np.argsort(search.best_order)
        expected = plain_features(state, moves, moved, position, search.best_step, known)
        np.testing.assert_allclose(features, expected, rtol=2e-5, atol=2e-6)

    watch(instance, check, seed, neighbourhood, drawn_to=drawn_to)


def test_compiled_rules_are_compiled_anew_when_the_places_of_features_change() -> None:
    """The constants of kernels are among the files by whose contents compiled kernels are found again."""
    assert Path(move_features.__file__) in _kernel_files(Path(move_rule.__file__), set())


def test_a_rule_needs_only_the_groups_of_features_that_it_has_weights_for() -> None:
    """Features of other groups are left out, and the scores are the same."""
    rng = np.random.default_rng(0)
    compared = 0

    def check(search: Search, moves: Any, moved: dict[int, int]) -> None:
        nonlocal compared
        everything = kernel_features(search.view, moves)
        for group, members in FEATURE_GROUPS.items():
            some = kernel_features(search.view, moves, group)
            np.testing.assert_array_equal(some[:, members], everything[:, members])
            rule = np.zeros(N_MOVE_FEATURES, np.float32)
            rule[[MoveFeature.CHANGE, *members]] = rng.normal(size=1 + len(members))
            assert used_groups(rule) == group
            scorer = MoveScorer(MovePolicyConfig(margin=100.0), {"rule": rule})
            scores = scorer.scores_batch([search.view], [moves])[0]
            np.testing.assert_allclose(scores, everything @ rule, rtol=1e-4, atol=1e-5)
            drift = np.vstack((np.zeros_like(rule), rule))
            assert used_groups(drift) == group
            compared += len(scores)

    instance = generate.uniform(6, 5, 3)
    watch(instance, check, seed=4, steps=60, drawn_to=first_order(instance, "random", 5, None))
    assert compared > 500


def test_the_costly_features_are_in_one_group_each() -> None:
    grouped = [feature for members in FEATURE_GROUPS.values() for feature in members]
    cheap = {MoveFeature.CHANGE, MoveFeature.ABOVE_BEST, *COMMON}
    assert sorted([*grouped, *cheap]) == list(range(N_MOVE_FEATURES))
    assert sum(FEATURE_GROUPS) == EVERYTHING


def test_what_was_reversed_is_counted() -> None:
    seen: list[int] = []

    def check(search: Search, moves: Any, moved: dict[int, int]) -> None:
        assert (moves.returns[moves.idle == NEVER] == 0).all()
        seen.append(int(moves.returns.max()))

    watch(generate.uniform(3, 3, 5), check, seed=1, steps=300)
    assert max(seen) > 3


@pytest.mark.parametrize("drift", [False, True])
def test_scores_are_weighted_sums_and_drift_with_the_search(drift: bool) -> None:
    config = replace(CONFIG, drift=drift)
    policy = random_policy(config, seed=3)
    rule, (gap, age) = policy.weights["rule"], policy.weights.get("drift", np.zeros((2, N_MOVE_FEATURES)))
    scorer = MoveScorer(config, policy.weights)
    compared = 0

    def check(search: Search, moves: Any, moved: dict[int, int]) -> None:
        nonlocal compared
        state = search.view
        scores = scorer.scores_batch([state], [moves])[0]
        features = kernel_features(state, moves)
        near = moves.value <= moves.value.min() + int(CONFIG.margin * state.instance.duration.mean())
        expected = [x @ (rule + x[MoveFeature.GAP] * gap + x[MoveFeature.AGE] * age) for x in features]
        np.testing.assert_allclose(scores[near], np.array(expected)[near], rtol=1e-4, atol=1e-5)
        assert np.isneginf(scores[~near]).all()
        compared += int(near.sum())

    watch(generate.uniform(8, 6, 2), check, seed=2, steps=100)
    assert compared > 100


@pytest.mark.parametrize("host", [local_search, tabu_search])
@pytest.mark.parametrize("sample", [True, False])
@pytest.mark.parametrize("neighbourhood", ["n5", "n7"])
def test_both_gears_take_the_same_steps(host: Any, sample: bool, neighbourhood: str) -> None:
    instance = generate.uniform(8, 6, 4)
    selector = L2SSelector(random_policy(CONFIG, seed=1), sample=sample)
    runs = [
        host(instance, selector, neighbourhood, stop=stop.steps(150), seed=5, gear=gear)
        for gear in ("compiled", "python")
    ]
    assert [run.gear for run in runs] == ["compiled", "python"]
    assert [entry[1:] for entry in runs[0].history] == [entry[1:] for entry in runs[1].history]
    np.testing.assert_array_equal(runs[0].schedule.order, runs[1].schedule.order)


@pytest.mark.parametrize("margin", [0.0, 0.3, 2.0])
def test_giving_up_far_estimates_changes_nothing(margin: float) -> None:
    policy = random_policy(replace(CONFIG, margin=margin), seed=2)
    selector = L2SSelector(policy, sample=False).compiled
    assert selector is not None
    assert selector.values == "near"
    instance = generate.uniform(10, 6, 3)
    runs = [
        tabu_search(instance, form, "n7", stop=stop.steps(400), seed=1)
        for form in (selector, replace(selector, values="estimate"))
    ]
    np.testing.assert_array_equal(runs[0].schedule.order, runs[1].schedule.order)
    assert [entry[1:] for entry in runs[0].history] == [entry[1:] for entry in runs[1].history]


def test_a_policy_survives_its_file(tmp_path: Path) -> None:
    path = write_random_policy(tmp_path / "moves.safetensors", CONFIG, seed=7)
    policy = load_policy(path)
    assert policy.config == CONFIG
    assert policy.to_dict()["network"] == "moves"
    assert policy.n_parameters == N_MOVE_FEATURES
    for name, weight in random_weights(CONFIG, 7).items():
        np.testing.assert_array_equal(policy.weights[name], weight)


def write_rules(path: Path, **rules: np.ndarray) -> Path:
    """A checkpoint with these weights, whatever their shapes."""
    save_policy(path, replace(CONFIG, drift="drift" in rules), random_weights(replace(CONFIG, drift="drift" in rules)))
    _, header = tensor_file.read(path)
    tensor_file.write(path, {name: rule.astype(np.float32) for name, rule in rules.items()}, header)
    return path


def test_a_file_that_is_older_than_some_features_has_no_weight_for_them(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    rule, drift = rng.normal(size=27), rng.normal(size=(2, 27))
    policy = load_policy(write_rules(tmp_path / "old.safetensors", rule=rule, drift=drift))
    new = N_MOVE_FEATURES - 27
    np.testing.assert_array_equal(policy.weights["rule"], np.append(rule, [0] * new).astype(np.float32))
    np.testing.assert_array_equal(policy.weights["drift"], np.hstack((drift, np.zeros((2, new)))).astype(np.float32))
    assert not used_groups(policy.weights["rule"]) & DRAWN_TO
    assert L2SSelector(policy).policy is policy


@pytest.mark.parametrize("shape", [(26,), (N_MOVE_FEATURES + 1,), (2, 26), ()])
def test_no_other_length_is_made_to_fit(shape: tuple[int, ...], tmp_path: Path) -> None:
    with pytest.raises(PolicyError, match="shape of 'rule'"):
        load_policy(write_rules(tmp_path / "wrong.safetensors", rule=np.zeros(shape)))


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"hidden": 16}, "policies with hidden 16 are no longer supported"),
        ({"margin": -1}, "margin must be"),
        ({"margin": float("nan")}, "margin must be"),
        ({"drift": 1}, "drift must be true or false"),
        ({"width": 8}, "architecture key 'width'"),
    ],
)
def test_impossible_architectures_are_told(options: dict[str, Any], words: str) -> None:
    with pytest.raises(L2SError, match=words):
        MovePolicyConfig.from_dict(options)


@pytest.mark.parametrize(
    ("rule", "words"), [(np.zeros(26), r"shape of 'rule' is \[26\], not \[28\]"), (np.full(28, np.nan), "not finite")]
)
def test_bad_weights_are_one_clear_line(rule: np.ndarray, words: str) -> None:
    with pytest.raises(PolicyError, match=words):
        L2SSelector(Policy("mine", CONFIG, {"rule": rule}))


def test_tensors_of_another_network_are_told(tmp_path: Path) -> None:
    with pytest.raises(PolicyError, match="missing 'rule'"):
        save_policy(tmp_path / "x.safetensors", CONFIG, random_weights())


@pytest.mark.parametrize("name", ["l2s-fast", "l2s:l2s-fast", "l2s-greedy:l2s-fast"])
def test_the_shipped_policy_searches(name: str) -> None:
    result = tabu_search(generate.uniform(10, 10, 1), name, stop=stop.steps(200), seed=1)
    assert result.gear == "compiled"
    result.schedule.verify()
