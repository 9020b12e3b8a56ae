"""`cp_sat.solve`: never worse than given, with a bound, and safe against whatever users pass."""

from __future__ import annotations

import itertools
import json
import re
import signal
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import l2s_plugin as l2s
from heuristics import Result, dispatch, tabu_search
from heuristics.monitor import SearchError
from l2s_plugin.errors import L2SError, MissingExtraError, ScheduleError
from l2s_plugin.instance import Instance
from l2s_plugin.schedule import Schedule
from tests.integrations.test_cp_sat_model import TINY, optimum
from tests.strategies import instances, linear_orders

pytest.importorskip("ortools")

from integrations import cp_sat, libraries
from integrations.cp_sat import JobShopModel
from integrations.cp_sat.solver import attempt


def unknown(name: str) -> Instance:
    """A benchmark instance with its machines renumbered: no bound from the literature is known for it."""
    instance = l2s.load(name)
    machine = np.roll(np.arange(instance.n_machines), 1)[instance.machine]
    return Instance(instance.duration, machine, instance.job_offset, instance.n_machines, name=f"{name}-renumbered")


def check(result: Result, limit: int | None = None) -> None:
    result.schedule.verify()
    assert result.lower_bound <= result.makespan
    makespans = [makespan for _, _, makespan in result.history]
    assert makespans == sorted(makespans, reverse=True)
    assert limit is None or result.makespan <= limit


@settings(deadline=None, max_examples=30)
@given(st.data())
def test_the_optimum_of_every_tiny_instance_is_found_and_proven(data):
    instance = data.draw(instances(**TINY).filter(lambda instance: instance.n_operations <= 7))
    warm = None
    if data.draw(st.booleans()):
        warm = Schedule.from_linear_order(instance, data.draw(linear_orders(instance)))
    result = cp_sat.solve(instance, warm, time_limit=60, workers=1)
    check(result)
    assert result.makespan == result.lower_bound == optimum(instance)
    assert (result.status, result.method, result.stopped_by) == ("OPTIMAL", "cp-sat", "optimal")
    assert result.history[-1][2] == result.makespan


@pytest.mark.parametrize("kind", ["schedule", "result", "path", "str"])
def test_a_warm_start_is_a_schedule_a_result_or_a_file(kind, tmp_path):
    instance = unknown("ft06")
    schedule = dispatch(instance)
    file = tmp_path / "schedule.json"
    schedule.save(file)
    warm = {
        "schedule": schedule,
        "result": Result(schedule, 0, "dispatch"),
        "path": file,
        "str": str(file),
    }[kind]
    lines: list[str] = []
    result = cp_sat.solve(instance, warm, time_limit=60, workers=2, log=lines.append)
    check(result, schedule.makespan)
    assert result.history[0][2] == schedule.makespan
    assert (result.makespan, result.status) == (55, "OPTIMAL")
    assert any("The solution hint is complete and is feasible." in line for line in lines)


def test_a_warm_start_with_idle_time_is_hinted_and_never_made_worse():
    instance = unknown("ft06")
    late = Schedule.from_starts(instance, dispatch(instance).start + 7)
    result = cp_sat.solve(instance, late, stop=l2s.stop.target(late.makespan) | l2s.stop.seconds(60), workers=1)
    assert result.makespan == late.makespan
    assert result.stopped_by == "target"


def test_the_result_is_the_warm_start_when_cp_sat_ends_unknown(monkeypatch):
    """Time may run out while CP-SAT is still reading the model."""

    def idle(model, seconds, found, *args, **options):
        return attempt(model, 0.0, lambda schedule: None, *args, **options)  # also if it finds one in no time

    monkeypatch.setattr("integrations.cp_sat.solver.attempt", idle)
    instance = unknown("ta21")
    warm = tabu_search(instance, stop=l2s.stop.steps(2000))
    result = cp_sat.solve(instance, warm, time_limit=0.5, workers=1)
    check(result)
    assert result.makespan == warm.makespan
    assert result.schedule is warm.schedule
    assert result.stopped_by == "seconds"

    cold = cp_sat.solve(instance, time_limit=0.5, workers=1)
    check(cold)
    assert cold.history == []
    assert cold.makespan == dispatch(instance).makespan


@pytest.mark.parametrize("looks", [0, 1, 3, 9])
def test_a_model_that_cannot_be_built_in_time_is_given_up(looks, monkeypatch):
    """The clock is looked at while variables, jobs, machines and hints are added, not only afterwards."""
    instance = unknown("ft10")
    count = itertools.count()
    warm = dispatch(instance)
    with pytest.raises(TimeoutError):
        JobShopModel(instance, warm.makespan, out_of_time=lambda: next(count) >= looks)
    monkeypatch.setattr("integrations.cp_sat.solver.JobShopModel.hint", late)
    monkeypatch.setattr("integrations.cp_sat.solver.attempt", None)
    result = cp_sat.solve(instance, warm, time_limit=0.05, workers=1)
    assert (result.schedule, result.stopped_by) == (warm, "seconds")


