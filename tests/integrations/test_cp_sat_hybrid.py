"""`cp_sat.hybrid`: search and CP-SAT with one incumbent and one bound."""

from __future__ import annotations

import json
from types import SimpleNamespace

import pytest
from hypothesis import given, settings

import l2s_plugin as l2s
from heuristics import Configuration, dispatch, solve
from heuristics.monitor import SearchError
from l2s_plugin.errors import L2SError
from l2s_plugin.instance import Instance
from l2s_plugin.selectors import StateView
from tests.integrations.test_cp_sat import check, unknown
from tests.integrations.test_cp_sat_model import TINY, optimum
from tests.strategies import instances

pytest.importorskip("ortools")

from integrations import cp_sat
from integrations.cp_sat import hybrid_search


class FirstMove:
    """A selector in Python."""

    name = "first-move"

    def select(self, state: StateView, moves, rng) -> int:
        return 0


@pytest.mark.parametrize("workers", [1, 2])
@settings(deadline=None, max_examples=12)
@given(instance=instances(**TINY).filter(lambda instance: instance.n_operations <= 7))
def test_the_optimum_of_every_tiny_instance_is_found_and_proven(workers, instance):
    result = cp_sat.hybrid(instance, time_limit=60, workers=workers)
    check(result)
    assert result.makespan == result.lower_bound == optimum(instance)
    assert (result.status, result.method, result.stopped_by) == ("OPTIMAL", "hybrid", "optimal")


@pytest.mark.parametrize("workers", [1, 2])
def test_cp_sat_proves_what_the_search_found(workers):
    instance = unknown("la19" if workers == 2 else "ft06")
    result = cp_sat.hybrid(instance, time_limit=120, workers=workers)
    check(result)
    assert (result.status, result.stopped_by) == ("OPTIMAL", "optimal")
    assert l2s.bounds.lower_bound(instance) < result.makespan
    assert result.bound_source == "CP-SAT"
    assert result.steps > 0
    assert (result.selector, result.neighbourhood, result.gear) == ("estimate", "n7", "compiled")


@pytest.mark.parametrize("workers", [1, 2])
def test_cp_sat_proves_tiny_instances_before_the_search_has_gone_round_in_circles(workers):
    instance = Instance.from_jobs([[(0, 1), (2, 4), (1, 8)], [(2, 3), (0, 8), (1, 8)]])
    result = cp_sat.hybrid(instance, time_limit=600, workers=workers)
    assert l2s.bounds.lower_bound(instance) < result.makespan == optimum(instance)
    assert (result.status, result.bound_source) == ("OPTIMAL", "CP-SAT")
    if workers == 1:
        assert result.steps <= 1  # the search waits meanwhile


@pytest.mark.parametrize("selector", ["boltzmann", FirstMove()])
def test_any_selector_can_be_the_search_part(selector):
    result = cp_sat.hybrid(unknown("ft06"), time_limit=60, workers=2, selector=selector, neighbourhood="n5")
    check(result)
    assert result.makespan == 55


def test_what_cp_sat_finds_goes_to_the_search(monkeypatch):
    """The search alone cannot leave its first schedule; windows can, and it goes on from there."""
    monkeypatch.setattr(hybrid_search, "_kinds", lambda n, slow: ("windows",))
    instance = unknown("ft10")
    first = dispatch(instance)
    stop = l2s.stop.target(first.makespan - 1)
    result = cp_sat.hybrid(
        instance, time_limit=60, workers=1, selector=FirstMove(), neighbourhood=NoMoves(), warm_start=first, stop=stop
    )
    check(result, first.makespan - 1)
    assert result.stopped_by == "target"


