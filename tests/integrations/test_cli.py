"""The command line: what it prints, where, and with which exit code."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import click
import pytest

from integrations.cli import COMMANDS, l2s
from l2s_plugin import __version__
from tests.integrations.command_line import assert_bad_input, run


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

    monkeypatch.setattr("integrations.cli.plugins.misbehave", misbehave, raising=False)
    monkeypatch.setitem(COMMANDS, "misbehave", ("plugins", "For tests."))


def test_help_lists_every_command_with_its_summary() -> None:
    for arguments in (["--help"], ["-h"], []):
        result = run(*arguments)
        assert result.exit_code == 0
        for name, (_, summary) in COMMANDS.items():
            assert f"  {name}" in result.stdout
            assert summary in result.stdout


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_exists_and_has_help(name: str) -> None:
    result = run(name, "-h")
    assert result.exit_code == 0, result.stderr
    assert result.stdout.startswith(f"Usage: l2s {name} ")


@pytest.mark.parametrize("name", COMMANDS)
def test_every_help_text_ends_with_an_example_of_its_command(name: str) -> None:
    *_, heading, example = run(name, "--help").stdout.rstrip().splitlines()
    assert heading.strip() == "Example:"
    assert f"l2s {name}" in example


@pytest.mark.parametrize("name", [name for name in COMMANDS if name != "completion"])
def test_the_example_of_a_command_is_a_valid_call(name: str) -> None:
    context = click.Context(l2s, info_name="l2s")
    found = l2s.get_command(context, name)
    assert found is not None
    assert found.epilog is not None
    program, command, *arguments = shlex.split(found.epilog.splitlines()[-1])
    assert (program, command) == ("l2s", name)
    found.make_context(name, arguments, parent=context)  # raises for an unknown option or a wrong value


def test_version() -> None:
    assert run("--version").stdout == f"l2s {__version__}\n"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["slove"], "unknown command 'slove'; did you mean solve? (see l2s --help)"),
        (["xyz"], "unknown command 'xyz'; known: bench, "),
        (["--foo"], "No such option"),
        (["solve"], "Missing argument 'INSTANCE...' (see l2s solve --help)"),
        (["check", "ft06", "a.json", "more"], "unexpected extra argument"),
        (["solve", "no-such-instance"], "no-such-instance"),
    ],
)
def test_bad_input_gives_one_line_and_exit_code_2(arguments: list[str], message: str) -> None:
    assert_bad_input(run(*arguments), message)


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
    assert f"l2s-plugin:heuristics {__version__}\n  method\n    memetic" in text
    listing = json.loads(run("plugins", "--json").stdout)
    assert {"l2s-plugin"} <= {plugin["distribution"] for plugin in listing["plugins"]}


SCRIPT = shutil.which("l2s", path=str(Path(sys.executable).parent)) or "l2s"


def test_the_installed_script_works_and_reads_standard_input(tmp_path: Path) -> None:
    text = "2 2\n0 3 1 2\n1 4 0 1\n"
    done = subprocess.run(
        [SCRIPT, "solve", "-", "--method", "dispatch", "--json"], input=text, capture_output=True, text=True
    )
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
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"  # a background shell would have it ignored
        "r.Registry.discover = lambda: os.kill(os.getpid(), signal.SIGINT)\n"
        "sys.argv = ['l2s', 'plugins']\n"
        "cli.main()\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 128 + signal.SIGINT
    assert done.stderr == "Interrupted.\n"