def late(*args):
    raise TimeoutError


def test_what_is_optimal_already_is_not_solved_again(monkeypatch):
    monkeypatch.setattr("integrations.cp_sat.solver.attempt", None)
    instance = l2s.load("ft06")  # its optimum is known
    best = tabu_search(instance, stop=l2s.stop.seconds(60))
    result = cp_sat.solve(instance, best, time_limit=30)
    assert (result.makespan, result.bound_source, result.stopped_by) == (55, "literature", "known bound")


@pytest.mark.parametrize("call", ["solve", "hybrid"])
def test_a_proof_of_cp_sat_owes_nothing_to_the_literature(call, monkeypatch):
    """CP-SAT is never told a bound that was looked up, so that what it proves is proven."""
    monkeypatch.setattr("l2s_plugin.bounds.known_bound", lambda instance: 56)  # wrong: the optimum is 55
    instance = l2s.load("ft06")
    result = getattr(cp_sat, call)(instance, time_limit=60, workers=1)
    assert (result.lower_bound, result.bound_source, result.status) == (56, "literature", "FEASIBLE")
    result = getattr(cp_sat, call)(instance, time_limit=60, workers=1, known_bounds=False)
    assert (result.makespan, result.lower_bound, result.bound_source) == (55, 55, "CP-SAT")
    assert result.status == "OPTIMAL"
    assert "bound 55 (CP-SAT), proven optimal" in result.summary()


def test_stop_criteria_end_the_run():
    instance = unknown("ta01")
    assert cp_sat.solve(instance, stop=l2s.stop.seconds(0.3), workers=1).stopped_by == "seconds"
    warm = dispatch(instance)
    stop = l2s.stop.when(lambda progress: progress.makespan < warm.makespan)
    result = cp_sat.solve(instance, warm, time_limit=60, stop=stop, workers=1)
    assert result.stopped_by == "condition"
    check(result, warm.makespan - 1)


def test_listeners_and_observers_hear_of_improvements_and_what_they_raise_surfaces():
    instance = unknown("ft06")
    heard = []
    result = cp_sat.solve(instance, dispatch(instance), time_limit=60, workers=1, listener=heard.append)
    assert [(event.seconds, event.step, event.makespan) for event in heard] == result.history

    def fail(event):
        if event.makespan < dispatch(instance).makespan:
            raise RuntimeError("from the listener")

    with pytest.raises(SearchError, match="RuntimeError: from the listener") as error:
        cp_sat.solve(instance, dispatch(instance), time_limit=60, workers=1, listener=fail)
    check(error.value.result, dispatch(instance).makespan - 1)
    assert isinstance(error.value.__cause__, RuntimeError)


def test_one_worker_is_reproducible():
    instance = unknown("ft06")
    a, b = (cp_sat.solve(instance, time_limit=60, workers=1, seed=3) for _ in range(2))
    assert [entry[2] for entry in a.history] == [entry[2] for entry in b.history]


@pytest.mark.parametrize("call", ["solve", "hybrid"])
@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "no limit given"),
        ({"time_limit": 0}, "time limit must be a positive number of seconds, got 0"),
        ({"time_limit": -1}, "time limit must be a positive number"),
        ({"time_limit": "10"}, "time limit must be a positive number"),
        ({"stop": l2s.stop.target(5)}, "may never come"),
        ({"time_limit": 1, "workers": 0}, "workers must be a whole number, 1 or more, got 0"),
        ({"time_limit": 1, "workers": 1.5}, "workers must be a whole number"),
        ({"time_limit": 1, "seed": -1}, "seed must be a whole number"),
        ({"time_limit": 1, "parameters": {"linearisation_level": 0}}, "did you mean linearization_level"),
        (
            {"time_limit": 1, "parameters": {"linearization_level": "x"}},
            "linearization_level is a whole number, got 'x'",
        ),
        (
            {"time_limit": 1, "parameters": {"linearization_level": True}},
            "linearization_level is a whole number, got True",
        ),
        (
            {"time_limit": 1, "parameters": {"linearization_level": 1.5}},
            "linearization_level is a whole number, got 1.5",
        ),
        (
            {"time_limit": 1, "parameters": {"linearization_level": 2**40}},
            "linearization_level cannot be 1099511627776",
        ),
        ({"time_limit": 1, "parameters": {"use_lns": 3}}, "use_lns is true or false, got 3"),
        ({"time_limit": 1, "parameters": {"use_lns": None}}, "use_lns is true or false, got None"),
        ({"time_limit": 1, "parameters": {"relative_gap_limit": "much"}}, "relative_gap_limit is a number, got 'much'"),
        ({"time_limit": 1, "parameters": {"num_workers": 3}}, "num_workers is not for parameters=; give workers"),
        ({"time_limit": 1, "parameters": {"interleave_batch_size": -4}}, "CP-SAT refuses its parameters"),
        ({"time_limit": 1, "log": "yes"}, "log must be True, False or a function"),
        ({"time_limit": 1, "warm_start": 7}, "a warm start is a schedule, a result or a file, got 7"),
        ({"time_limit": 1, "warm_start": "nowhere.json"}, "cannot read nowhere.json"),
        ({"time_limit": 1, "warm_start": dispatch(l2s.load("la01"))}, "the initial schedule belongs to Instance(la01"),
    ],
)
def test_bad_input_is_told_in_one_line(call, options, message):
    with pytest.raises(L2SError, match=re.escape(message)) as error:
        getattr(cp_sat, call)(l2s.load("ft06"), **options)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("call", ["solve", "hybrid"])
