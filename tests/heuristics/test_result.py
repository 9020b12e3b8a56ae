"""What a run reports."""

from __future__ import annotations

import csv
import json
import pickle
import re

import pytest

import l2s_plugin as l2s
from heuristics import Configuration, Improvement, Result, solve, tabu_search
from heuristics.monitor import Monitor
from l2s_plugin.stop import steps

FIELDS = {
    "instance", "makespan", "lower_bound", "upper_bound", "status", "steps", "seconds", "steps_per_second",
    "method", "selector", "neighbourhood", "gear", "seed", "history",
}  # fmt: skip


@pytest.fixture(scope="module")
def result():
    return tabu_search(l2s.load("la20"), stop=steps(2000), seed=4)


def test_the_json_form_has_the_promised_fields(result):
    data = json.loads(result.to_json())
    assert set(data) >= FIELDS
    assert data["makespan"] == result.schedule.makespan
    assert data["history"][-1][2] == data["makespan"]
    assert [row[2] for row in data["history"]] == sorted({row[2] for row in data["history"]}, reverse=True)
    assert (data["seed"], data["steps"], data["gear"]) == (4, 2000, "compiled")


def test_the_history_is_written_as_csv(result, tmp_path):
    result.save_history(tmp_path / "history.csv")
    rows = list(csv.DictReader((tmp_path / "history.csv").open()))
    assert [int(row["makespan"]) for row in rows] == [makespan for _, _, makespan in result.history]


def test_the_summary_names_makespan_bound_and_seed(result):
    text = result.summary()
    for word in (str(result.makespan), str(result.lower_bound), "seed 4", "n7", "estimate"):
        assert word in text


@pytest.mark.parametrize("host", [tabu_search, solve])
def test_listeners_and_observers_hear_of_every_incumbent_and_of_the_end(host):
    registry = l2s.Registry.discover()
    heard, ended, told = [], [], []

    class Observer:
        @l2s.hookimpl
        def l2s_incumbent(self, event):
            heard.append(event)

        @l2s.hookimpl
        def l2s_search_finished(self, instance, result):
            ended.append((instance, result))

    registry.register(Observer(), "observer")
    result = host(l2s.load("la20"), stop=steps(2000), registry=registry, listener=told.append)
    assert [event.makespan for event in heard] == [entry[2] for entry in result.history]
    assert told == heard
    assert all(isinstance(event, Improvement) for event in heard)
    assert ended == [(result.instance, result)]


def test_an_observer_that_raises_is_reported_and_the_run_goes_on():
    registry = l2s.Registry.discover()

    class Broken:
        @l2s.hookimpl
        def l2s_incumbent(self, event):
            raise RuntimeError("no thanks")

    registry.register(Broken(), "broken")
    with pytest.warns(RuntimeWarning, match=r"broken, hook l2s_incumbent raised RuntimeError: no thanks"):
        result = tabu_search(l2s.load("la20"), stop=steps(200), registry=registry)
    assert result.steps == 200


def test_the_steps_of_a_history_never_fall():
    """Two searches side by side: the second is behind the first when it finds something better."""
    monitor = Monitor(l2s.load("ft06"), Configuration(stop=steps(100)))
    for step, makespan in ((0, 62), (18, 57), (14, 55)):
        monitor.record(step, makespan)
    assert [(step, makespan) for _, step, makespan in monitor.history] == [(0, 62), (18, 57), (18, 55)]


def test_equal_results_and_schedules_are_equal_after_pickling(result):
    again = pickle.loads(pickle.dumps(result))
    assert again == result
    assert hash(again) == hash(result)
    assert again.schedule == result.schedule
    assert not again.schedule.start.flags.writeable
    assert result.schedule != tabu_search(l2s.load("la20"), stop=steps(0)).schedule


def test_pickled_schedules_hold_nothing_that_can_be_computed(result):
    schedule = l2s.Schedule(result.instance, result.schedule.order, result.schedule.start)
    before = len(pickle.dumps(schedule))
    assert schedule.critical_path()
    assert len(schedule.linear_order)
    assert len(pickle.dumps(schedule)) == before


def test_a_saved_result_is_loaded_as_it_was(result, tmp_path):
    result.save(tmp_path / "run.json")
    again = Result.load(tmp_path / "run.json")
    assert again == result
    assert (again.instance.name, again.instance.upper_bound) == ("la20", result.instance.upper_bound)
    assert tabu_search(result.instance, initial=again, stop=steps(0)).makespan == result.makespan


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"format": "l2s-schedule"}, "not a result"),
        ({"version": 2}, "not a result"),
        ({"instance": None}, "instance"),
        ({"instance": {"format": "l2s-instance"}}, "instance:1: version is nothing, expected an integer"),
        ({"schedule": None}, "schedule: not a schedule"),
        ({"schedule": {"format": "l2s-schedule"}}, "schedule: version is missing"),
        ({"lower_bound": "7"}, "lower_bound must be a whole number, got '7'"),
        ({"steps": True}, "steps must be a whole number"),
        ({"seconds": float("nan")}, "NaN is no number"),
        ({"selector": 5}, "selector must be text or nothing"),
        ({"history": {}}, "history must be a list, got {}"),
        ({"history": [[0.5, 1]]}, "history[0] must be a list of 3"),
        ({"history": [[0.5, "1", 2]]}, "history[0] must be a whole number"),
    ],
)
def test_a_damaged_result_is_one_clear_line(result, tmp_path, change, words):
    file = tmp_path / "run.json"
    result.save(file)
    file.write_text(json.dumps(json.loads(file.read_text()) | change))
    with pytest.raises(l2s.L2SError, match=re.escape(words)) as caught:
        Result.load(file)
    assert str(caught.value).startswith(str(file))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("text", ["", "{", "[]", "[" * 100_000, '{"format": ' + "9" * 5000 + "}"])
def test_what_is_no_result_is_one_clear_line(tmp_path, text):
    (tmp_path / "run.json").write_text(text)
    with pytest.raises(l2s.L2SError, match=r"run\.json(:1)?: (not|unreadable)"):
        Result.load(tmp_path / "run.json")


def test_results_name_polisher_and_dispatching_rule(result):
    population = solve(l2s.load("ft06"), stop=steps(10))
    assert (population.polisher, population.initial) == ("l2s-fast:l2s-polish", "fdd/mwkr")
    assert "polisher l2s-fast:l2s-polish, from fdd/mwkr" in population.summary()
    assert (result.polisher, result.initial) == (None, "fdd/mwkr")
    onward = tabu_search(result.instance, initial=result, stop=steps(0))
    assert onward.initial is None
    assert "from" not in onward.summary()


@pytest.mark.parametrize("limit", [10, 2.5, "10"])
def test_a_bare_number_as_stop_is_answered_with_the_right_form(limit):
    with pytest.raises(l2s.L2SError, match=r"for example stop=l2s\.stop\.seconds\(10\)"):
        solve(l2s.load("ft06"), limit)
