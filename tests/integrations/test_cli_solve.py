"""`l2s solve`: every option, wrong input, the report, the files, and signals."""

from __future__ import annotations

import csv
import dataclasses
import json
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner

from heuristics import Configuration, dispatch, tabu_search
from heuristics.configuration import COMMAND_LINE
from heuristics.hosts.trajectories import local_defaults, tabu_defaults
from integrations.cli import l2s
from integrations.cli.parameters import takes
from integrations.cli.solve import solve as command
from l2s_plugin.bounds import lower_bound
from l2s_plugin.instance import Instance
from l2s_plugin.loader import load, save
from l2s_plugin.registry import Registry, default_registry
from l2s_plugin.schedule import Schedule
from l2s_plugin.specs import MethodSpec
from tests.integrations.command_line import assert_bad_input, report
from tests.integrations.command_line import solve as run

METHODS = ("memetic", "tabu", "local-search", "cp-sat", "hybrid", "dispatch")
FIELDS = {
    "instance", "makespan", "lower_bound", "bound_source", "upper_bound", "status", "steps", "seconds",
    "steps_per_second", "method", "selector", "neighbourhood", "gear", "seed", "history",
}  # fmt: skip

SCRIPT = shutil.which("l2s", path=str(Path(sys.executable).parent)) or "l2s"


@pytest.fixture
def checked(tmp_path: Path) -> Callable[..., Schedule]:
    """Solve with `--output`, let `l2s check` look at the file, and read it."""

    def solve_and_check(instance: str, *arguments: str) -> Schedule:
        output = tmp_path / "checked.json"
        result = run(instance, *arguments, "--output", str(output))
        assert result.exit_code == 0, result.stderr
        verdict = CliRunner().invoke(l2s, ["check", instance, str(output)], prog_name="l2s")
        assert verdict.exit_code == 0, verdict.stdout
        return Schedule.load(load(instance), output)

    return solve_and_check


# --- methods and their options


@pytest.mark.parametrize(
    "options",
    [
        ["--max-steps", "50"],
        ["--max-steps", "50", "--workers", "2", "--population", "3"],
        ["--max-steps", "50", "--method", "tabu"],
        ["--max-steps", "50", "--polisher", "none"],
        ["--max-steps", "50", "--method", "tabu", "--gear", "python"],
        ["--time-limit", "0.1"],
        ["--method", "tabu", "--max-steps", "50", "--selector", "greedy", "--neighbourhood", "n5", "--init", "mwkr"],
        ["--method", "local-search", "--max-steps", "50"],
        ["--method", "local-search", "--max-steps", "50", "--gear", "python", "--forbid-undo", "--selector", "random"],
        ["--method", "local-search", "--time-limit", "0.1", "--neighbourhood", "n1", "--selector", "boltzmann:2"],
        ["--method", "dispatch"],
        ["--method", "dispatch", "--init", "spt", "--seed", "3"],
    ],
    ids=" ".join,
)
def test_every_schedule_written_passes_the_independent_check(options: list[str], checked) -> None:
    schedule = checked("la01", *options)
    assert schedule.makespan >= 666


@pytest.mark.parametrize("method", METHODS)
def test_no_known_bounds_leaves_the_literature_out_of_every_method(method: str) -> None:
    limits = () if method == "dispatch" else ("--time-limit", "0.1")
    known = report("ta21", "--method", method, *limits)
    own = report("ta21", "--method", method, *limits, "--no-known-bounds")
    assert (known["lower_bound"], known["bound_source"]) == (1642, "literature")
    assert own["bound_source"] in ("one-machine", "CP-SAT")
    assert lower_bound(load("ta21")) <= own["lower_bound"] < 1642


def test_progress_and_the_repeated_command_say_where_the_bound_comes_from() -> None:
    known = run("la16", "--method", "tabu", "--max-steps", "5")
    assert "bound 945 (literature), gap" in known.stderr
    assert "--no-known-bounds" not in known.stdout
    own = run("la16", "--method", "tabu", "--max-steps", "5", "--no-known-bounds")
    assert "(one-machine), gap" in own.stderr
    assert "literature" not in own.stderr + own.stdout
    assert "l2s solve la16 --method tabu --no-known-bounds" in own.stdout