@pytest.mark.parametrize(
    ("jobs", "objective", "seconds", "to_the_end"),
    [
        (10, "lateness", 49.0, False),
        (10, "lateness", 51.0, True),
        (10, "makespan", 51.0, False),
        (50, "lateness", 51.0, False),  # 300 operations
    ],
)
def test_with_due_dates_the_second_half_of_a_run_is_for_a_proof(jobs, objective, seconds, to_the_end):
    instance = l2s.generate.with_dates(l2s.generate.uniform(jobs, 6, 1), 1).with_objective(objective)
    monitor = SimpleNamespace(
        instance=instance, seconds=seconds, history=[(seconds - 20, 1, 900)], lower_bound=500,
        stop=l2s.stop.seconds(100), way=Configuration("hybrid"),
    )  # fmt: skip
    assistant = hybrid_search.Assistant(SimpleNamespace(monitor=monitor), 1, {})  # type: ignore[arg-type]
    kind, turn = assistant._next_turn(False)
    assert ((kind, turn) == ("proof", float("inf"))) == to_the_end


class NoMoves:
    """A neighbourhood without moves."""

    name = "no-moves"

    def moves(self, state, rng) -> list:
        return []


def test_warm_starts_and_limits_in_steps():
    instance = unknown("ta21")
    first = dispatch(instance, "mopnr")
    result = cp_sat.hybrid(instance, workers=1, warm_start=first, stop=l2s.stop.steps(0))
    assert (result.makespan, result.stopped_by) == (first.makespan, "steps")
    result = cp_sat.hybrid(instance, workers=2, stop=l2s.stop.steps(3000))
    check(result, dispatch(instance).makespan)
    assert result.stopped_by == "steps"
    assert 3000 <= result.steps <= 3001


def test_large_instances_get_windows_only():
    instance = l2s.generate.taillard(200, 40, 1, 1)
    result = cp_sat.hybrid(instance, time_limit=2, workers=1, selector=FirstMove(), neighbourhood="n5")
    check(result, dispatch(instance).makespan)


def test_a_policy_is_the_argument_of_a_learned_selector():
    with pytest.raises(L2SError, match="no-such-policy"):
        cp_sat.hybrid(unknown("ft06"), time_limit=1, policy="no-such-policy", neighbourhood="n5")


@pytest.mark.parametrize("broken", ["selector", "turn", "listener"])
def test_whatever_part_fails_the_error_carries_the_incumbent(broken, monkeypatch):
    def fail(*args):
        raise RuntimeError(f"broken {broken}")

    instance = unknown("ft10")
    options = {"warm_start": dispatch(instance)}
    if broken == "turn":
        monkeypatch.setattr(hybrid_search.Assistant, "_prove", fail)
    elif broken == "listener":
        options["listener"] = lambda event: event.step and fail()
    else:
        options["selector"] = type("Broken", (FirstMove,), {"select": fail})()
    with pytest.raises(SearchError, match=f"RuntimeError: broken {broken}") as error:
        cp_sat.hybrid(instance, time_limit=30, workers=2, **options)
    result = error.value.result
    check(result, dispatch(instance).makespan)
    assert result.stopped_by == "error"
    assert result.makespan == result.history[-1][2]


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize("options", [{"gear": "python"}, {"selector": FirstMove()}, {"selector": "l2s"}])
def test_windows_end_when_the_incumbent_meets_the_bound(workers, options, monkeypatch):
    """No window is built that would have to be shorter than the bound: CP-SAT would refuse the model."""
    monkeypatch.setattr(hybrid_search, "_kinds", lambda n, slow: ("windows",))
    instance = unknown("la05")  # its one-machine bound is the optimum
    result = cp_sat.hybrid(instance, time_limit=60, workers=workers, **({"neighbourhood": "n5"} | options))
    check(result)
    assert (result.makespan, result.status, result.stopped_by) == (593, "OPTIMAL", "optimal")


@pytest.mark.parametrize("method", ["cp-sat", "hybrid"])
def test_the_command_line_offers_both(method, tmp_path):
    from click.testing import CliRunner

    from integrations.cli import l2s as command

    def call(*words: str) -> str:
        run = CliRunner().invoke(command, words)
        assert run.exit_code == 0, run.output
        return run.stdout

    first, best = str(tmp_path / "first.json"), str(tmp_path / "best.json")
    call("solve", "la05", "--method", "dispatch", "--output", first)
    words = ("solve", "la05", "--method", method, "--time-limit", "60", "--warm-start", first, "--output", best)
    report = json.loads(call(*words, "--workers", "2", "--json"))
    assert (report["makespan"], report["status"], report["method"]) == (593, "OPTIMAL", method)
    call("check", "la05", best)
    text = call("solve", "la05", "--method", method, "--init", "spt", "--quiet")
    assert "proven optimal" in text
    assert "reproduce" not in text


