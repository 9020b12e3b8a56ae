"""`l2s solve` with several instances: what is solved, where files go, and what is told before any search."""

from __future__ import annotations

import json
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from l2s_plugin.instance import Instance
from l2s_plugin.loader import load, save
from l2s_plugin.schedule import Schedule
from tests.integrations.command_line import assert_bad_input, progress, report, reports, run, solve

SCRIPT = shutil.which("l2s", path=str(Path(sys.executable).parent)) or "l2s"
QUICK = ("--max-steps", "20")


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the command runs: an empty folder."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def no_search(monkeypatch: pytest.MonkeyPatch) -> None:
    """Makes a search a failure of the test."""

    def never(*_: object) -> None:
        raise AssertionError("a search was begun")

    monkeypatch.setattr("integrations.cli.solve.run", never)


def names(*words: str) -> list[str]:
    return [data["instance"] for data in reports(*words, *QUICK, "--quiet")]


# --- which instances


def test_words_are_names_sets_files_folders_and_patterns_each_instance_once(folder: Path) -> None:
    (folder / "mine").mkdir()
    for name in ("la01", "la02"):
        save(load(name), folder / "mine" / f"my-{name}.txt")
    assert names("ft06", "la01", "ft06") == ["ft06", "la01"]
    assert names("ft") == ["ft06", "ft10", "ft20"]
    assert names("orb:10x10") == [f"orb{i:02}" for i in range(1, 11)]
    assert names("mine") == names("mine/*.txt") == names("mine/my-la01.txt", "mine") == ["my-la01", "my-la02"]


@pytest.mark.parametrize("options", [QUICK, ("--method", "cp-sat", "--time-limit", "5")])
def test_the_report_says_the_commands_that_solve_prints(folder: Path, options: tuple[str, ...]) -> None:
    printed = solve("ft06", "la01", *options, "--report", "all.html").stdout.splitlines()
    commands = [line.partition(": ")[2] for line in printed if line.startswith(("reproduce: ", "run again: "))]
    assert len(commands) == 2
    assert '<pre id="command">' + "\n".join(commands) + "</pre>" in (folder / "all.html").read_text()


def test_one_json_object_per_line_equals_the_runs_one_by_one() -> None:
    together = reports("ft06", "la16", *QUICK)
    alone = [report(name, *QUICK) for name in ("ft06", "la16")]
    for one, other in zip(together, alone, strict=True):
        assert (one["instance"], one["makespan"], one["steps"]) == (other["instance"], other["makespan"], 20)


def test_every_instance_has_its_summary_and_all_have_a_line_together() -> None:
    text = solve("ft06", "la16", *QUICK).stdout
    assert text.startswith("ft06 (6x6): makespan ")
    assert "\n\nla16 (10x10): makespan " in text
    assert text.splitlines()[-1].startswith("2 instances: ")


def test_progress_says_which_instance_it_is_about() -> None:
    lines = progress(solve("ft06", "la16", "--method", "tabu", *QUICK))
    assert {line.partition(":")[0] for line in lines} == {"1/2 ft06", "2/2 la16"}


# --- where results go


def test_a_folder_or_a_pattern_gives_every_instance_its_files(folder: Path) -> None:
    options = ["--output", "new/", "--history", "{name}.csv", "--gantt", "new/{name}.svg", "--stats-dir", "a/stats"]
    printed = reports("ft06", "la01", *QUICK, *options)
    for data in printed:
        name = data["instance"]
        assert Schedule.load(load(name), folder / "new" / f"{name}.json").makespan == data["makespan"]
        assert (folder / f"{name}.csv").read_text().splitlines()[-1].endswith(f",{data['makespan']}")
        assert "<svg" in (folder / "new" / f"{name}.svg").read_text()
        assert json.loads((folder / "a" / "stats" / f"{name}.json").read_text()) == data
    assert len([path for path in folder.rglob("*") if path.is_file()]) == 8


def test_one_instance_may_have_a_folder_too(folder: Path) -> None:
    (folder / "out").mkdir()
    solve("ft06", *QUICK, "--output", "out", "--gantt", "{name}/")
    assert (folder / "out" / "ft06.json").is_file()
    assert (folder / "ft06" / "ft06.png").is_file()


def test_schedules_of_several_instances_are_printed_line_by_line() -> None:
    lines = solve("ft06", "la01", *QUICK, "--output", "-").stdout.splitlines()
    assert [json.loads(line)["instance"] for line in lines] == ["ft06", "la01"]


def test_a_name_from_a_file_does_not_lead_out_of_the_folder(folder: Path) -> None:
    save(Instance.from_jobs([[(0, 3)]], name="../../evil"), folder / "evil.json")
    solve("evil.json", *QUICK, "--output", "out/")
    assert [path.name for path in (folder / "out").iterdir()] == ["_.._evil.json"]


