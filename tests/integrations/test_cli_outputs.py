"""What was computed is written before anything is printed, and nothing about printing can lose it."""

from __future__ import annotations

import ast
import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from integrations.cli import l2s
from integrations.cli.delivery import Delivery, Patience
from integrations.cli.terminal import ProgressDisplay, shown
from l2s_plugin.errors import L2SError
from l2s_plugin.loader import load, save
from l2s_plugin.verification import verify_dict
from tests.integrations.command_line import assert_bad_input, report, run, solve

L2S = [sys.executable, "-c", "import sys; sys.argv[0] = 'l2s'; from integrations.cli import main; main()"]
SHORT = ("solve", "ft06", "--method", "tabu", "--max-steps", "20", "--quiet")


def closed_pipe() -> int:
    reading, writing = os.pipe()
    os.close(reading)
    return writing


def is_schedule_of(name: str, file: Path) -> bool:
    data = json.loads(file.read_text())
    verify_dict(load(name), data, str(file))
    return bool(data["instance"] == name)


def broken_output(kind: str) -> int:
    return closed_pipe() if kind == "pipe" else os.open("/dev/full", os.O_WRONLY)


KINDS = [
    ("pipe", 141, ""),
    ("full", 2, "Error: cannot write to standard output: No space left on device\n"),
    ("closed", 2, "Error: cannot write to standard output: Bad file descriptor\n"),
]


def with_output(kind: str, *words: str) -> subprocess.CompletedProcess[str]:
    """Run the script with a standard output that cannot be written to."""
    if kind == "closed":
        command = ["sh", "-c", '"$@" >&-', "sh", *L2S, *words]
        return subprocess.run(command, stderr=subprocess.PIPE, text=True)
    stdout = broken_output(kind)
    try:
        return subprocess.run([*L2S, *words], stdout=stdout, stderr=subprocess.PIPE, text=True)
    finally:
        os.close(stdout)


@pytest.mark.parametrize(("kind", "code", "message"), KINDS)
def test_a_standard_output_that_fails_loses_no_file(kind, code, message, tmp_path):
    names = {"--output": "a.json", "--history": "a.csv", "--gantt": "a.svg", "--report": "a.html"}
    options = [word for option, name in names.items() for word in (option, str(tmp_path / name))]
    done = with_output(kind, *SHORT, *options, "--stats-dir", str(tmp_path / "stats"))
    assert (done.returncode, done.stderr) == (code, message)
    assert is_schedule_of("ft06", tmp_path / "a.json")
    assert all((tmp_path / name).stat().st_size for name in names.values())
    assert json.loads((tmp_path / "stats" / "ft06.json").read_text())["instance"] == "ft06"


@pytest.mark.parametrize(("kind", "code", "message"), KINDS)
@pytest.mark.parametrize("words", [("--help",), ("instances",), ("generate", "2x2"), (*SHORT, "--json")])
def test_a_standard_output_that_fails_is_one_line_at_most(kind, code, message, words):
    done = with_output(kind, *words)
    assert (done.returncode, done.stderr) == (code, message)


def test_instances_after_a_closed_pipe_are_still_written(tmp_path):
    words = ("solve", "ft06", "la01", *SHORT[2:], "--output", f"{tmp_path}/")
    assert with_output("pipe", *words).returncode == 141
    assert all(is_schedule_of(name, tmp_path / f"{name}.json") for name in ("ft06", "la01"))


@pytest.mark.parametrize("how", ["2>&-", "2>/dev/full"])
def test_nobody_has_to_read_standard_error(how, tmp_path):
    command = ["sh", "-c", f'"$@" {how}', "sh", *L2S, *SHORT[:-1], "--json", "--output", str(tmp_path / "a.json")]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True)
    assert done.returncode == 0
    assert json.loads(done.stdout)["instance"] == "ft06"  # and nothing that was meant for standard error
    assert is_schedule_of("ft06", tmp_path / "a.json")


def test_a_file_that_cannot_be_written_does_not_stop_the_others(tmp_path, monkeypatch):
    def fail(self: Any, path: str) -> None:
        raise L2SError(f"cannot write {path}: no more room")

    monkeypatch.setattr("l2s_plugin.schedule.Schedule.save", fail)
    result = solve(*SHORT[1:], "--output", str(tmp_path / "a.json"), "--history", str(tmp_path / "a.csv"))
    assert result.exit_code == 2
    assert "makespan" in result.stdout
    assert result.stderr == f"Error: cannot write {tmp_path / 'a.json'}: no more room\n"
    assert (tmp_path / "a.csv").read_text().startswith("seconds")


