"""Searches with dates find what brute force and CP-SAT find; rules respect dates and look at them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from heuristics import Configuration, dispatch, local_search, run, solve, tabu_search
from integrations import cp_sat
from integrations.cp_sat.model import JobShopModel
from integrations.cp_sat.solver import attempt
from l2s_plugin import stop
from l2s_plugin.errors import L2SError, ScheduleError
from l2s_plugin.generate import uniform
from l2s_plugin.instance import Instance
from l2s_plugin.schedule import Schedule
from tests.l2s_plugin.kernels.slow import NAMES
from tests.l2s_plugin.test_dates import all_schedules
from tests.strategies import dated_instances


def shop(jobs: int, machines: int, seed: int) -> Instance:
    """A random shop with release dates, and due dates that cannot all be met."""
    instance = uniform(jobs, machines, seed)
    rng = np.random.default_rng(seed)
    work = instance.job_head[instance.job_offset[1:] - 1] + instance.duration[instance.job_offset[1:] - 1]
    release = rng.integers(0, 200, jobs)
    return instance.with_dates(release=release.tolist(), due=(release + work * 1.3).astype(int).tolist())


@pytest.mark.parametrize("neighbourhood", NAMES)
@settings(deadline=None, max_examples=25)
@given(instance=dated_instances(max_jobs=3, max_machines=2, max_operations=3, min_duration=1))
def test_tabu_search_finds_what_brute_force_finds(neighbourhood, instance):
    best = min(length for _, length in all_schedules(instance)) - instance.offset
    found = [
        tabu_search(instance, neighbourhood=neighbourhood, stop=stop.steps(600), seed=seed, initial=rule).value
        for seed, rule in enumerate(("edd", "random", "random"))
    ]
    assert min(found) == best


@pytest.mark.parametrize("neighbourhood", NAMES)
@pytest.mark.parametrize("objective", ["makespan", "lateness"])
def test_populations_find_what_cp_sat_proves(neighbourhood, objective):
    instance = shop(5, 4, 3).with_objective(objective)
    proven = cp_sat.solve(instance, time_limit=60, workers=1)
    assert proven.status == "OPTIMAL"
    found = solve(instance, stop.steps(60_000), neighbourhood=neighbourhood, patience=1000, seed=1)
    assert found.value == proven.value
    assert found.objective == objective
    found.schedule.verify()


def test_the_objective_is_an_option_of_every_search():
    instance = shop(6, 5, 1)
    start = dispatch(instance, "edd")
    for method in ("memetic", "tabu", "local-search", "dispatch", "hybrid", "cp-sat", "cooperation"):
        limit = {} if method == "dispatch" else {"time_limit": 1.0}
        result = run(instance, Configuration(method, objective="lateness", **limit))
        assert (result.objective, result.value) == ("lateness", result.schedule.lateness)
        assert result.bound <= result.value
        assert result.to_dict()["value"] == result.value
        if result.history:
            assert result.history[-1][2] == result.value
    warm = cp_sat.solve(instance, warm_start=start, objective="lateness", time_limit=1.0)
    assert warm.value <= start.lateness
    with pytest.raises(L2SError, match="unknown objective"):
        solve(instance, stop.steps(1), objective="tardiness")
    with pytest.raises(ScheduleError, match="belongs to"):
        solve(shop(6, 5, 2), stop.steps(1), initial=start)


def test_a_target_may_be_a_negative_lateness():
    easy = uniform(8, 8, 1).with_dates(due=[5000] * 8)
    target = dispatch(easy).lateness - 1
    result = tabu_search(easy, objective="lateness", stop=stop.target(target) | stop.steps(1000))
    assert result.stopped_by == "target"
    assert result.value <= target < 0


def test_same_seed_same_schedule_with_dates():
    instance = shop(8, 6, 1)
    first, second = (solve(instance, stop.steps(30_000), objective="lateness", workers=2, seed=4) for _ in range(2))
    assert first.schedule == second.schedule


@settings(deadline=None, max_examples=60)
@given(instance=dated_instances(), rule=st.sampled_from(["fdd/mwkr", "edd", "spt", "fifo", "mwkr", "random"]))
def test_rules_respect_dates(instance, rule):
    dispatch(instance, rule).verify()


def test_without_delay_a_machine_waits_for_nothing_but_dates():
    """The most urgent job is not there yet: the machine takes the other one."""
    instance = Instance.from_jobs([[(0, 5)], [(0, 7)]]).with_dates(release=[3, 0], due=[8, 100])
    assert dispatch(instance, "edd").start.tolist() == [7, 0]
    assert dispatch(instance.with_dates(due=[8, 100]), "edd").start.tolist() == [0, 5]


def test_edd_looks_at_due_dates():
    instance = Instance.from_jobs([[(0, 5)], [(0, 5)], [(0, 5)]]).with_dates(due=[30, None, 10])
    assert dispatch(instance, "edd").order.tolist() == [2, 0, 1]


def test_cp_sat_keeps_orders_and_takes_a_complete_hint():
    instance = shop(5, 4, 2).with_objective("lateness")
    start = dispatch(instance, "edd")
    kept = instance.with_details(kept=(tuple(start.machine_orders[0].tolist()),))
    start = Schedule(kept, start.order, start.start)
    lines: list[str] = []
    model = JobShopModel(kept, start.length)
    model.hint(start)
    found: list[Schedule] = []
    assert attempt(model, 60, found.append, log=lines.append) == "OPTIMAL"
    assert any("The solution hint is complete and is feasible." in line for line in lines)
    assert found[-1].machine_orders[0].tolist() == start.machine_orders[0].tolist()
    search = solve(kept, stop.steps(60_000), patience=1000, initial=start)
    assert search.value == found[-1].value


def test_learned_selectors_work_with_dates():
    for selector in ("l2s", "l2s-fast"):
        result = local_search(shop(6, 5, 1), selector, objective="lateness", stop=stop.steps(200))
        result.schedule.verify()
    exact = tabu_search(shop(6, 5, 1), "greedy", objective="lateness", stop=stop.steps(50), evaluator="compiled")
    plain = tabu_search(shop(6, 5, 1), "greedy", objective="lateness", stop=stop.steps(50))
    assert exact.schedule == plain.schedule


def test_results_with_dates_are_saved_and_loaded(tmp_path):
    result = solve(shop(4, 3, 1), stop.steps(100), objective="lateness")
    result.save(tmp_path / "result.json")
    again = type(result).load(tmp_path / "result.json")
    assert (again.value, again.objective, again.instance) == (result.value, "lateness", result.instance)
