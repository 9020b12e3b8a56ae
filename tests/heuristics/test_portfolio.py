"""Portfolio: it finds what single searches find, whatever the executor; bad input is refused before any work."""

from __future__ import annotations

import os
import pickle
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from functools import partial
from multiprocessing import get_context

import loky
import pytest

import l2s_plugin as l2s
from heuristics import Configuration, ProcessPool, local_search, portfolio, tabu_search
from heuristics.workers.portfolio import Task, run_task, with_selectors
from l2s_plugin.errors import L2SError
from tests import tasks
from tests.policies import write_random_policy

STOP = l2s.stop.steps(100)


@pytest.fixture(scope="module")
def pool():
    with ProcessPool(2) as pool:
        yield pool


def test_finds_what_single_searches_find(pool):
    searches = {
        "a": (Configuration("tabu", neighbourhood="n6", label="a"), partial(tabu_search, neighbourhood="n6")),
        "b": (Configuration("local-search", "boltzmann", label="b"), partial(local_search, selector="boltzmann")),
    }
    ways = [way for way, _ in searches.values()]
    runs = list(portfolio(["ft06", l2s.load("la01")], ways, [1, 2], pool, stop=STOP))
    assert len(runs) == 8
    for run in runs:
        _, search = searches[run.configuration.label]
        expected = search(run.instance, stop=STOP, seed=run.seed)
        assert run.error is None
        assert (run.result.schedule.order == expected.schedule.order).all()
        assert [entry[1:] for entry in run.result.history] == [entry[1:] for entry in expected.history]
        assert (run.result.steps, run.result.gear) == (expected.steps, expected.gear)


@pytest.mark.parametrize(
    "executor",
    [
        lambda: ThreadPoolExecutor(2),
        lambda: ProcessPoolExecutor(2, mp_context=get_context("spawn")),
        lambda: loky.ProcessPoolExecutor(2),
    ],
    ids=["threads", "processes", "loky"],
)
def test_any_executor_will_do_and_stays_open(executor):
    with executor() as given:
        found = portfolio("ft06", "tabu", [1, 2, 3], given, stop=STOP).wait()
        assert given.submit(int, "7").result() == 7
    expected = [tabu_search(l2s.load("ft06"), stop=STOP, seed=seed).makespan for seed in (1, 2, 3)]
    assert sorted(result.makespan for result in found.results) == sorted(expected)


def test_the_best_is_there_at_any_moment(pool):
    runs = portfolio("la01", ["tabu", "local-search"], range(3), pool, stop=l2s.stop.steps(20))
    assert runs.best is None
    seen = []
    for run in runs:
        seen.append(run.result.makespan)
        assert runs.best.makespan == min(seen)
        assert len(runs.results) == len(seen)
    assert len(seen) == len(runs) == 6


def test_with_several_instances_each_has_its_best(pool):
    instances = [l2s.load("ft06"), l2s.load("la01")]
    runs = portfolio(instances, "tabu", [1, 2], pool, stop=STOP).wait()
    for instance in instances:
        of_instance = [run.result.makespan for run in runs.runs if run.instance is instance]
        assert runs.best_of(instance).makespan == runs.best_of(instance.name).makespan == min(of_instance)
    with pytest.raises(L2SError, match="several instances"):
        assert runs.best
    with pytest.raises(L2SError, match="unknown instance of this portfolio 'la02'; did you mean la01"):
        runs.best_of("la02")


def test_an_error_is_one_line_and_the_rest_goes_on(pool):
    runs = portfolio("ft06", tasks.fails, range(4), pool, stop=STOP).wait()
    errors = {run.seed: run for run in runs.failures}
    assert errors.keys() == {0, 1}
    assert errors[0].error == "ft06, fails, seed 0: seed 0 is refused"
    assert errors[1].error == "KeyError: 'a bug'"
    assert 'raise KeyError("a bug")' in errors[1].details
    assert all(run.tries == 1 for run in runs.runs)
    assert len(runs.results) == 2


def test_a_method_may_be_a_name_or_a_function(pool):
    runs = portfolio("ft06", [Configuration("tabu"), "tabu", tasks.search], 3, pool, stop=STOP)
    assert len({tuple(run.result.schedule.order) for run in runs}) == 1
    assert len(runs.results) == 3


