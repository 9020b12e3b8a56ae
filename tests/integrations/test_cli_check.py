"""`l2s check`: exit codes and one line, with nothing of the search loaded."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest
from click.testing import CliRunner

from heuristics.hosts.dispatching import dispatch
from integrations.cli import l2s
from l2s_plugin.data import benchmark


def check(*arguments, **options):
    return CliRunner().invoke(l2s, ["check", *map(str, arguments)], **options)


@pytest.fixture
def schedule():
    return dispatch(benchmark("ft06"), "mwkr")


@pytest.fixture
def path(tmp_path, schedule):
    schedule.save(tmp_path / "s.json")
    return tmp_path / "s.json"


@pytest.fixture
def wrong(tmp_path, schedule):
    data = schedule.to_dict()
    data["start"][1] = 0
    (tmp_path / "wrong.json").write_text(json.dumps(data))
    return tmp_path / "wrong.json"


def test_a_correct_schedule(path, schedule):
    result = check("ft06", path)
    assert (result.exit_code, result.stdout) == (0, f"ok: makespan {schedule.makespan} (ft06)\n")


def test_a_correct_schedule_as_json(path, schedule):
    result = check("ft06", path, "--json")
    assert result.exit_code == 0
    assert json.loads(result.stdout) == {
        "instance": "ft06",
        "schedule": str(path),
        "ok": True,
        "makespan": schedule.makespan,
        "violation": None,
    }


def test_a_violated_constraint_ends_with_code_1(wrong, schedule):
    result = check("ft06", wrong)
    assert result.exit_code == 1
    assert result.stdout == (
        f"violated: {wrong}: operation 1 (job 0, index 1) starts at 0, "
        f"before operation 0 (job 0, index 0) ends at {schedule.end[0]}\n"
    )


def test_a_violated_constraint_as_json(wrong):
    result = check("ft06", wrong, "--json")
    assert result.exit_code == 1
    report = json.loads(result.stdout)
    assert (report["ok"], report["makespan"]) == (False, None)
    assert "operation 1 (job 0, index 1) starts at 0" in report["violation"]


def test_a_schedule_of_another_instance_ends_with_code_1(path):
    result = check("la01", path)
    assert result.exit_code == 1
    assert "n_jobs is 6, but the instance has 10 (a schedule of 'ft06', checked against 'la01')" in result.stdout


def test_the_schedule_can_come_from_standard_input(path):
    result = check("ft06", "-", input=path.read_text())
    assert result.exit_code == 0


@pytest.mark.parametrize("text", ["", "{}", "[]", "not json", '{"format": "l2s-instance"}'])
def test_a_file_that_is_no_schedule_ends_with_code_2_and_one_line(tmp_path, text):
    (tmp_path / "s.json").write_text(text)
    result = check("ft06", tmp_path / "s.json")
    assert result.exit_code == 2
    assert result.stdout == ""
    assert len(result.stderr.splitlines()) == 1
    assert "s.json" in result.stderr


def test_files_that_cannot_be_read_end_with_code_2(tmp_path, path):
    for arguments in (
        ["ft06", tmp_path / "none.json"],
        [tmp_path / "none.txt", path],
        ["-", "-"],
        ["ft06", tmp_path],
    ):
        result = check(*arguments)
        assert result.exit_code == 2, arguments
        assert len(result.stderr.splitlines()) == 1


def test_an_unknown_instance_ends_with_code_2(path):
    result = check("ft0666", path)
    assert result.exit_code == 2
    assert "ft06" in result.stderr


def test_loads_nothing_of_the_search(path):
    code = (
        "import sys\n"
        "from integrations.cli import l2s\n"
        f"l2s.main(['check', 'ft06', {str(path)!r}], standalone_mode=False)\n"
        "heavy = ('numba', 'torch', 'ortools', 'matplotlib', 'l2s_plugin.kernels', 'l2s_plugin.evaluator')\n"
        "print([name for name in heavy if name in sys.modules])"
    )
    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert answer.stdout.splitlines()[-1] == "[]"