INTERRUPTED = """
import os, signal, sys
from integrations.cli import main
from l2s_plugin.schedule import Schedule
signal.signal(signal.SIGINT, signal.default_int_handler)
save = Schedule.save
def save_late(schedule, path):
    os.kill(os.getpid(), signal.{number})
    save(schedule, path)
Schedule.save = save_late
sys.argv[0] = "l2s"
main()
"""


@pytest.mark.parametrize("number", ["SIGTERM", "SIGINT"])
def test_a_signal_during_the_delivery_waits_for_its_end(number, tmp_path):
    words = ["solve", "ft06", "la01", *SHORT[2:], "--output", f"{tmp_path}/"]
    command = [sys.executable, "-c", INTERRUPTED.format(number=number), *words]
    done = subprocess.run(command, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (130, "Interrupted; not begun: la01\n")
    assert is_schedule_of("ft06", tmp_path / "ft06.json")
    assert os.listdir(tmp_path) == ["ft06.json"]


def test_a_signal_while_there_is_nothing_to_lose_is_heard_at_once():
    with Patience() as patience:
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGTERM)
        patience.found = True
        signal.raise_signal(signal.SIGTERM)
        assert patience.asked


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_a_killed_run_leaves_the_best_schedule_or_none(number, tmp_path):
    """SIGTERM writes what was found; SIGKILL loses the run, but leaves no damaged file."""
    file = tmp_path / "ta41.json"
    words = ["solve", "ta41", "--method", "tabu", "--time-limit", "600", "--output", str(file)]
    process = subprocess.Popen([*L2S, *words], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    assert process.stderr is not None
    next(line for line in process.stderr if "makespan" in line)
    process.send_signal(number)
    process.stderr.read()
    assert process.wait() == (-number if number == signal.SIGKILL else 0)
    assert os.listdir(tmp_path) == ([] if number == signal.SIGKILL else ["ta41.json"])
    assert number == signal.SIGKILL or is_schedule_of("ta41", file)


@pytest.mark.parametrize("option", ["--output", "--history", "--gantt", "--report"])
def test_links_are_followed_by_every_output(option, tmp_path):
    name = {"--output": "a.json", "--history": "a.csv", "--gantt": "a.svg", "--report": "a.html"}[option]
    (tmp_path / "there").mkdir()
    (tmp_path / name).symlink_to(f"there/{name}")
    assert solve(*SHORT[1:], option, str(tmp_path / name)).exit_code == 0
    assert (tmp_path / name).is_symlink()
    assert (tmp_path / "there" / name).stat().st_size


@pytest.mark.parametrize("words", [(*SHORT, "--output"), ("generate", "2x2", "--format", "standard", "-o")])
def test_process_substitution_gets_the_data(words):
    """As in `l2s solve ft06 --output >(program)`, where the shell names a descriptor."""
    reading, writing = os.pipe()
    command = [*L2S, *words, f"/dev/fd/{writing}"]
    done = subprocess.run(command, pass_fds=[writing], stdout=subprocess.DEVNULL)
    os.close(writing)
    assert done.returncode == 0
    with os.fdopen(reading) as file:
        assert file.read()


@pytest.mark.parametrize(
    ("option", "name", "kind"),
    [
        ("--output", "plan.tsv", ".json or .csv or .xlsx"),
        ("--output", "plan.ODS", ".json or .csv or .xlsx"),
        ("--output", "{name}.html", ".json or .csv or .xlsx"),
        ("--history", "plan.json", ".csv"),
    ],
)
def test_a_file_is_not_called_what_it_is_not(option, name, kind, tmp_path, monkeypatch):
    monkeypatch.setattr("integrations.cli.solve.run", lambda *_: pytest.fail("it ran"))
    assert_bad_input(solve("ft06", option, str(tmp_path / name)), f"it is written as {kind}, and not as .")
    assert not os.listdir(tmp_path)


def evil(folder: Path, name: str, **more: Any) -> str:
    document = {"format": "l2s-instance", "version": 1, "name": name, "n_machines": 2, "jobs": [[[0, 3], [1, 2]]]}
    file = folder / "instance.json"
    file.write_text(json.dumps(document | more))
    return str(file)


EVIL = "a\x1b]0;title\x07\x1b[2J\x9b31m\r\ud800\u202e\x7f$x_$"


@pytest.mark.parametrize("claim", [0, 3, 4, 9])
def test_an_upper_bound_that_a_file_claims_is_shown_as_a_claim_and_counts_for_nothing(tmp_path, claim):
    """Below a proven bound or not: it is no best known makespan, no reference of gaps, and no reason to fail."""
    file = evil(tmp_path, "claim", upper_bound=claim)
    result = solve(file, "--output", str(tmp_path / "a.json"), "--report", str(tmp_path / "a.html"))
    assert result.exit_code == 0, result.stderr
    assert "makespan 5, bound 5 (one-machine), proven optimal" in result.stdout
    assert f"the instance's own claim, not checked: upper bound {claim}\n" in result.stdout
    page = (tmp_path / "a.html").read_text()
    assert "claimed upper bound, not checked" in page
    assert "best known" not in result.stdout + page
    data = json.loads(solve(file, "--json").stdout)
    assert (data["upper_bound"], data["claimed_upper_bound"]) == (None, claim)
    table = json.loads(run("bench", file, "--steps", "5", "--json").stdout)["table"]
    assert [row["gap %"] for row in table] == [0.0]


def test_benchmarks_in_files_have_the_bounds_of_our_table(tmp_path):
    save(load("ft06").with_details(upper_bound=1, lower_bound=None), tmp_path / "ft06.json")
    text = solve(str(tmp_path / "ft06.json"), "--method", "dispatch").stdout
    assert "\nbest known: 55 (" in text
    assert "claim" not in text


@pytest.mark.filterwarnings("error")  # of the chart, about characters that cannot be drawn
def test_names_have_no_power_over_the_terminal_and_lose_nothing(tmp_path):
    """Whatever a file says its instance is called, all outputs are written, and nothing is printed raw."""
    assert_bad_input(solve(evil(tmp_path, EVIL)), "holds no characters, expected text")  # half a surrogate pair
    name = EVIL.replace("\ud800", "")
    instance = evil(tmp_path, name)
    out = tmp_path / "out"
    options = ["--output", f"{out}/", "--gantt", f"{out}/", "--report", f"{out}/", "--history", f"{out}/"]
    result = solve(instance, instance.replace("instance", "./instance"), *options)
    assert_bad_input(result, "would write")  # the same name twice
    result = solve(instance, *options)
    assert result.exit_code == 0, result.output
    assert len(os.listdir(out)) == 4
    for text in (result.stdout, result.stderr):
        assert shown(text) == text
    assert r"a\u001b]0;title\u0007\u001b[2J\u009b31m\u000d\u202e\u007f$x_$" in result.stdout
    assert report(instance, "--quiet")["instance"] == name  # and JSON means the same


def test_progress_shows_names_escaped():
    import io

    from heuristics.result import Improvement

    stream = io.StringIO()
    with ProgressDisplay(stream, None, label=f"{EVIL}: ") as display:
        display.improved(Improvement(load("ft06"), 0.0, 1, 60, 55))
    assert "makespan 60" in stream.getvalue()
    assert shown(stream.getvalue()) == stream.getvalue()


@pytest.mark.parametrize("words", [("solve", f"{EVIL}.txt"), ("check", "ft06", EVIL), ("instances", EVIL), (EVIL,)])
def test_errors_show_names_escaped(words):
    result = run(*words)
    assert result.exit_code == 2
    assert shown(result.stderr) == result.stderr


def test_a_name_as_long_as_a_file_may_have_is_written(tmp_path):
    result = solve(evil(tmp_path, "x" * 249), "--output", f"{tmp_path}/out/")
    assert result.exit_code == 0, result.stderr
    assert os.listdir(tmp_path / "out") == [f"{'x' * 249}.json"]


def test_a_name_that_is_too_long_for_a_file_is_found_before_the_search(tmp_path, monkeypatch):
    monkeypatch.setattr("integrations.cli.solve.run", lambda *_: pytest.fail("it ran"))
    assert_bad_input(solve(evil(tmp_path, "x" * 300), "--output", f"{tmp_path}/out/"), "File name too long")


def test_everything_is_printed_in_one_place():
    """Only `terminal.py` calls click.echo: there, names lose their power over the terminal."""
    folder = Path(str(sys.modules[l2s.__class__.__module__].__file__)).parent
    for file in folder.parent.rglob("*.py"):
        calls = [ast.unparse(node.func) for node in ast.walk(ast.parse(file.read_text())) if isinstance(node, ast.Call)]
        assert file.name == "terminal.py" or not {"click.echo", "click.secho"} & set(calls), file


def test_a_report_about_several_is_written_though_nobody_reads_the_summary(tmp_path, monkeypatch):
    def gone(*arguments: object, **options: object) -> None:
        raise BrokenPipeError(32, "Broken pipe")

    from heuristics import tabu_search
    from l2s_plugin import stop

    monkeypatch.setattr("integrations.cli.delivery.echo", gone)
    page = str(tmp_path / "page.html")

    def deliver() -> None:
        with Delivery([{"--report": page}] * 2, False) as delivery:
            for seed in (0, 1):
                delivery.add(tabu_search(load("ft06"), stop=stop.steps(5), seed=seed))

    with pytest.raises(BrokenPipeError):
        deliver()
    assert os.path.getsize(page)
