"""Running the command line in this process, and what bad input has to look like."""

from __future__ import annotations

import json
from typing import Any

from click.testing import CliRunner, Result

from integrations.cli import l2s


def run(*arguments: str) -> Result:
    return CliRunner().invoke(l2s, arguments, prog_name="l2s")


def solve(*arguments: str) -> Result:
    return run("solve", *arguments)


def report(*arguments: str) -> dict[str, Any]:
    """What `l2s solve --json` prints about one instance; standard output holds nothing else."""
    (line,) = reports(*arguments)
    return line


def reports(*arguments: str) -> list[dict[str, Any]]:
    """What `l2s solve --json` prints: an object per line."""
    result = solve(*arguments, "--json")
    assert result.exit_code == 0, result.stderr
    return [json.loads(line) for line in result.stdout.splitlines()]


def progress(result: Result) -> list[str]:
    """The lines on standard error, without the one about compilation, which depends on what ran before."""
    return [line for line in result.stderr.splitlines() if not line.startswith("l2s: compiling")]


def assert_bad_input(result: Result, message: str) -> None:
    """Exit code 2 and one line on stderr that says what is wrong."""
    assert result.exit_code == 2, result.output
    assert not result.stdout
    assert result.stderr.startswith("Error: ")
    assert message in result.stderr, result.stderr
    assert result.stderr.count("\n") == 1
