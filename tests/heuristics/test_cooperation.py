"""Cooperative search: populations in other processes that learn each other's best schedules."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from concurrent.futures import Executor, Future, ThreadPoolExecutor

import numpy as np
import pytest

import l2s_plugin as l2s
from heuristics import ProcessPool, cooperate, dispatch, solve
from heuristics.members import Member, random_order
from l2s_plugin.errors import L2SError
from tests import tasks


@pytest.fixture(scope="module")
def pool():
    with ProcessPool(2) as pool:
        yield pool


def test_a_limit_in_steps_gives_the_same_schedule_on_any_executor(pool):
    instance = l2s.load("la21")
    stop = l2s.stop.steps(30_001)
    with ThreadPoolExecutor(1) as threads:
        results = [cooperate(instance, stop, seed=3, executor=executor) for executor in (pool, pool, threads)]
    assert len({tuple(result.schedule.order) for result in results}) == 1
    assert results[0].steps == 30_001  # of both together
    assert results[0].stopped_by == "steps"


def test_seeds_and_workers_matter(pool):
    stop, instance, choices = l2s.stop.steps(3000), l2s.load("ta41"), ((1, 2), (2, 2), (1, 3))
    results = [cooperate(instance, stop, seed=seed, workers=workers, executor=pool) for seed, workers in choices]
    assert len({tuple(result.schedule.order) for result in results}) == 3
    assert [result.workers for result in results] == [2, 2, 3]


def test_the_result_says_how_it_was_found(pool):
    instance = l2s.load("la21")
    seen = []
    result = cooperate(
        instance, l2s.stop.steps(20_000), executor=pool, selector="greedy", neighbourhood="n5", listener=seen.append
    )
    result.schedule.verify()
    assert (result.method, result.selector, result.neighbourhood) == ("cooperation", "greedy", "n5")
    assert [event.makespan for event in seen] == [makespan for _, _, makespan in result.history]
    assert result.history[0][2] <= dispatch(instance, "fdd/mwkr").makespan
    assert result.history[-1][2] == result.makespan


def test_goes_on_from_a_schedule_and_is_never_worse(pool):
    instance = l2s.load("la21")
    start = solve(instance, l2s.stop.steps(100_000), seed=5)
    result = cooperate(instance, l2s.stop.steps(10), initial=start, executor=pool)
    assert result.makespan <= start.makespan


def test_all_workers_go_on_with_what_each_of_them_has_found(monkeypatch):
    """A recording in place of the search: three workers, each of which finds another schedule in every round."""
    instance, rng = l2s.load("ft06"), np.random.default_rng(0)
    rounds, found = [], []

    def record(task):
        rounds.append(task)
        order = random_order(instance, rng)
        found.append(Member.of(l2s.Schedule.from_linear_order(instance, order)))
        return (*task.members, found[-1]), found[-1], 100, {}, ""

    monkeypatch.setattr("heuristics.workers.cooperation.run_round", record)
    with ThreadPoolExecutor(1) as executor:
        result = cooperate(instance, l2s.stop.steps(3000), workers=3, population=4, executor=executor)
    warming_up, first, second, third = [rounds[k : k + 3] for k in (0, 3, 6, 9)]
    start = dispatch(instance, "fdd/mwkr").makespan
    assert [task.first.makespan for task in (*warming_up, *first)] == [start] * 6
    assert all(task.first is None for task in (*second, *third))
    assert [task.members for task in second] == [tuple(found[3:6])] * 3
    assert len({task.members for task in third}) == 1
    assert len(third[0].members) == 4
    assert min(third[0].members) == min(found[3:9])
    assert result.makespan == min(start, *(member.makespan for member in found))


def test_a_worker_that_dies_costs_one_round_of_its_population_at_most(tmp_path):
    selector = tasks.DyingSelector(str(tmp_path))
    result = cooperate(l2s.load("la21"), l2s.stop.steps(50), selector=selector)
    result.schedule.verify()
    assert (tmp_path / "0").exists()  # it did die
    assert result.steps == 50


class LosesItsWorkers(Executor):
    """Does the first calls, and then has nobody left to do any."""

    def __init__(self, calls):
        self.calls = calls

    def submit(self, fn, /, *args, **kwargs):
        future = Future()
        self.calls -= 1
        if self.calls >= 0:
            future.set_result(fn(*args, **kwargs))
        return future


def test_a_time_limit_holds_when_all_workers_are_gone(monkeypatch):
    monkeypatch.setattr("heuristics.workers.cooperation._LATENESS", 0.1)
    result = cooperate(l2s.load("la21"), l2s.stop.seconds(0.5), exchange=0.1, executor=LosesItsWorkers(4))
    result.schedule.verify()
    assert result.stopped_by == "seconds"
    assert result.steps > 0


def test_ends_at_the_optimum_and_at_the_target(pool):
    forever = l2s.stop.seconds(600)
    assert cooperate(l2s.load("ft06"), forever, executor=pool).stopped_by == "known bound"
    result = cooperate(l2s.load("la21"), forever | l2s.stop.target(1200), executor=pool)
    assert result.stopped_by == "target"
    assert result.makespan <= 1200


@pytest.mark.parametrize("stop", [l2s.stop.steps(10), l2s.stop.seconds(600), l2s.stop.no_improvement(10)])
def test_ends_when_there_are_no_moves(stop, pool):
    assert cooperate(l2s.load("la21"), stop, neighbourhood=tasks.NoMoves(), executor=pool).stopped_by == "no moves"


@pytest.mark.parametrize(
    "options", [{"workers": 0}, {"population": 1}, {"patience": 0}, {"exchange": 0}, {"exchange": float("nan")}]
)
def test_options_that_make_no_sense_are_refused(options):
    with pytest.raises(L2SError, match=rf"{next(iter(options))} must be a .*(or more|positive number of seconds), got"):
        cooperate(l2s.load("ft06"), l2s.stop.steps(1), **options)


@pytest.mark.parametrize(
    ("instance", "options", "message"),
    [
        ("ft06", {}, "expected an Instance"),
        (l2s.load("ft06"), {"workers": "two"}, "a whole number, 1 or more, got 'two'"),
    ],
)
def test_what_is_of_another_kind_is_refused(instance, options, message):
    with pytest.raises(L2SError, match=message):
        cooperate(instance, l2s.stop.steps(1), **options)


def test_what_fails_in_all_workers_is_one_line(pool):
    with pytest.raises(L2SError, match="unknown selector 'greedi'") as caught:
        cooperate(l2s.load("ft06"), l2s.stop.steps(10), selector="greedi", executor=pool)
    assert "\n" not in str(caught.value)


INTERRUPTED = """
import l2s_plugin as l2s
from heuristics import cooperate

if __name__ == "__main__":
    stop, tell = l2s.stop.seconds(600), lambda event: print("better", flush=True)
    result = cooperate(l2s.load("ta41"), stop, listener=tell)
    result.schedule.verify()
    print(result.to_json(), flush=True)
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("send", [os.kill, os.killpg], ids=["coordinator alone", "all, as a terminal does"])
def test_an_interrupted_run_returns_its_incumbent(send, number, tmp_path):
    script = tmp_path / "interrupted.py"
    script.write_text(INTERRUPTED)
    process = subprocess.Popen([sys.executable, str(script)], stdout=subprocess.PIPE, text=True, start_new_session=True)
    assert process.stdout is not None
    for line in process.stdout:
        if line.strip() == "better":
            break
    send(process.pid, number)
    last = process.stdout.read().strip().splitlines()[-1]
    assert process.wait() == 0
    assert json.loads(last)["stopped_by"] == "interrupt"
