"""Completion in the shell: the names people type, quickly and without the heavy packages."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from integrations.cli import COMMANDS
from l2s_plugin.data import benchmark_names
from tests.integrations.command_line import assert_bad_input, run

HEAVY = {"numpy", "numba", "torch", "ortools", "matplotlib", "plotly"}
SCRIPT = shutil.which("l2s", path=str(Path(sys.executable).parent)) or "l2s"


def complete(*words: str) -> list[tuple[str, str]]:
    """What the installed script offers for the last word, as bash asks for it: kind and text."""
    asked = {"_L2S_COMPLETE": "bash_complete", "COMP_WORDS": " ".join(["l2s", *words]), "COMP_CWORD": str(len(words))}
    done = subprocess.run([SCRIPT], env=os.environ | asked, capture_output=True, text=True)
    assert not done.stderr
    return [(kind, text) for kind, _, text in (line.partition(",") for line in done.stdout.splitlines())]


def names(*words: str) -> list[str]:
    return [text for kind, text in complete(*words) if kind == "plain"]


def test_commands_and_options_are_completed() -> None:
    assert names("") == list(COMMANDS)
    assert names("so") == ["solve"]
    assert "--neighbourhood" in names("solve", "--n")


def test_instances_are_completed_by_name_and_otherwise_as_files() -> None:
    expected = [name for name in benchmark_names() if name.startswith("ta0")]
    assert names("solve", "ta0") == names("check", "ta0") == expected
    assert complete("solve", "./my") == [("file", "./my")]


@pytest.mark.parametrize(
    ("option", "beginning", "expected"),
    [
        ("--selector", "est", ["estimate"]),
        ("--neighbourhood", "n", ["n1", "n4", "n5", "n6", "n7"]),
        ("--init", "mw", ["mwkr"]),
        ("--method", "hy", ["hybrid"]),
        ("--gear", "", ["compiled", "python"]),
    ],
)
def test_parts_are_completed_by_the_names_that_plugins_offer(option, beginning, expected) -> None:
    assert names("solve", "ft06", option, beginning) == expected


def test_benchmarks_are_completed_by_sets_methods_and_parts() -> None:
    assert names("bench", "ta:1") == ["ta:15x15", "ta:100x20"]
    assert names("bench", "yn") == ["yn", "yn:20x20", "yn1", "yn2", "yn3", "yn4"]
    assert "paper" in names("bench", "pa")
    assert names("bench", "ft06", "--method", "cp") == ["cp-sat"]
    assert names("bench", "ft06", "--selector", "est") == ["estimate"]
    assert complete("bench", "ft06", "--output", "x") == [("dir", "x")]


def test_files_and_folders_are_left_to_the_shell() -> None:
    assert complete("solve", "ft06", "--policy", "./x") == [("file", "./x")]
    assert complete("solve", "ft06", "--config", "x") == [("file", "x")]
    assert complete("solve", "ft06", "--stats-dir", "x") == [("dir", "x")]


def test_completion_imports_nothing_heavy() -> None:
    """Not even numpy: people wait for the answer."""
    code = (
        "import os, sys\n"
        "os.environ |= {'_L2S_COMPLETE': 'bash_complete', 'COMP_CWORD': sys.argv[2], 'COMP_WORDS': sys.argv[1]}\n"
        "from integrations.cli import main\n"
        "try:\n    main()\n"
        f"except SystemExit:\n    print('loaded:', *({HEAVY!r} & {{*sys.modules}}))"
    )
    for words, count in (("l2s so", "1"), ("l2s solve ta0", "2"), ("l2s solve ft06 --selector e", "4")):
        done = subprocess.run([sys.executable, "-c", code, words, count], capture_output=True, text=True, check=True)
        assert done.stdout.rpartition("loaded:")[1:] == ("loaded:", "\n"), words


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_every_shell_gets_a_script_that_asks_this_program(shell: str) -> None:
    script = run("completion", shell).stdout
    assert f"_L2S_COMPLETE={shell}_complete" in script


def test_bash_understands_its_script(tmp_path: Path) -> None:
    """Bash itself calls the function and has the answers."""
    code = (
        f'eval "$({SCRIPT} completion bash)"\n'
        f"COMP_WORDS=(l2s solve ta0); COMP_CWORD=2; _l2s_completion {SCRIPT}\n"
        'printf "%s\\n" "${COMPREPLY[@]}"\n'
    )
    bash = shutil.which("bash")
    assert bash, "the tests need bash"
    done = subprocess.run([bash, "-c", code], capture_output=True, text=True)
    assert done.stdout.split() == [name for name in benchmark_names() if name.startswith("ta0")], done.stderr


def test_an_unknown_shell_is_bad_input() -> None:
    assert_bad_input(run("completion", "tcsh"), "'tcsh' is not one of 'bash', 'zsh', 'fish'")