def test_several_results_say_how_many_are_proven_and_how_many_are_looked_up() -> None:
    text = run("ft06", "la05", "--method", "tabu", "--quiet").stdout
    assert "2 instances: 1 proven optimal, 1 optimal by the literature's bound, mean gap" in text


def test_the_report_of_a_search_has_the_promised_fields() -> None:
    data = report("la16", "--max-steps", "500", "--seed", "4")
    assert set(data) >= FIELDS
    assert (data["instance"], data["method"], data["selector"], data["neighbourhood"]) == (
        "la16",
        "memetic",
        "estimate",
        "n7",
    )
    assert (data["steps"], data["seed"], data["gear"], data["stopped_by"]) == (500, 4, "compiled", "steps")
    assert (data["lower_bound"], data["upper_bound"]) == (945, 945)
    assert (data["status"], data["bound_source"]) == ("FEASIBLE", "literature")
    assert data["history"][-1][2] == data["makespan"]


def test_a_dispatching_rule_is_reported_in_the_same_form() -> None:
    data = report("ft06", "--method", "dispatch", "--init", "mwkr", "--seed", "2")
    search = report("ft06", "--max-steps", "1")
    assert list(data) == list(search)
    assert data["makespan"] == dispatch(load("ft06"), "mwkr", seed=2).makespan
    assert (data["method"], data["steps"], data["selector"], data["gear"]) == ("dispatch", 0, None, None)
    assert data["history"] == [[data["seconds"], 0, data["makespan"]]]
    assert (data["lower_bound"], data["status"]) == (55, "FEASIBLE")


def test_options_reach_the_search() -> None:
    data = report(
        "la16", "--method", "local-search", "--selector", "random", "--neighbourhood", "n7", "--max-steps", "9"
    )
    assert (data["method"], data["selector"], data["neighbourhood"], data["steps"]) == (
        "local-search",
        "random",
        "n7",
        9,
    )
    assert report("la16", "--method", "tabu", "--gear", "python", "--max-steps", "9")["gear"] == "python"
    assert report("la16", "--workers", "2", "--max-steps", "10")["workers"] == 2
    data = report("la16", "--method", "tabu", "--no-improvement", "300")
    assert data["stopped_by"] == "no improvement"
    assert data["steps"] - data["history"][-1][1] == 300
    data = report("la16", "--target", "1000", "--max-steps", "100000")
    assert data["stopped_by"] == "target"
    assert data["makespan"] <= 1000
    start = report("la16", "--init", "spt", "--method", "tabu", "--max-steps", "0")
    assert start["makespan"] == dispatch(load("la16"), "spt").makespan
    assert report("ta41", "--time-limit", "0.05")["stopped_by"] == "seconds"


def test_a_limit_too_large_to_count_is_no_problem() -> None:
    big = str(10**30)
    data = report("ft06", "--max-steps", big, "--no-improvement", big, "--target", big)
    assert data["stopped_by"] == "target"


def test_forbidding_the_undo_is_left_to_the_selector_unless_asked_for() -> None:
    """Without it, always taking the best move ends in going back and forth between two schedules."""

    def steps(*options: str) -> list[list[int]]:
        data = report("la38", "--method", "local-search", "--max-steps", "200", *options)
        return [row[1:] for row in data["history"]]

    for selector in ("estimate", "greedy"):
        parts = ("--selector", selector, "--neighbourhood", "n6")
        forbidden, allowed = steps(*parts, "--forbid-undo"), steps(*parts, "--allow-undo")
        assert forbidden != allowed
        assert steps(*parts) in (forbidden, allowed)


def test_the_defaults_in_the_help_are_those_of_the_code() -> None:
    text = " ".join(run("--help").stdout.split()).replace("- ", "-")
    local, tabu = local_defaults(Configuration()), tabu_defaults(Configuration())
    assert f"{tabu.selector}, or {local.selector} (local-search)" in text
    assert f"{tabu.neighbourhood}, or {local.neighbourhood} (local-search)" in text
    assert f"{tabu.initial} unless given" in text
    assert f"{Configuration.polisher} unless given" in text
    assert "10 unless this or --max-steps is given" in text


