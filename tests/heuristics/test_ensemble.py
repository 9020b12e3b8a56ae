"""Ensembles: the best of several policies, beside what each finds alone."""

from __future__ import annotations

import pytest

import l2s_plugin as l2s
from heuristics import ensemble_search, local_search, tabu_search
from l2s_plugin.errors import L2SError
from l2s_plugin.policy import L2SSelector
from l2s_plugin.stop import steps
from tests.policies import random_policy, write_random_policy

POLICIES = [random_policy(seed=seed) for seed in range(3)]


def test_the_best_of_the_single_results():
    instance = l2s.load("la16")
    found = ensemble_search(instance, POLICIES, stop=steps(50), seed=2)
    alone = [local_search(instance, L2SSelector(policy), stop=steps(50), seed=2) for policy in POLICIES]
    assert [result.makespan for result in found.singles] == [result.makespan for result in alone]
    assert found.makespan == found.schedule.makespan == min(result.makespan for result in alone)
    assert len({result.makespan for result in alone}) > 1  # otherwise this shows nothing
    assert found.seconds == pytest.approx(sum(result.seconds for result in found.singles))


def test_side_by_side():
    found = ensemble_search(l2s.load("ft06"), POLICIES[:2], stop=steps(20))
    lines = [line.split() for line in found.summary().splitlines()]
    assert [line[0] for line in lines] == ["l2s:random-0", "l2s:random-1", "ensemble"]
    assert int(lines[-1][1]) == min(int(line[1]) for line in lines[:-1]) == found.makespan
    plain = found.to_dict()
    assert plain["best"]["makespan"] == found.makespan
    assert [single["selector"] for single in plain["singles"]] == ["l2s:random-0", "l2s:random-1"]


def test_files_hosts_and_options(tmp_path):
    path = write_random_policy(tmp_path / "p.safetensors")
    instance = l2s.load("la01")
    found = ensemble_search(
        instance,
        [path, str(path), L2SSelector(path, sample=False)],
        stop=steps(30),
        host=tabu_search,
        neighbourhood="n6",
    )
    assert [result.selector for result in found.singles] == ["l2s:p", "l2s:p", "l2s-greedy:p"]
    assert {(result.method, result.neighbourhood) for result in found.singles} == {("tabu", "n6")}
    assert found.singles[0].makespan == found.singles[1].makespan


def test_clear_refusals():
    with pytest.raises(L2SError, match="at least one policy"):
        ensemble_search(l2s.load("ft06"), [], stop=steps(1))
    with pytest.raises(L2SError, match="unknown policy 'absent'"):
        ensemble_search(l2s.load("ft06"), ["absent"], stop=steps(1))
    with pytest.raises(TypeError, match="neighborhood"):
        ensemble_search(l2s.load("ft06"), POLICIES, stop=steps(1), neighborhood="n5")