@pytest.mark.parametrize("method", ["memetic", "cp-sat", "hybrid"])
def test_methods_with_workers_get_one(method, pool):
    runs = portfolio("ft06", method, executor=pool, stop=l2s.stop.seconds(60)).wait()
    assert runs.best.makespan == 55  # the optimum, so that none of them needs its time
    assert runs.best.workers == 1


def test_a_task_keeps_to_one_thread(pool):
    runs = portfolio("ft06", tasks.tells_threads, executor=pool, stop=STOP).wait()
    assert runs.failures[0].error.endswith("torch 1, workers 1")


def test_a_configuration_has_a_stop_of_its_own_or_that_of_the_portfolio(pool):
    ways = [Configuration("tabu"), Configuration("tabu", stop=l2s.stop.steps(7))]
    runs = portfolio("la21", ways, executor=pool, stop=l2s.stop.steps(30)).wait()
    assert {run.configuration.stop.steps: run.result.steps for run in runs.runs} == {30: 30, 7: 7}


@pytest.mark.parametrize(
    ("configuration", "message"),
    [
        ("taboo", "unknown method 'taboo'; did you mean tabu"),
        (Configuration("tabu", selector="greedi"), "unknown selector 'greedi'"),
        (Configuration("memetic", polisher="l2s-fst"), "unknown selector 'l2s-fst'"),
        (Configuration("tabu", neighbourhood="n55"), "unknown neighbourhood 'n55'"),
        (Configuration("tabu", initial="sptt"), "unknown dispatching rule 'sptt'; did you mean spt"),
        (Configuration("local-search", policy="l2s-fsat"), "unknown policy 'l2s-fsat'"),
        (5, "a method is a name or a function, got 5"),
        (Configuration("cp-sat", selector="greedy"), "method cp-sat has no use for selector"),
        (Configuration("tabu", polisher=None), "method tabu has no use for polisher"),
        (Configuration("cp-sat", stop=STOP), "method cp-sat takes no steps"),
        (Configuration("tabu", stop=l2s.stop.target(55)), "this stop may never come"),
    ],
)
def test_what_cannot_work_is_refused_before_anything_starts(configuration, message):
    with pytest.raises(L2SError, match=message) as caught:
        portfolio("ft06", configuration, stop=STOP)
    assert "\n" not in str(caught.value)


class Client:
    """Looks like a dask client."""

    def get_executor(self):
        raise AssertionError("not called")

    def __repr__(self):
        return "<Client:\n 2 workers>"


@pytest.mark.parametrize(
    "options",
    [
        {"executor": "here"},
        {"executor": Client()},
        {"tries": 0},
        {"tries": "often"},
        {"seeds": -1},
        {"seeds": "many"},
        {"instances": 5},
    ],
)
def test_options_that_make_no_sense_are_refused(options):
    with pytest.raises(L2SError) as caught:
        portfolio(**{"instances": "ft06", "configurations": "tabu", "stop": STOP} | options)
    assert "\n" not in str(caught.value)


def test_a_dask_client_is_told_where_its_executor_is():
    with pytest.raises(L2SError, match=r"not an executor: <Client: 2 workers>; its get_executor\(\) is one"):
        portfolio("ft06", "tabu", executor=Client(), stop=STOP)


@pytest.mark.parametrize("arguments", [([], "tabu"), ("ft06", []), ("ft06", "tabu", [])])
def test_nothing_to_do_is_refused(arguments):
    with pytest.raises(L2SError, match="at least one"):
        portfolio(*arguments, stop=STOP)


def test_tasks_and_results_are_small():
    instance = l2s.load("ta71")  # 2000 operations
    task = Task(instance, Configuration("tabu", stop=l2s.stop.steps(1), seed=1))
    arrays = instance.duration.nbytes
    assert len(pickle.dumps(task)) < 2 * arrays + 2000  # durations and machines
    assert len(pickle.dumps(run_task(task))) < 2 * arrays + 4000  # order and starts, not the instance again


def test_a_network_is_loaded_once_per_process_and_again_when_its_file_changes(tmp_path):
    path = write_random_policy(tmp_path / "policy.safetensors")
    way = Configuration("tabu", f"l2s:{path}")
    first = with_selectors(way).selector
    assert with_selectors(way).selector is first
    write_random_policy(path, seed=5)
    os.utime(path, ns=(1, 1))  # clocks of file systems are coarse
    assert with_selectors(way).selector is not first
