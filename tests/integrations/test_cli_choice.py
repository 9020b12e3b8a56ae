"""The method that `l2s solve` takes when none is named, and that it says so."""

from __future__ import annotations

import pytest

import l2s_plugin as l2s
from heuristics import Configuration, run
from integrations import libraries
from l2s_plugin.devices import available_cores
from l2s_plugin.errors import missing_extra
from tests.integrations.command_line import progress, report, solve


@pytest.fixture
def taken(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, int | None]]:
    """Method and workers of every run; the search itself is replaced by a dispatching rule."""
    seen: list[tuple[str, int | None]] = []

    def only_note(instance, way, listener):
        seen.append((way.method, way.workers))
        return run(instance, Configuration("dispatch"))

    monkeypatch.setattr("integrations.cli.solve.run", only_note)
    return seen


def test_search_and_cp_sat_run_side_by_side_on_all_cores_unless_asked_otherwise(taken) -> None:
    solve("ft06")
    solve("ft06", "--time-limit", "30")
    solve("ft06", "--workers", "3", "--target", "50")
    assert taken == [("hybrid", available_cores()), ("hybrid", available_cores()), ("hybrid", 3)]


@pytest.mark.parametrize(
    "options",
    [
        ["--max-steps", "9"],
        ["--no-improvement", "9"],
        ["--time-limit", "0.5"],
        ["--selector", "greedy"],
        ["--neighbourhood", "n5"],
        ["--population", "3"],
        ["--gear", "python"],
    ],
    ids=" ".join,
)
def test_a_limit_in_steps_a_short_time_or_a_part_by_name_means_the_search_alone_on_one_core(taken, options) -> None:
    solve("ft06", *options)
    assert taken == [("memetic", None)]


def test_large_instances_get_the_search_alone_on_all_cores(taken, tmp_path) -> None:
    path = str(tmp_path / "large.txt")
    l2s.save(l2s.generate.uniform(101, 50, seed=1), path)
    solve(path)
    assert taken == [("memetic", available_cores())]


def test_without_ortools_the_search_runs_alone_and_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing() -> None:
        raise missing_extra("ortools", "cp-sat")

    monkeypatch.setattr(libraries, "ortools", missing)
    result = solve("ft06", "--target", "60")
    assert result.exit_code == 0
    assert "memetic, n7, estimate" in result.stdout
    first = progress(result)[0]
    assert first.startswith("method memetic (without CP-SAT: ortools is not installed; run: pip install ")


def test_the_choice_is_told_unless_it_was_the_users() -> None:
    assert progress(solve("ft06"))[0] == "method hybrid (search and CP-SAT side by side)"
    assert "method" not in solve("ft06", "--method", "tabu", "--max-steps", "9").stderr
    assert not progress(solve("ft06", "--quiet"))


def test_the_best_by_default_proves_what_no_bound_gives_away(tmp_path) -> None:
    path = str(tmp_path / "mine.txt")  # under this name nobody knows that 55 is optimal
    l2s.save(l2s.load("ft06"), path)
    data = report(path, "--time-limit", "60")
    assert (data["method"], data["makespan"], data["lower_bound"], data["status"]) == ("hybrid", 55, 55, "OPTIMAL")


def test_a_run_that_the_clock_decides_about_is_said_to_be_run_again_with_all_that_was_chosen() -> None:
    for method in ("hybrid", "cp-sat"):
        options = f"la01 --method {method} --workers 2 --seed 5 --target 700 --time-limit 30"
        assert f"\nrun again: l2s solve {options}\n" in solve(*options.split()).stdout