def test_every_option_of_a_method_exists() -> None:
    fields = {field.name for field in dataclasses.fields(Configuration)}
    known = {parameter.name for parameter in command.params} | fields
    assert fields >= COMMAND_LINE.keys()
    for spec in default_registry().specs(MethodSpec):
        assert spec.options is None or spec.options <= known


def test_without_a_limit_ten_seconds_are_the_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = []

    def fake(instance, way, listener):
        seen.append((way.stop.seconds, way.stop.steps))
        return tabu_search(instance, stop=way.stop, initial="random")

    monkeypatch.setattr("integrations.cli.solve.run", fake)
    for options in ([], ["--max-steps", "3"], ["--time-limit", "2"], ["--target", "9"], ["--no-improvement", "9"]):
        report("ft06", *options, "--target", "9999")
    assert seen == [(10, None), (None, 3), (2, None), (10, None), (10, None)]


# --- reproducibility


@pytest.mark.parametrize(
    "options", [[], ["--method", "tabu"], ["--workers", "2"], ["--method", "local-search"]], ids=" ".join
)
def test_the_same_seed_and_steps_give_the_same_file(options: list[str], tmp_path: Path) -> None:
    texts = []
    for name, seed in (("a", "1"), ("b", "1"), ("c", "2")):
        arguments = ("la21", "--max-steps", "3000", "--init", "random", "--seed", seed, *options)
        assert run(*arguments, "--output", str(tmp_path / name)).exit_code == 0
        texts.append((tmp_path / name).read_text())
    assert texts[0] == texts[1] != texts[2]


@pytest.mark.parametrize(
    "options",
    [
        ["--time-limit", "0.3", "--seed", "7"],
        ["--time-limit", "0.2", "--method", "tabu", "--selector", "boltzmann:0.3"],
        ["--method", "local-search", "--selector", "greedy", "--allow-undo", "--max-steps", "70"],
        ["--method", "local-search", "--selector", "estimate", "--forbid-undo", "--max-steps", "70"],
        ["--method", "dispatch", "--init", "random", "--seed", "5"],
        ["--workers", "2", "--max-steps", "5000"],
    ],
    ids=" ".join,
)
def test_the_line_in_the_summary_reproduces_the_schedule(options: list[str], tmp_path: Path) -> None:
    first, second = tmp_path / "first.json", tmp_path / "second.json"
    summary = run("la21", *options, "--output", str(first)).stdout
    (line,) = (line for line in summary.splitlines() if line.startswith("reproduce: l2s solve "))
    again = line.removeprefix("reproduce: l2s solve ").split()
    assert "--time-limit" not in again
    assert run(*again, "--output", str(second)).exit_code == 0
    assert first.read_text() == second.read_text()


def test_several_workers_under_the_clock_promise_nothing_exact() -> None:
    summary = run("ta21", "--workers", "2", "--time-limit", "0.2").stdout
    assert "\nreproduce, nearly: l2s solve ta21 --method memetic --workers 2 --seed 0 --max-steps " in summary


# --- warm start


def test_a_search_goes_on_from_a_warm_start(tmp_path: Path) -> None:
    first = str(tmp_path / "first.json")
    begun = report("la21", "--max-steps", "2000", "--output", first)
    for method in ("tabu", "local-search"):
        data = report("la21", "--method", method, "--warm-start", first, "--max-steps", "50")
        assert data["history"][0][2] == begun["makespan"]
        assert data["makespan"] <= begun["makespan"]


def test_a_wrong_warm_start_is_bad_input(tmp_path: Path) -> None:
    other = tmp_path / "other.json"
    dispatch(load("la02")).save(other)
    assert_bad_input(run("la01", "--warm-start", str(other)), "(a schedule of 'la02', checked against 'la01')")
    assert_bad_input(run("ft06", "--warm-start", str(other)), "n_jobs is 10, but the instance has 6")
    data = dispatch(load("la01")).to_dict()
    data["start"][3] = 0
    other.write_text(json.dumps(data))
    assert_bad_input(run("la01", "--warm-start", str(other)), str(other))
    other.write_text("hello")
    assert_bad_input(run("la01", "--warm-start", str(other)), "not JSON")
    assert_bad_input(run("la01", "--warm-start", str(tmp_path / "missing.json")), "cannot read")


