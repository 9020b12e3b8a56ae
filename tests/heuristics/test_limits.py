"""When runs end: limits of every host, and steps that are given up because time is."""

from __future__ import annotations

import pickle
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import l2s_plugin as l2s
from heuristics import (
    Configuration,
    cooperate,
    dispatch,
    ensemble_search,
    local_search,
    local_search_batch,
    portfolio,
    solve,
    tabu_search,
    tabu_search_batch,
)
from heuristics.loop import kernels
from heuristics.loop.memory import Memory
from heuristics.loop.search import Search
from heuristics.monitor import Monitor, SearchError
from l2s_plugin.errors import L2SError
from l2s_plugin.kernels.state import HALT
from l2s_plugin.stop import Stop

LA21 = l2s.load("la21")
HOSTS = {
    "local_search": lambda **limits: local_search(LA21, "random", **limits),
    "tabu_search": lambda **limits: tabu_search(LA21, **limits),
    "solve": lambda **limits: solve(LA21, polisher=None, **limits),
    "cooperate": lambda **limits: cooperate(LA21, polisher=None, executor=ThreadPoolExecutor(2), **limits),
    "local_search_batch": lambda **limits: local_search_batch([LA21], "random", **limits)[0],
    "tabu_search_batch": lambda **limits: tabu_search_batch([LA21], "estimate", **limits)[0],
    "ensemble_search": lambda **limits: ensemble_search(LA21, ["l2s"], **limits).best,
    "portfolio": lambda **limits: portfolio(LA21, "tabu", executor=ThreadPoolExecutor(1), **limits).wait().best,
}


@pytest.mark.parametrize("host", HOSTS.values(), ids=HOSTS)
def test_every_host_takes_a_time_limit(host):
    result = host(time_limit=0.01)
    assert result.stopped_by == "seconds"
    assert result.seconds >= 0.01  # never early
    assert host(time_limit=600, stop=l2s.stop.steps(0)).stopped_by == "steps"
    with pytest.raises(L2SError, match=r"time limit must be .* got -1"):
        host(time_limit=-1)
    with pytest.raises(L2SError, match="no limit given"):
        host()


@pytest.mark.parametrize("gear", ["compiled", "python"])
@pytest.mark.parametrize("selector", ["estimate", "greedy", "l2s"])
def test_a_step_is_given_up_when_the_run_is_over(selector, gear):
    """No step may keep a run that has no time left; the schedule stays as it is."""
    search = Search(LA21, "n5", selector, Memory(tenure=(2, 4)), gear=gear)
    search.start(dispatch(LA21).linear_order)
    search.run(until_step=10)
    order = search.state.position.copy()
    with Monitor(LA21, Configuration(stop=Stop(seconds=0))) as monitor:
        monitor.watch(search)
        assert search.state.progress[HALT]
        assert search.run(until_step=20) == kernels.HALTED
    assert search.step == 10
    assert np.array_equal(search.state.position, order)


def test_ctrl_c_and_failures_end_the_step_too():
    for end in (Monitor.interrupt, lambda monitor: monitor.fail(RuntimeError("no"))):
        search = Search(LA21, "n5", "estimate", Memory())
        with Monitor(LA21, Configuration(stop=l2s.stop.steps(100))) as monitor:
            monitor.watch(search)
            assert not search.state.progress[HALT]
            end(monitor)
            assert search.state.progress[HALT]


def test_a_run_without_time_for_a_step_has_its_first_schedule():
    for workers in (1, 3):
        result = solve(LA21, Stop(seconds=0), workers=workers)
        assert (result.steps, result.stopped_by) == (0, "seconds")
        assert result.history[0][1:] == (0, result.makespan)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"workers": "2"}, "workers must be a whole number, 1 or more, got '2'"),
        ({"workers": 0}, "workers must be a whole number, 1 or more, got 0"),
        ({"population": 1}, "population must be a whole number, 2 or more, got 1"),
        ({"patience": 2.5}, "patience must be a whole number, 1 or more, got 2.5"),
        ({"seed": "1"}, "seed must be a whole number, 0 or more, got '1'"),
    ],
)
def test_wrong_numbers_are_one_line(options, message):
    with pytest.raises(L2SError, match=message):
        solve(LA21, time_limit=1, **options)


@pytest.mark.parametrize("tenure", [5, (3,), ("1", "2"), (1.5, 2), (0, 3), (4, 3)])
def test_a_tenure_is_a_pair_of_whole_numbers(tenure):
    with pytest.raises(L2SError, match=r"tenure must be \(low, high\) in steps"):
        tabu_search(LA21, time_limit=1, tenure=tenure)


class FailsAt:
    """A selector that takes the first move, and breaks in one of the searches."""

    name = "fails-at"

    def select(self, state, moves, rng):
        if state.step == 30 and state.instance.name == "la21":
            raise RuntimeError("no more")
        return 0


def test_a_batch_in_which_one_search_fails_brings_all_results():
    with pytest.raises(SearchError, match="failed at step 30") as caught:
        tabu_search_batch([l2s.load("ft06"), LA21], FailsAt(), stop=l2s.stop.steps(1000), known_bounds=False)
    results = caught.value.results
    assert [result.instance.name for result in results] == ["ft06", "la21"]
    assert [result.stopped_by for result in results] == ["error", "error"]
    for result in results:
        result.schedule.verify()
    again = pickle.loads(pickle.dumps(caught.value))
    assert (str(again), again.result) == (str(caught.value), caught.value.result)


def test_a_portfolio_keeps_what_a_failing_search_had_found():
    way = Configuration("tabu", selector=FailsAt(), stop=l2s.stop.steps(50))
    done = portfolio(LA21, way, executor=ThreadPoolExecutor(1)).wait()
    [run] = done.failures
    assert "failed at step 30: RuntimeError: no more" in run.error
    assert run.result.steps == 30
    assert done.best == run.result


@pytest.mark.parametrize("order", [1, -1])
def test_patience_does_not_depend_on_which_worker_reports_first(order):
    with Monitor(LA21, Configuration(stop=l2s.stop.no_improvement(100), known_bounds=False)) as monitor:
        for step, makespan in [(10, 1300), (80, 1250), (120, 1250)][::order]:
            monitor.record(step, makespan)
        assert not monitor.should_stop(179)
        assert monitor.should_stop(180)