def test_parameters_reach_cp_sat_and_overrule_ours(call):
    lines: list[str] = []
    parameters = {"linearization_level": "2", "use_lns": "false", "relative_gap_limit": 0, "log_prefix": "mine"}
    result = getattr(cp_sat, call)(unknown("ft06"), time_limit=60, workers=1, parameters=parameters, log=lines.append)
    assert (result.makespan, result.status) == (55, "OPTIMAL")
    shown = next(line for line in lines if "Parameters: " in line)
    assert "linearization_level: 2" in shown
    assert "use_lns: false" in shown
    assert "mine" in shown


def test_a_limit_among_the_parameters_ends_the_run_by_cp_sat():
    result = cp_sat.solve(unknown("ta21"), time_limit=600, workers=1, parameters={"max_number_of_conflicts": 1})
    check(result)
    assert result.stopped_by == "CP-SAT"


def test_cp_sat_alone_takes_no_steps():
    with pytest.raises(L2SError, match="cp-sat takes no steps"):
        cp_sat.solve(l2s.load("ft06"), stop=l2s.stop.steps(5))


def test_an_infeasible_warm_start_is_refused_with_the_violated_constraint(tmp_path):
    instance = l2s.load("ft06")
    good = dispatch(instance)
    start = good.start.copy()
    start[1] = start[0]  # before its predecessor has ended
    with pytest.raises(ScheduleError, match=r"^operation 1 .* before operation 0"):
        cp_sat.solve(instance, Schedule(instance, good.order, start), time_limit=1)
    file = tmp_path / "bad.json"
    file.write_text(json.dumps({**good.to_dict(), "start": start.tolist()}))
    with pytest.raises(ScheduleError, match=r"bad\.json: operation 1 .* before operation 0"):
        cp_sat.solve(instance, file, time_limit=1)


def test_more_workers_than_cores_are_allowed_and_told(capsys, monkeypatch):
    monkeypatch.setattr("integrations.cp_sat.options.available_cores", lambda: 1)
    assert cp_sat.solve(unknown("ft06"), time_limit=60, workers=2).status == "OPTIMAL"
    assert capsys.readouterr().err == "l2s: 2 workers share 1 core\n"


def test_ortools_missing_or_too_old_is_one_line(monkeypatch):
    import ortools

    monkeypatch.setattr(ortools, "__version__", "9.11.4210")
    with pytest.raises(MissingExtraError, match=r"ortools 9\.11\.4210 is too old, 9\.12 or newer is needed"):
        cp_sat.solve(l2s.load("ft06"), time_limit=1)
    monkeypatch.setitem(sys.modules, "ortools", None)
    with pytest.raises(MissingExtraError, match=re.escape("pip install 'l2s-plugin[cp-sat]'")):
        cp_sat.hybrid(l2s.load("ft06"), time_limit=1)


def test_versions_of_ortools_that_are_new_enough_pass(monkeypatch):
    import ortools

    for version in ("9.12.4544", "9.15.6755", "10.0.1"):
        monkeypatch.setattr(ortools, "__version__", version)
        libraries.ortools()


def test_importing_the_package_does_not_import_ortools():
    code = "import sys, integrations.cp_sat as c; c.solve; c.hybrid; print('ortools' in sys.modules)"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "False"


INTERRUPTED = """
import l2s_plugin as l2s
from heuristics import dispatch
from integrations import cp_sat, libraries
instance = l2s.load("ta41")
first = dispatch(instance)
listener = lambda event: print("better" if event.makespan < first.makespan else "", flush=True)
result = cp_sat.{call}(instance, warm_start=first, time_limit=600, workers=2, listener=listener)
result.schedule.verify()
print(result.to_json(), flush=True)
"""


@pytest.mark.parametrize(
    ("call", "number"), [("solve", signal.SIGINT), ("solve", signal.SIGTERM), ("hybrid", signal.SIGINT)]
)
def test_an_interrupted_run_returns_its_incumbent(call, number):
    command = [sys.executable, "-c", INTERRUPTED.format(call=call)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    for line in process.stdout:
        if line.strip() == "better":
            break
    process.send_signal(number)
    rest = process.stdout.read().strip().splitlines()
    assert process.wait() == 0
    result = json.loads(rest[-1])
    assert result["stopped_by"] == "interrupt"
    assert result["makespan"] == result["history"][-1][2]