# --- wrong input


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--selector", "estimat"], "unknown selector 'estimat'; did you mean estimate"),
        (["--neighbourhood", "n66"], "unknown neighbourhood 'n66'; did you mean n6"),
        (["--init", "sptt"], "unknown dispatching rule 'sptt'; did you mean spt"),
        (["--selector", "boltzmann:-1"], "boltzmann needs a positive temperature"),
        (["--time-limit", "-1"], "time limit must be a positive number of seconds, got -1.0"),
        (["--time-limit", "0"], "time limit must be a positive number"),
        (["--time-limit", "nan"], "time limit must be a positive number"),
        (["--time-limit", "soon"], "Invalid value for '--time-limit'"),
        (["--max-steps", "-1"], "Invalid value for '--max-steps'"),
        (["--max-steps", "1.5"], "Invalid value for '--max-steps'"),
        (["--target", "-1"], "target must be 0 or more where the objective is the makespan, got -1"),
        (["--no-improvement", "-1"], "Invalid value for '--no-improvement'"),
        (["--workers", "0"], "Invalid value for '--workers'"),
        (["--population", "0"], "Invalid value for '--population'"),
        (["--seed", "-1"], "Invalid value for '--seed'"),
        (["--gear", "fast"], "Invalid value for '--gear'"),
        (["--method", "magic"], "Invalid value for '--method'"),
        (["--forbid-undo"], "--forbid-undo does not go with --method memetic, only with local-search"),
        (
            ["--method", "local-search", "--population", "4"],
            "--population does not go with --method local-search, only with memetic",
        ),
        (["--method", "local-search", "--workers", "2"], "--workers does not go with --method local-search"),
        (["--method", "dispatch", "--max-steps", "5"], "--max-steps does not go with --method dispatch"),
        (["--method", "dispatch", "--warm-start", "a.json"], "--warm-start does not go with --method dispatch"),
        (["--warm-start", "a.json", "--init", "spt"], "--warm-start and --init both say where to begin"),
        (["--method", "tabu", "--workers", "2"], "--workers does not go with --method tabu"),
        (
            ["--method", "tabu", "--polisher", "l2s-fast"],
            "--polisher does not go with --method tabu, only with memetic",
        ),
        (["--method", "local-search", "--polisher", "l2s-fast"], "--polisher does not go with --method local-search"),
        (["--method", "memetic", "--polisher", "l2s-fats"], "unknown selector 'l2s-fats'"),
        (["--method", "memetic", "--polisher", "l2s-fast:no-such-policy"], "no-such-policy"),
        (["--output", "-", "--json"], "--output - and --json both want standard output"),
        (["--output", "-", "--history", "-"], "--output - and --history - both want standard output"),
        (["--output", "a.svg", "--gantt", "./a.svg"], "--output and --gantt name the same file"),
        (["--gantt", "a.jpg"], "unknown renderer 'jpg'"),
        (["--gantt", "a"], "the file's ending says how to draw"),
    ],
)
def test_bad_input_gives_one_line_and_exit_code_2(arguments: list[str], message: str) -> None:
    assert_bad_input(run("ft06", *arguments), message)


def test_instance_and_warm_start_cannot_share_standard_input() -> None:
    assert_bad_input(run("-", "--warm-start", "-"), "only one of INSTANCE, --warm-start and --config can be read from")


