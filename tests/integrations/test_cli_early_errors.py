"""What would fail after a search is found before it, and before the kernels are compiled for it."""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import pytest

from tests.integrations.command_line import assert_bad_input, solve

NO_KERNELS = """
import sys
from integrations.cli import l2s
try:
    l2s(sys.argv[1:])
except SystemExit as end:
    print(end.code, "heuristics.loop.kernels" in sys.modules, "l2s_plugin.kernels.tpm_cam" in sys.modules)
"""


@pytest.mark.parametrize(
    ("option", "name", "message"),
    [
        ("--policy", "l2s-fasst", "unknown policy 'l2s-fasst'; did you mean l2s-fast? (and there is no such file)"),
        ("--selector", "l2s:l2s-fasst", "unknown policy 'l2s-fasst'; did you mean l2s-fast?"),
        ("--selector", "estimat", "unknown selector 'estimat'; did you mean estimate?"),
        ("--neighbourhood", "n55", "unknown neighbourhood 'n55'; did you mean n5?"),
        ("--init", "fdd/mwk", "unknown dispatching rule 'fdd/mwk'; did you mean fdd/mwkr?"),
    ],
)
def test_a_misspelt_name_costs_no_compilation(option: str, name: str, message: str) -> None:
    command = [sys.executable, "-c", NO_KERNELS, "solve", "ft06", option, name]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.stdout == "2 False False\n", done
    assert done.stderr.startswith("Error: ")
    assert message in done.stderr


@pytest.mark.parametrize("option", ["--output", "--history", "--gantt", "--report"])
def test_a_folder_is_tried_and_not_judged_by_its_permissions(
    option: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The superuser may write anywhere, as far as permissions go, and still cannot on a disk that is full."""

    def full(*arguments: object, **options: object) -> object:
        if Path(str(options.get("dir"))) != tmp_path:
            return usual(*arguments, **options)
        raise OSError(28, "No space left on device")

    usual: Any = tempfile.TemporaryFile

    monkeypatch.setattr(tempfile, "TemporaryFile", full)
    monkeypatch.setattr("integrations.cli.solve.run", lambda *_: pytest.fail("it ran"))
    file = tmp_path / {"--output": "a.json", "--history": "a.csv", "--gantt": "a.svg", "--report": "a.html"}[option]
    assert_bad_input(solve("ft06", option, str(file)), f"cannot write {file}: No space left on device")
    assert not list(tmp_path.iterdir())


def test_the_chart_has_the_rows_asked_for(tmp_path: Path) -> None:
    """la01 has 10 jobs on 5 machines."""
    for by, letter, rows in (("machine", "M", 5), ("job", "J", 10)):
        file = tmp_path / f"{by}.svg"
        result = solve("la01", "--method", "dispatch", "--gantt", str(file), "--gantt-by", by)
        assert result.exit_code == 0, result.stderr
        assert set(re.findall(rf">({letter}\d+)<", file.read_text())) == {f"{letter}{k}" for k in range(rows)}


def test_rows_of_a_chart_that_nobody_draws_are_refused() -> None:
    assert_bad_input(solve("ft06", "--gantt-by", "job"), "--gantt-by says how to draw what --gantt names")
    assert_bad_input(solve("ft06", "--gantt", "a.svg", "--gantt-by", "jobs"), "Invalid value for '--gantt-by'")


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("taboo", "did you mean tabu?"),
        ("cpsat", "did you mean cp-sat?"),
        ("x", "known: cooperation, cp-sat, "),
    ],
)
def test_an_unknown_method_is_answered_with_those_close_to_it(name: str, hint: str, tmp_path: Path) -> None:
    assert_bad_input(solve("ft06", "--method", name), f"unknown method {name!r}; {hint}")
    (tmp_path / "run.toml").write_text(f'method = "{name}"')
    assert_bad_input(solve("ft06", "--config", str(tmp_path / "run.toml")), f"unknown method {name!r}; {hint}")


def test_the_history_is_rounded_to_microseconds() -> None:
    lines = solve("la16", "--max-steps", "200", "--history", "-", "--quiet").stdout.splitlines()[1:]
    assert lines
    assert all(len(line.split(",")[0].partition(".")[2]) <= 6 for line in lines)
