"""The command line: what it prints, where, and with which exit code."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import click
import pytest
from click.testing import CliRunner, Result

from integrations import cli
from integrations.cli import COMMANDS, l2s
from l2s_plugin import __version__
from l2s_plugin.bounds import lower_bound
from l2s_plugin.instance import Instance
from l2s_plugin.loader import load, save
from l2s_plugin.schedule import Schedule


def run(*arguments: str) -> Result:
    return CliRunner().invoke(l2s, arguments, prog_name="l2s")


def assert_bad_input(result: Result, message: str) -> None:
    """Exit code 2 and one line on stderr that says what is wrong."""
    assert result.exit_code == 2, result.output
    assert not result.stdout
    assert result.stderr.startswith("Error: ")
    assert message in result.stderr
    assert result.stderr.count("\n") == 1


@pytest.fixture
def command(monkeypatch: pytest.MonkeyPatch) -> None:
    """A command `misbehave ERROR` that raises."""

    errors = {
        "bug": ZeroDivisionError("oops\nagain"),
        "interrupt": KeyboardInterrupt(),
        "exit": click.exceptions.Exit(1),
    }

    @click.command()
    @click.argument("error")
    def misbehave(error: str) -> None:
        raise errors[error]

    monkeypatch.setattr(cli, "misbehave", misbehave, raising=False)
    monkeypatch.setitem(COMMANDS, "misbehave", cli.Command("integrations.cli:misbehave", "For tests."))


def test_help_lists_every_command_with_its_summary() -> None:
    for arguments in (["--help"], ["-h"], []):
        result = run(*arguments)
        assert result.exit_code == 0
        for name, entry in COMMANDS.items():
            assert f"  {name}" in result.stdout
            assert entry.summary in result.stdout


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_exists_and_has_help(name: str) -> None:
    result = run(name, "-h")
    assert result.exit_code == 0, result.stderr
    assert result.stdout.startswith(f"Usage: l2s {name} ")


def test_version() -> None:
    assert run("--version").stdout == f"l2s {__version__}\n"


def test_solve_reports_json_and_nothing_else(tmp_path: Path) -> None:
    output = tmp_path / "schedule.json"
    result = run("solve", "ft06", "--method", "dispatch", "--init", "mwkr", "--output", str(output), "--json")
    assert result.exit_code == 0, result.output
    report = json.loads(result.stdout)
    schedule = Schedule.load(load("ft06"), output)
    assert report["makespan"] == schedule.makespan
    assert report | {"seconds": 0, "history": []} == {
        "instance": "ft06",
        "makespan": schedule.makespan,
        "lower_bound": 55,
        "upper_bound": 55,
        "status": "FEASIBLE",
        "steps": 0,
        "seconds": 0,
        "steps_per_second": None,
        "method": "dispatch",
        "init": "mwkr",
        "selector": None,
        "neighbourhood": None,
        "gear": None,
        "seed": 0,
        "history": [],
    }
    assert report["history"] == [[report["seconds"], 0, schedule.makespan]]
    assert report["seconds"] > 0


def test_solve_tells_people_the_result_and_the_files(tmp_path: Path) -> None:
    output = tmp_path / "a.json"
    result = run("solve", "ft06", "--init", "spt", "--output", str(output))
    assert result.stdout.startswith("ft06: makespan ")
    assert "best known 55 (+" in result.stdout
    assert result.stdout.endswith(f"wrote {output}\n")


def test_solve_prints_the_schedule_alone_on_request() -> None:
    schedule = json.loads(run("solve", "ft06", "--output", "-").stdout_bytes)
    assert schedule["format"] == "l2s-schedule"


def test_solve_is_reproducible_under_a_seed(tmp_path: Path) -> None:
    texts = []
    for name, seed in (("a", "1"), ("b", "1"), ("c", "2")):
        run("solve", "la01", "--init", "random", "--seed", seed, "--output", str(tmp_path / name))
        texts.append((tmp_path / name).read_text())
    assert texts[0] == texts[1] != texts[2]


def test_solve_calls_a_schedule_optimal_when_it_meets_the_bound(tmp_path: Path) -> None:
    instance = Instance.from_jobs([[(0, 3), (1, 2)], [(0, 4)]])
    assert lower_bound(instance) == 7
    save(instance, tmp_path / "tiny.json")
    report = json.loads(run("solve", str(tmp_path / "tiny.json"), "--init", "mwkr", "--json").stdout)
    assert (report["makespan"], report["status"]) == (7, "OPTIMAL")
    assert report["upper_bound"] is None


def test_solve_trusts_no_bound_above_a_verified_schedule(monkeypatch: pytest.MonkeyPatch) -> None:
    wrong = load("ft06").with_details(lower_bound=1000)
    monkeypatch.setattr("l2s_plugin.loader.load", lambda name: wrong)
    report = json.loads(run("solve", "ft06", "--json").stdout)
    assert report["lower_bound"] <= 55


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["slove"], "unknown command 'slove'; did you mean solve? (see l2s --help)"),
        (["xyz"], "unknown command 'xyz'; known: solve, check, "),
        (["--foo"], "No such option"),
        (["solve"], "Missing argument 'INSTANCE' (see l2s solve --help)"),
        (["solve", "ft06", "--seed", "-1"], "Invalid value for '--seed'"),
        (["solve", "ft06", "--seed", "x"], "Invalid value for '--seed'"),
        (["solve", "ft06", "--method", "magic"], "Invalid value for '--method'"),
        (["solve", "ft06", "more"], "unexpected extra argument"),
        (["solve", "no-such-instance"], "no-such-instance"),
        (["solve", "ft06", "--init", "sptt"], "unknown dispatching rule 'sptt'; did you mean spt"),
        (
            ["solve", "ft06", "--output", "no/such/folder/a.json"],
            "cannot write no/such/folder/a.json: no such directory",
        ),
        (
            ["solve", "ft06", "--gantt", "no/such/folder/a.png"],
            "cannot write no/such/folder/a.png: no such directory",
        ),
        (["solve", "ft06", "--output", "."], "is a directory"),
        (["solve", "ft06", "--gantt", "a.jpg"], "unknown renderer 'jpg'; "),
        (["solve", "ft06", "--gantt", "a"], "the file's ending says how to draw"),
        (["solve", "ft06", "--output", "-", "--json"], "both want standard output"),
    ],
)
def test_bad_input_gives_one_line_and_exit_code_2(arguments: list[str], message: str) -> None:
    assert_bad_input(run(*arguments), message)


def test_what_cannot_be_written_is_found_before_the_work_starts(monkeypatch: pytest.MonkeyPatch) -> None:
    def never(*_: object) -> None:
        raise AssertionError("work was started")

    monkeypatch.setattr("integrations.cli.solve.run", never)
    assert_bad_input(run("solve", "ft06", "--output", "no/such/folder/a.json"), "cannot write")
    assert_bad_input(run("solve", "ft06", "--gantt", "no/such/folder/a.svg"), "cannot write")


@pytest.mark.usefixtures("command")
def test_a_bug_is_one_line_too_unless_debugging(monkeypatch: pytest.MonkeyPatch) -> None:
    result = run("misbehave", "bug")
    assert result.exit_code == 70
    assert result.stderr == "Error: internal error: ZeroDivisionError: oops again (set L2S_DEBUG=1 to see where)\n"
    monkeypatch.setenv("L2S_DEBUG", "1")
    assert "Traceback" in run("misbehave", "bug").stderr


@pytest.mark.usefixtures("command")
def test_exit_codes_of_commands_pass_through_and_ctrl_c_gives_130() -> None:
    assert run("misbehave", "exit").exit_code == 1
    result = run("misbehave", "interrupt")
    assert (result.exit_code, result.stderr) == (130, "Interrupted.\n")


def test_plugins_lists_the_built_in_parts() -> None:
    text = run("plugins").stdout
    assert f"l2s-plugin:heuristics {__version__}\n  dispatching rule\n    fdd/mwkr" in text
    listing = json.loads(run("plugins", "--json").stdout)
    assert {"l2s-plugin"} <= {plugin["distribution"] for plugin in listing["plugins"]}


SCRIPT = shutil.which("l2s", path=str(Path(sys.executable).parent)) or "l2s"


def test_the_installed_script_works_and_reads_standard_input(tmp_path: Path) -> None:
    text = "2 2\n0 3 1 2\n1 4 0 1\n"
    done = subprocess.run([SCRIPT, "solve", "-", "--json"], input=text, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert not done.stderr
    assert json.loads(done.stdout)["makespan"] >= 5


def test_the_installed_script_shows_no_traceback() -> None:
    done = subprocess.run([SCRIPT, "solve", "nothing"], capture_output=True, text=True)
    assert done.returncode == 2
    assert done.stderr.startswith("Error: ")
    assert done.stderr.count("\n") == 1


def test_a_reader_that_leaves_early_is_no_error() -> None:
    reading, writing = os.pipe()
    os.close(reading)
    done = subprocess.run([SCRIPT, "plugins"], stdout=writing, stderr=subprocess.PIPE, text=True)
    os.close(writing)
    assert (done.returncode, done.stderr) == (141, "")


def test_ctrl_c_is_one_line() -> None:
    code = (
        "import os, signal, sys, integrations.cli as cli, l2s_plugin.registry as r\n"
        "r.Registry.discover = lambda: os.kill(os.getpid(), signal.SIGINT)\n"
        "sys.argv = ['l2s', 'plugins']\n"
        "cli.main()\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 128 + signal.SIGINT
    assert done.stderr == "Interrupted.\n"
