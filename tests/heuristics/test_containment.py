"""Whatever a part raises, it is named and what was found is kept; only the user's Ctrl-C ends a program."""

from __future__ import annotations

import os
import signal
import threading
from concurrent.futures import Executor, Future

import pytest

import l2s_plugin as l2s
from heuristics import cooperate, dispatch, local_search, local_search_batch, portfolio, solve, tabu_search
from heuristics.configuration import Configuration
from heuristics.monitor import SearchError
from l2s_plugin.containment import CtrlC
from l2s_plugin.errors import L2SError, PluginError
from l2s_plugin.registry import Registry, default_registry
from l2s_plugin.selectors import CompiledSelector
from tests import tasks

LA21 = l2s.load("la21")
STEPS = l2s.stop.steps(200)
FOREVER = l2s.stop.seconds(600)
ENDS = [SystemExit(0), KeyboardInterrupt(), GeneratorExit(), ValueError("boom")]
every_end = pytest.mark.parametrize("error", ENDS, ids=lambda error: type(error).__name__)


class Raises:
    """A part of any kind that works for ten calls."""

    name = "hostile"

    def __init__(self, error: BaseException, healthy: int = 10) -> None:
        self.error, self.healthy = error, healthy

    def __call__(self, *arguments):
        self.healthy -= 1
        if self.healthy < 0:
            raise self.error
        return 0

    select = __call__


class HereExecutor(Executor):
    """Runs calls at once."""

    def submit(self, fn, /, *args, **kwargs):
        future: Future = Future()
        future.set_result(fn(*args, **kwargs))
        return future


def two_islands(instance, selector, **options):
    return solve(instance, selector=selector, workers=2, polisher=None, **options)


def polished(instance, selector, **options):
    return solve(instance, polisher=selector, population=2, patience=5, **options)


def cooperating(instance, selector, **options):
    return cooperate(instance, selector=selector, polisher=None, executor=HereExecutor(), **options)


def batched(instance, selector, **options):
    return local_search_batch([instance], selector, **options)


@every_end
@pytest.mark.parametrize("host", [local_search, tabu_search, two_islands, polished, cooperating, batched])
def test_what_a_selector_raises_is_named_and_the_incumbent_is_kept(host, error):
    with pytest.raises(SearchError, match=rf"selector 'hostile' failed at step \d+: {type(error).__name__}") as caught:
        host(LA21, Raises(error), stop=FOREVER)
    caught.value.result.schedule.verify()
    assert caught.value.result.stopped_by == "error"


@every_end
@pytest.mark.parametrize("host", [local_search, tabu_search, two_islands])
def test_what_a_listener_or_a_condition_raises_leaves_the_incumbent(host, error):
    """Also in the compiled gear, where parts written in Python have no say."""
    stuck = Raises(error, healthy=1)
    for options in ({"stop": FOREVER, "listener": stuck}, {"stop": FOREVER | l2s.stop.when(Raises(error, 0))}):
        with pytest.raises(SearchError, match=type(error).__name__) as caught:
            host(LA21, "greedy", **options)
        result = caught.value.result
        assert result.makespan == result.history[-1][2]


@every_end
def test_what_an_observer_raises_is_a_warning(error):
    registry = Registry.discover()

    for hook in ("l2s_incumbent", "l2s_search_finished"):
        raising = type("Plugin", (), {hook: staticmethod(_hook(error))})()
        registry.register(raising, f"hostile-{hook}")
    with pytest.warns(RuntimeWarning, match=rf"hook l2s_\w+ raised {type(error).__name__}"):
        result = tabu_search(LA21, stop=STEPS, registry=registry)
    assert result.makespan


def _hook(error):
    def hook():
        raise error

    hook.__name__ = "hook"
    return l2s.hookimpl(hook)


@every_end
def test_what_a_rule_a_factory_or_parameters_raise_is_a_plugin_error(error):
    def fails(*arguments):
        raise error

    class Fails:
        def __init__(self) -> None:
            raise error

    scoring = default_registry().create(l2s.SelectorSpec, "greedy").score
    name = type(error).__name__
    with pytest.raises(PluginError, match=rf"dispatching rule .* raised {name}"):
        dispatch(LA21, fails)
    with pytest.raises(PluginError, match=rf"selector 'Fails' cannot be created: {name}"):
        tabu_search(LA21, Fails, stop=STEPS)
    with pytest.raises(PluginError, match=rf"selector 'x' has no parameters: {name}"):
        tabu_search(LA21, CompiledSelector("x", scoring, parameters=fails), stop=STEPS)


@pytest.mark.parametrize("executor", [HereExecutor(), None], ids=["here", "processes"])
def test_a_task_that_exits_has_failed_and_is_not_begun_again(executor):
    runs = portfolio("ft06", Configuration(tasks.leaves), [0, 1], executor, stop=STEPS).wait()
    assert sorted(run.error for run in runs.failures) == ["KeyboardInterrupt: seed 1", "SystemExit: seed 0"]
    assert {run.tries for run in runs.runs} == {1}


def test_ctrl_c_during_a_plugin_call_is_not_a_failure_of_the_plugin():
    """A signal, not an exception of the plugin's: it ends what runs, as anywhere else."""

    def interrupted(instance, seed):
        os.kill(os.getpid(), signal.SIGINT)
        threading.Event().wait(60)  # Python looks at signals now

    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(CtrlC):
            dispatch(LA21, interrupted)
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    finally:
        signal.signal(signal.SIGINT, before)


def test_ctrl_c_during_a_selectors_call_gives_the_incumbent():
    class Interrupted(Raises):
        def select(self, state, moves, rng):
            if state.step == 10:
                os.kill(os.getpid(), signal.SIGINT)
            return 0

    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        assert tabu_search(LA21, Interrupted(SystemExit()), stop=FOREVER).stopped_by == "interrupt"
    finally:
        signal.signal(signal.SIGINT, before)


class LosesItsScheduler(HereExecutor):
    """Takes so many calls, and no more."""

    def __init__(self, calls: int) -> None:
        self.calls = calls

    def submit(self, fn, /, *args, **kwargs):
        self.calls -= 1
        if self.calls < 0:
            raise RuntimeError("the connection to the scheduler is lost")
        return super().submit(fn, *args, **kwargs)


def test_a_lost_scheduler_leaves_the_incumbent():
    with pytest.raises(SearchError, match="the connection to the scheduler is lost") as caught:
        cooperate(LA21, FOREVER, exchange=0.1, executor=LosesItsScheduler(6), polisher=None)
    result = caught.value.result
    assert result.steps > 0
    assert result.makespan == result.history[-1][2]


def test_a_population_that_loses_a_round_is_told():
    told = pytest.warns(RuntimeWarning, match="a worker lost a round: .*scheduler is lost")
    with told, pytest.raises(SearchError):
        cooperate(LA21, l2s.stop.steps(100), executor=LosesItsScheduler(3), polisher=None)


def test_bad_options_have_no_result():
    with pytest.raises(L2SError) as caught:
        cooperate(LA21, STEPS, gear="fast", executor=HereExecutor())
    assert not isinstance(caught.value, SearchError)