@pytest.mark.parametrize("options", [{}, {"gear": "python"}, {"selector": "l2s", "neighbourhood": "n5"}])
def test_no_improvement_is_recorded_at_a_step_that_was_not_taken(options, monkeypatch):
    """CP-SAT takes one of two cores, so that the islands are uneven."""
    monkeypatch.setattr(hybrid_search.Assistant, "cores", lambda self, slow: 1)
    result = cp_sat.hybrid(unknown("ft10"), time_limit=600, workers=2, stop=l2s.stop.steps(400), **options)
    check(result)
    steps = [step for _, step, _ in result.history]
    assert steps == sorted(steps)
    assert 0 < steps[-1] <= result.steps


def test_a_schedule_of_cp_sat_is_recorded_at_the_step_of_the_search(monkeypatch):
    """So that `no_improvement` counts from there."""
    instance = unknown("ft10")
    best = solve(instance, l2s.stop.steps(50_000)).schedule

    def cores(self, slow):
        self._incumbent.offer(best)
        return 0

    def first(self, slow):
        monkeypatch.setattr(hybrid_search.Assistant, "cores", cores)
        return 0

    monkeypatch.setattr(hybrid_search.Assistant, "cores", first)
    stop = l2s.stop.no_improvement(300)
    result = cp_sat.hybrid(instance, time_limit=600, workers=1, selector=FirstMove(), neighbourhood="n1", stop=stop)
    late = next(step for _, step, makespan in result.history if makespan == best.makespan)
    assert late > 0
    assert result.steps >= late + 300


@pytest.mark.parametrize("words", [("--method", "cp-sat", "--init", "spt"), ("--no-improvement", "100000")])
def test_the_command_line_shows_the_log_and_passes_parameters_on(words):
    """Also where a limit in steps would choose the search alone: the options name CP-SAT."""
    from click.testing import CliRunner

    from integrations.cli import l2s as command

    words = ("solve", "ft06", *words, "--no-known-bounds", "--log", "--cp-sat-parameter")
    run = CliRunner().invoke(command, (*words, "linearization_level=2", "--cp-sat-parameter", "use_lns=false"))
    assert run.exit_code == 0, run.output
    assert "The solution hint is complete and is feasible." in run.stderr
    assert "linearization_level: 2" in run.stderr
    assert "--cp-sat-parameter linearization_level=2 --cp-sat-parameter use_lns=false" in run.stdout
    for word, message in (("linearization_level", "takes NAME=VALUE"), ("use_lsn=true", "did you mean use_lns")):
        run = CliRunner().invoke(command, (*words, word))
        assert run.exit_code == 2
        assert message in run.stderr
    run = CliRunner().invoke(command, ("solve", "ft06", "--method", "tabu", "--log"))
    assert "--log does not go with --method tabu" in run.stderr


@pytest.mark.parametrize("workers", [1, 2])
def test_where_no_proof_is_near_the_hybrid_is_the_search(workers):
    """Far from the bound and beyond 250 operations CP-SAT has no turn: same steps, same schedule."""
    instance, stop = l2s.load("ta41"), l2s.stop.steps(150_000)
    search = solve(instance, stop, seed=3, workers=workers)
    result = cp_sat.hybrid(instance, time_limit=600, workers=workers, seed=3, stop=stop)
    assert result.schedule.order.tolist() == search.schedule.order.tolist()
    assert result.steps == search.steps
    if workers == 1:  # who comes first among threads is left to chance
        assert [entry[1:] for entry in result.history] == [entry[1:] for entry in search.history]