@pytest.mark.parametrize("option", ["--output", "--gantt", "--history"])
def test_what_cannot_be_written_is_found_before_the_search(
    option: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def never(*_: object) -> None:
        raise AssertionError("work was started")

    monkeypatch.setattr("integrations.cli.solve.run", never)
    assert_bad_input(
        run("ft06", option, "no/such/folder/a.png"), "cannot write no/such/folder/a.png: no such directory"
    )
    monkeypatch.chdir(tmp_path)
    for ending in ("json", "png", "csv"):
        (tmp_path / f"ft06.{ending}").mkdir()
    assert_bad_input(run("ft06", option, "."), "is a directory")


# --- output


def test_people_are_told_the_result_and_the_files(tmp_path: Path) -> None:
    files = {"--output": tmp_path / "a.json", "--history": tmp_path / "a.csv", "--gantt": tmp_path / "a.svg"}
    options = [word for option, path in files.items() for word in (option, str(path))]
    result = run("la16", "--max-steps", "100", *options)
    assert result.stdout.startswith("la16 (10x10): makespan ")
    assert "bound 945" in result.stdout
    assert "stopped by steps" in result.stdout
    assert result.stdout.endswith("".join(f"wrote {path}\n" for path in files.values()))
    assert all(path.stat().st_size for path in files.values())


def test_the_history_file_ends_at_the_makespan(tmp_path: Path) -> None:
    path = tmp_path / "history.csv"
    data = report("la16", "--max-steps", "500", "--history", str(path))
    rows = list(csv.DictReader(path.open()))
    assert [(int(row["step"]), int(row["makespan"])) for row in rows] == [tuple(row[1:]) for row in data["history"]]


def test_the_schedule_or_the_history_alone_is_printed_on_request() -> None:
    assert json.loads(run("ft06", "--max-steps", "9", "--output", "-").stdout)["format"] == "l2s-schedule"
    assert run("ft06", "--max-steps", "9", "--history", "-").stdout.startswith("seconds,step,makespan\n")


def test_progress_goes_to_standard_error_unless_quiet() -> None:
    for options in (["--method", "tabu"], [], ["--method", "local-search"]):
        loud = run("la16", "--max-steps", "300", "--json", *options)
        last = json.loads(loud.stdout)
        assert f"makespan {last['makespan']}, bound 945" in loud.stderr.splitlines()[-1]
        quiet = run("la16", "--max-steps", "300", "--json", "--quiet", *options)
        assert not quiet.stderr
        assert json.loads(quiet.stdout)["makespan"] == last["makespan"]


def test_a_schedule_is_called_optimal_when_it_meets_the_bound(tmp_path: Path) -> None:
    instance = Instance.from_jobs([[(0, 3), (1, 2)], [(0, 4)]])
    assert lower_bound(instance) == 7
    save(instance, tmp_path / "tiny.json")
    for method in METHODS:
        data = report(str(tmp_path / "tiny.json"), "--method", method, "--init", "mwkr")
        assert (data["makespan"], data["status"], data["upper_bound"]) == (7, "OPTIMAL", None)


def test_a_bound_claimed_by_a_file_is_not_believed(monkeypatch: pytest.MonkeyPatch) -> None:
    wrong = load("ft06").with_details(lower_bound=1000)
    monkeypatch.setattr("l2s_plugin.loader.load", lambda name: wrong)
    for method in METHODS:
        limit = ["--max-steps", "9"] if takes(method, "max_steps") else []
        assert report("ft06", "--method", method, *limit)["lower_bound"] == 55


# --- signals


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("options", [[], ["--method", "local-search", "--selector", "random"]], ids=["tabu", "local"])
def test_a_signal_ends_the_search_and_the_files_are_written(
    options: list[str], number: signal.Signals, tmp_path: Path
) -> None:
    output = tmp_path / "ta41.json"
    arguments = [SCRIPT, "solve", "ta41", "--time-limit", "600", "--output", str(output), "--json", *options]
    process = subprocess.Popen(arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stderr is not None
    for line in process.stderr:
        if "makespan" in line:
            break
    process.send_signal(number)
    stdout, _ = process.communicate()
    assert process.returncode == 0
    data = json.loads(stdout)
    assert data["stopped_by"] == "interrupt"
    assert Schedule.load(load("ta41"), output).makespan == data["makespan"]


def test_every_method_tells_the_observers_of_its_end(monkeypatch):
    """A dispatching rule alone, too."""
    heard = []
    monkeypatch.setattr(Registry, "observe", lambda registry, hook, **arguments: heard.append(hook))
    for method in ("dispatch", "tabu"):
        heard.clear()
        assert run("ft06", "--method", method).exit_code == 0
        assert heard.count("l2s_search_finished") == 1
