"""`l2s train`: one command, a folder that can be resumed, one line about bad input."""

from __future__ import annotations

import io
import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from integrations.cli.terminal import TrainingDisplay
from l2s_plugin.policy.checkpoint import load_policy
from tests.integrations.command_line import assert_bad_input, run

pytest.importorskip("torch")

CONFIG = """
batches = 4
batch-size = 4
steps = 6
horizon = 3
sizes = ["4x3"]
validation_instances = 2
validation_steps = 5
validation_every = 2
[policy]
width = 8
layers = 1
action_width = 4
action_layers = 1
"""


@pytest.fixture
def config(tmp_path: Path) -> str:
    path = tmp_path / "train.toml"
    path.write_text(CONFIG)
    return str(path)


def metrics(folder: Path) -> list[dict]:
    rows = [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]
    return [{key: value for key, value in row.items() if key != "seconds"} for row in rows]


@pytest.mark.parametrize("preset", ["paper"])
def test_a_run_leaves_policy_figures_and_picture(preset: str, config: str, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    result = run("train", "--preset", preset, "--config", config, "--output", str(folder), "--threads", "1")
    assert result.exit_code == 0, result.stderr
    assert "trained on 4 batches" in result.stdout
    assert "batch 1/4, 4x3: improved by" in result.stderr
    assert result.stderr.count("validation") == 2
    assert [row["batch"] for row in metrics(folder)] == [1, 2, 3, 4]
    assert (folder / "curve.png").read_bytes().startswith(b"\x89PNG")
    policy = str(folder / "best.safetensors")
    listed = json.loads(run("policies", policy, "--json").stdout)["policies"]
    assert [entry["record"]["training"]["batches"] for entry in listed if entry["source"] == policy] == [4]
    command = f"l2s train --preset {preset} --config {config} --threads 1"
    assert [entry["record"]["command"] for entry in listed if entry["source"] == policy] == [command]
    words = ("--policy", policy, "--method", "local-search", "--neighbourhood", "n5", "--max-steps", "20", "--json")
    assert json.loads(run("solve", "ft06", *words).stdout)["selector"] == "l2s:best"


@pytest.mark.parametrize(("preset", "display"), [("fast", "spread"), ("fast-moves", "slope")])
def test_policies_over_moves_are_trained_by_presets(preset: str, display: str, config: str, tmp_path: Path) -> None:
    file = Path(config)
    file.write_text(file.read_text().partition("[policy]")[0])
    folder = tmp_path / "run"
    words = ("--preset", preset, "--config", config, "--size", "4x3,5x4/2", "--output", str(folder), "--threads", "1")
    result = run("train", *words)
    assert result.exit_code == 0, result.stderr
    assert display in result.stderr
    words = ("--selector", "l2s-fast", "--policy", str(folder / "best.safetensors"), "--max-steps", "20", "--json")
    assert json.loads(run("solve", "ft06", "--method", "tabu", *words).stdout)["selector"] == "l2s-greedy:best"


def test_options_win_over_the_file_and_the_report_is_one_object(config: str, tmp_path: Path) -> None:
    words = ("--config", config, "--size", "3x3", "--batches", "1", "--seed", "7", "--learning-rate", "0.002", "--json")
    result = run("train", *words, "--output", str(tmp_path / "run"), "--threads", "1")
    report = json.loads(result.stdout)
    assert (report["config"]["sizes"], report["config"]["seed"], report["batches"]) == (["3x3"], 7, 1)
    assert report["config"]["learning_rate"] == 0.002
    assert report["config"]["horizon"] == 3


def test_a_run_goes_on_with_its_own_configuration(config: str, tmp_path: Path) -> None:
    whole, parts = tmp_path / "whole", tmp_path / "parts"
    run("train", "--config", config, "--output", str(whole), "--threads", "1")
    run("train", "--config", config, "--output", str(parts), "--threads", "1", "--batches", "2")
    result = run("train", "--resume", str(parts), "--batches", "4", "--threads", "1")
    assert result.exit_code == 0, result.stderr
    assert metrics(parts) == metrics(whole)
    record = load_policy(parts / "best.safetensors").record
    assert record["command"] == f"l2s train --config {config} --batches 2 --threads 1"  # the one it began with


def test_figures_are_written_for_tensorboard(config: str, tmp_path: Path) -> None:
    """As its own reader sees them: every batch once, also after a run that was ended and went on."""
    pytest.importorskip("tensorboard")
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    folder = tmp_path / "run"
    words = ("--tensorboard", "--threads", "1")
    state = folder / "state.safetensors"
    run("train", "--config", config, "--output", str(folder), "--batches", "3", *words)
    third = state.read_bytes()
    run("train", "--resume", str(folder), "--batches", "4", *words)
    state.write_bytes(third)  # as if it had been ended before it could keep the fourth batch
    result = run("train", "--resume", str(folder), "--batches", "4", *words)
    assert result.exit_code == 0, result.stderr
    events = EventAccumulator(str(folder / "tensorboard")).Reload()
    rows = metrics(folder)
    for name in ("improvement", "entropy", "validation"):
        expected = [(row["batch"], row[name]) for row in rows if name in row]
        assert [(event.step, pytest.approx(event.value, rel=1e-6)) for event in events.Scalars(name)] == expected


def test_a_refused_run_leaves_no_events_behind(config: str, tmp_path: Path) -> None:
    pytest.importorskip("tensorboard")
    folder = tmp_path / "run"
    run("train", "--config", config, "--output", str(folder), "--threads", "1")
    assert_bad_input(run("train", "--config", config, "--output", str(folder), "--tensorboard"), "holds a training run")
    assert not (folder / "tensorboard").exists()


def test_tensorboard_that_is_not_installed_is_named(config: str, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setitem(sys.modules, "torch.utils.tensorboard", None)
    result = run("train", "--config", config, "--output", str(tmp_path / "run"), "--tensorboard")
    assert_bad_input(result, "pip install 'l2s-plugin[tensorboard]'")
    assert not (tmp_path / "run").exists()


def test_ctrl_c_says_how_to_go_on(config: str, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    words = ["train", "--config", config, "--output", str(folder), "--threads", "1", "--batches", "100000"]
    script = [sys.executable, "-c", "from integrations.cli import main; main()", *words]
    environment = os.environ | {"PYTHONPATH": os.getcwd()}
    process = subprocess.Popen(script, stderr=subprocess.PIPE, text=True, env=environment)
    assert process.stderr is not None
    first = process.stderr.readline()
    while "batch 1/100000" not in first:  # the line about compilation may come before
        assert first, "ended early"
        first = process.stderr.readline()
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=300)
    assert process.returncode == 130
    assert f"go on with: l2s train --resume {folder}" in errors
    assert "Traceback" not in errors
    resumed = run("train", "--resume", str(folder), "--batches", str(len(metrics(folder)) + 1), "--threads", "1")
    assert resumed.exit_code == 0, resumed.stderr


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "give the folder of a new run (--output DIR)"),
        (["--output", "a", "--resume", "b"], "give the folder of a new run (--output DIR)"),
        (["--output", "new", "--preset", "papr"], "unknown preset 'papr'"),
        (
            ["--output", "new", "--size", "10"],
            "a size is JOBSxMACHINES, such as 10x10, or",
        ),
        (["--output", "new", "--size", "1x1"], "nothing to choose"),
        (["--output", "new", "--batches", "0"], "batches must be a whole number, 1 or more, got 0"),
        (["--output", "new", "--host", "annealing"], "host must be local-search or tabu"),
        (["--output", "new", "--config", "none.toml"], "cannot read none.toml"),
        (["--output", "new", "--device", "cuda:99"], "device 'cuda:99' cannot be used: "),
        (["--output", "/dev/null/run"], "cannot write to /dev/null/run"),
        (["--resume", "nowhere"], "nowhere: no training run to resume"),
        (["--resume", "nowhere", "--preset", "fast"], "--preset is for a new run"),
    ],
)
def test_bad_input_gets_one_line(words: list[str], message: str, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert_bad_input(run("train", *words), message)
    assert list(tmp_path.iterdir()) == []


def test_a_broken_file_gets_one_line(tmp_path: Path) -> None:
    path = tmp_path / "x.toml"
    for text, message in (("batches = [", "not TOML"), ("batchs = 3", "unknown training option 'batchs'")):
        path.write_text(text)
        assert_bad_input(run("train", "--output", str(tmp_path / "run"), "--config", str(path)), message)


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    """The time of the display, under the control of the test."""
    clock = SimpleNamespace(now=0.0)
    monkeypatch.setattr("integrations.cli.terminal.time", SimpleNamespace(perf_counter=lambda: clock.now))
    monkeypatch.setenv("TERM", "xterm")
    return clock


def test_a_batch_in_progress_is_shown_on_a_terminal(clock: SimpleNamespace) -> None:
    """With the time that is left at the pace so far, also in a run that goes on from its seventh batch."""
    stream, elsewhere = Terminal(), io.StringIO()
    displays = [TrainingDisplay(stream, 10), TrainingDisplay(elsewhere, 10)]
    for clock.now, share in ((60.0, 0.25), (60.1, 0.3), (240.0, 1.0)):  # the second one comes too soon to be shown
        for display in displays:
            display.advance(7, share)
    assert [line.partition("\x1b")[0] for line in stream.getvalue().split("\r")[1:]] == [
        "[#####               ] batch 7/10, 15 min left",
        "[####################] batch 7/10, 12 min left",
    ]
    assert elsewhere.getvalue() == ""


def test_time_left_is_shown_on_a_terminal(clock: SimpleNamespace) -> None:
    stream = Terminal()
    display = TrainingDisplay(stream, 100)
    for batch in (1, 2):
        clock.now += 60
        display.show({"batch": batch, "size": "4x4", "improvement": 3.0, "entropy": 1.0})
    assert "1 h 39 min left" in stream.getvalue().split("\r")[1]
    assert "1 h 38 min left" in stream.getvalue().split("\r")[2]


def test_time_left_of_a_run_that_goes_on_counts_its_own_batches_alone(clock: SimpleNamespace) -> None:
    stream = io.StringIO()
    display = TrainingDisplay(stream, 100)
    for batch in (51, 52):
        clock.now += 60
        display.show({"batch": batch, "size": "4x4", "improvement": 3.0, "validation": 9.0})
    first, second = stream.getvalue().splitlines()
    assert "49 min left" in first
    assert "48 min left" in second


def test_resuming_for_no_more_batches_before_the_first_validation_reports_the_policy(
    config: str, tmp_path: Path
) -> None:
    from heuristics.training.run_files import RunFolder

    folder = tmp_path / "run"
    assert run("train", "--config", config, "--output", str(folder), "--threads", "1", "--batches", "1").exit_code == 0
    state = RunFolder(folder).load()
    state.best = None  # as if it had been ended before it validated
    RunFolder(folder).save(state)
    (folder / "best.safetensors").unlink()
    result = run("train", "--resume", str(folder), "--batches", "1", "--threads", "1")
    assert result.exit_code == 0, result.stderr
    assert "best validation" in result.stdout
    assert load_policy(folder / "best.safetensors").record["batch"] == 1