def test_a_page_is_about_all_instances_or_each_has_its_own(folder: Path) -> None:
    solve("ft06", "la01", *QUICK, "--report", "all.html")
    text = (folder / "all.html").read_text()
    assert "ft06" in text
    assert "la01" in text
    solve("ft06", "la01", *QUICK, "--report", "pages/")
    assert sorted(path.name for path in (folder / "pages").iterdir()) == ["ft06.html", "la01.html"]


def test_a_folder_of_schedules_is_a_warm_start(folder: Path) -> None:
    first = reports("ft10", "la16", *QUICK, "--output", "first/")
    again = reports("ft10", "la16", "--max-steps", "0", "--warm-start", "first")
    assert [data["makespan"] for data in again] == [data["makespan"] for data in first]


# --- told before any search


@pytest.mark.usefixtures("no_search")
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["ft06", "broken.txt"], "broken.txt:2: job 0 has 2 numbers, expected 4"),
        (["ft06", "la0x"], "unknown set or instance 'la0x'; did you mean la"),
        (["ft06", "none/*.txt"], "no such file"),
        (["empty"], "the folder holds no files"),
        (["ft06", "la01", "--output", "a.json"], "--output would write ft06 and la01 to one file, a.json"),
        (["ft06", "la01", "--gantt", "a.png"], "--gantt would write ft06 and la01 to one file"),
        (["ft06", "la01", "--history", "-"], "--history - is for one instance, not for 2"),
        (["one/x.txt", "two/x.txt", "--output", "out/"], "would write one/x.txt and two/x.txt to one file"),
        (["one/x.txt", "two/x.txt", "--report", "{name}.html"], "would write one/x.txt and two/x.txt to one file"),
        (["one/x.txt", "--output", "one/x.txt"], "--output would overwrite one/x.txt, which is read"),
        (["ft06", "--config", "run.toml", "--history", "run.toml"], "--history would overwrite run.toml"),
        (["ft06", "--output", "{nmae}.json"], "{nmae} stands for nothing, only {name} does"),
        (["ft06", "la01", "--output", "{name}.x", "--history", "{name}.x"], "--output and --history name the same"),
        (["ft06", "--output", "none/{name}.json"], "cannot write none/ft06.json: no such directory"),
        (["ft06", "--stats-dir", "broken.txt/stats"], "cannot write broken.txt/stats/ft06.json: broken.txt is not a"),
        (["ft06", "--report", "page.pdf"], "its name must end in .html"),
        (["ft06", "--report", "none/page.html"], "cannot write none/page.html: no such directory"),
        (["ft06", "la01", "--warm-start", "a.json"], "one schedule for 2 instances"),
        (["ft06", "la01", "--warm-start", "empty"], "cannot read empty/ft06.json"),
        (["-", "-", "--warm-start", "x.json"], "only one of INSTANCE"),
    ],
)
def test_mistakes_are_told_before_any_search_and_nothing_is_written(
    arguments: list[str], message: str, folder: Path
) -> None:
    (folder / "broken.txt").write_text("2 2\n0 1")
    (folder / "run.toml").write_text("seed = 1")
    (folder / "empty").mkdir()
    for name in ("one", "two"):
        (folder / name).mkdir()
        save(load("ft06"), folder / name / "x.txt")
    before = sorted(folder.rglob("*"))
    assert_bad_input(run("solve", *arguments), message)
    assert sorted(folder.rglob("*")) == before


# --- Ctrl-C


def test_ctrl_c_in_the_second_of_three_keeps_what_is_done(folder: Path) -> None:
    arguments = ["ft06", "ta41", "la02", "--method", "tabu", "--time-limit", "600", "--output", "out/", "--json"]
    process = subprocess.Popen(
        [SCRIPT, "solve", *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=folder
    )
    assert process.stderr is not None
    for line in process.stderr:
        if line.startswith("2/3 ta41:") and "makespan" in line:
            break
    process.send_signal(signal.SIGINT)
    stdout, stderr = process.communicate()
    assert process.returncode == 130
    assert stderr.endswith("Interrupted; not begun: la02\n")
    done = [json.loads(line) for line in stdout.splitlines()]
    assert [(data["instance"], data["stopped_by"]) for data in done] == [("ft06", "known bound"), ("ta41", "interrupt")]
    for data in done:
        name = data["instance"]
        assert Schedule.load(load(name), folder / "out" / f"{name}.json").makespan == data["makespan"]
    assert len(list((folder / "out").iterdir())) == 2
