"""`l2s bench`: tables that hold, runs that can be killed and resumed."""

from __future__ import annotations

import csv
import json

import numpy as np
import pytest
from click.testing import CliRunner

import l2s_plugin as l2s
from heuristics import tabu_search
from integrations.bench import report
from integrations.bench.cells import Store, run_cell
from integrations.bench.sets import groups
from integrations.cli import l2s as command_line
from integrations.plots import anytime
from l2s_plugin.data import benchmark_info
from l2s_plugin.errors import L2SError
from l2s_plugin.policy.checkpoint import save_policy
from l2s_plugin.policy.library import find_policy


def run(*words: str):
    return CliRunner().invoke(command_line, ["bench", *words], prog_name="l2s")


def test_sets_are_the_papers_groups():
    assert len(groups(["paper"])) == 26
    assert sum(len(names) for names in groups(["paper"]).values()) == 162
    assert groups(["ta:15x15"]) == {"ta-15x15": [f"ta{k:02}" for k in range(1, 11)]}
    assert list(groups(["ft"])) == ["ft-6x6", "ft-10x10", "ft-20x5"]
    assert groups(["ft06", "ft10", "ft06"]) == {"ft-6x6": ["ft06"], "ft-10x10": ["ft10"]}


def test_files_folders_and_patterns_are_groups(tmp_path):
    for name in ("ft06", "la01"):
        l2s.save(l2s.load(name), tmp_path / f"{name}.txt")
    both = [str(tmp_path / "ft06.txt"), str(tmp_path / "la01.txt")]
    assert groups([str(tmp_path)]) == {str(tmp_path): both}
    assert groups([str(tmp_path / "*.txt")]) == {str(tmp_path / "*.txt"): both}
    assert groups([f"{both[0]}#0"]) == {f"{both[0]}#0": [f"{both[0]}#0"]}
    result = run(str(tmp_path), "--steps", "20", "--json")
    assert result.exit_code == 0, result.output
    assert json.loads(result.stdout)["table"][0]["runs"] == 2


def test_the_table_says_what_single_runs_say():
    result = run("ft", "la01", "--method", "tabu", "--steps", "50,400", "--seeds", "2", "--json")
    assert result.exit_code == 0, result.output
    assert all(cell["bound_source"] != "literature" for cell in json.loads(result.stdout)["cells"])
    table = {(row["group"], row["budget"]): row for row in json.loads(result.stdout)["table"] if "budget" in row}
    for name in ("ft06", "ft10", "ft20", "la01"):
        info = benchmark_info(name)
        for steps in (50, 400):
            limit = l2s.stop.steps(steps)
            found = [tabu_search(l2s.load(name), stop=limit, seed=seed).makespan for seed in (1, 2)]
            gaps = [100 * (makespan / info.upper_bound - 1) for makespan in found]
            row = table[info.group, f"{steps} steps"]
            assert row["gap %"] == pytest.approx(np.mean(gaps), abs=0.006)
            assert row["runs"] == 2


def finished(group: str, label: str, names: list[str]) -> list[dict]:
    return [{"group": group, "label": label, "instance": name} for name in names]


def test_published_figures_stand_beside_whole_groups():
    names = groups(["ta:30x20"])["ta-30x20"]
    whole = finished("ta-30x20", "a", names) + finished("my-files", "a", ["x"])
    rows = report.published(whole)
    assert {row["method"]: row["gap %"] for row in rows}["L2S, 5000 steps"] == 12.6
    assert {row["group"] for row in rows} == {"ta-30x20"}
    text = run("ft06", "--steps", "5").output
    assert "L2S, 500 steps" in text
    assert "paper, Table 1" in text


def test_single_instances_do_not_stand_beside_published_means():
    """Neither asked for alone nor left alone by an interruption."""
    names = groups(["ta:30x20"])["ta-30x20"]
    assert report.published(finished("ta-30x20", "a", names) + finished("ta-30x20", "b", names[:-1])) == []
    assert "Table 1" not in run("la01", "--steps", "5").output


def test_a_terminal_gets_aligned_columns_and_everything_else_markdown(monkeypatch):
    words = ("ft06", "la01", "--method", "tabu", "--method", "dispatch", "--steps", "5,500")
    text = run(*words).output
    assert "| gap % | budget | ft-6x6 | seconds | steps/s | source |" in text
    monkeypatch.setattr("click.testing._NamedTextIOWrapper.isatty", lambda stream: True)
    text = run(*words).output
    assert "|" not in text
    table = text[text.index("gap %") :].split("\n\n")[0].splitlines()
    assert len({line.index("this run") for line in table if "this run" in line} | {table[0].index("source")}) == 1


def test_equal_makespans_have_equal_gaps_whatever_bound_their_runs_have_proven():
    """What one run proves serves the others on its instance; a best known makespan serves all."""
    proven = [("a", {"upper_bound": None, "lower_bound": bound}) for bound in (40, 50)]
    known = [("b", {"upper_bound": 20, "lower_bound": bound}) for bound in (10, 19)]
    cells = report.compared([*proven, *known, ("c", {"upper_bound": None, "lower_bound": 0})])
    assert [cell["reference"] for cell in cells] == [50, 50, 20, 20, 0]
    assert [report.gap(cell, 60) for cell in cells] == pytest.approx([20, 20, 200, 200, 0])


def test_a_killed_run_is_resumed_and_loses_the_cell_in_the_making_only(tmp_path):
    words = ("ft06", "la01", "--steps", "30", "--seeds", "2", "--output", str(tmp_path), "--json")
    first = json.loads(run(*words).stdout)
    cells = tmp_path / "cells.jsonl"
    lines = cells.read_text().splitlines(keepends=True)
    assert len(lines) == 4
    marked = json.loads(lines[0]) | {"makespan": 77}  # would be 55 if it were run again
    cells.write_text(json.dumps(marked) + "\n" + lines[1] + lines[2] + lines[3][:25])
    second = json.loads(run(*words).stdout)
    assert [cell["makespan"] for cell in second["cells"]] == [77, *(cell["makespan"] for cell in first["cells"][1:])]
    assert len(cells.read_text().splitlines()) == 4


def cells_of(*words: str) -> list[dict]:
    result = run(*words, "--json")
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)["cells"]


def test_a_changed_instance_file_is_run_again(tmp_path):
    file, words = tmp_path / "shop.txt", ("--steps", "5", "--output", str(tmp_path / "out"))
    l2s.save(l2s.load("ft06"), file)
    before = cells_of(str(file), *words)
    assert cells_of(str(file), *words) == before
    l2s.save(l2s.load("la01"), file)
    assert cells_of(str(file), *words)[0]["makespan"] >= 666 > before[0]["makespan"]
    l2s.save(l2s.load("ft06"), file)
    assert cells_of(str(file), *words) == before


def test_a_retrained_policy_file_is_run_again(tmp_path):
    policy, file = find_policy("l2s-fast"), tmp_path / "mine.safetensors"
    words = ("ft06", "--policy", str(file), "--steps", "5", "--output", str(tmp_path / "out"))
    details = {"host": policy.host, "neighbourhoods": policy.neighbourhoods}
    save_policy(file, policy.config, policy.weights, **details)
    before = cells_of(*words)
    assert cells_of(*words) == before
    save_policy(file, policy.config, {name: 2 * array for name, array in policy.weights.items()}, **details)
    assert cells_of(*words)[0]["key"] != before[0]["key"]


def test_another_version_of_the_package_is_run_again(tmp_path, monkeypatch):
    words = ("ft06", "--method", "dispatch", "--output", str(tmp_path))
    before = cells_of(*words)
    assert cells_of(*words) == before
    monkeypatch.setattr("integrations.bench.cells.__version__", "99.0")
    assert cells_of(*words)[0]["key"] != before[0]["key"]


def test_a_run_cut_short_by_a_signal_is_not_kept(tmp_path, monkeypatch):
    def interrupted(cell):
        return run_cell(cell) | ({"stopped_by": "interrupt"} if cell.way.seed == 2 else {})

    monkeypatch.setattr("integrations.bench.cells.run_cell", interrupted)
    result = run("ft06", "--steps", "10", "--seeds", "3", "--output", str(tmp_path), "--json")
    report = json.loads(result.stdout)
    assert (report["finished"], [cell["seed"] for cell in report["cells"]]) == (False, [1])
    assert len((tmp_path / "cells.jsonl").read_text().splitlines()) == 1
    assert "run the same command again to resume" in result.stderr
    assert result.exit_code == 130


def test_results_are_written_in_every_form(tmp_path):
    assert run("ft06", "la01", "--time-limit", "0.05", "--output", str(tmp_path)).exit_code == 0
    rows = list(csv.DictReader((tmp_path / "results.csv").open()))
    assert {row["group"] for row in rows} == {"ft-6x6", "la-10x5"}
    assert json.loads((tmp_path / "results.json").read_text())["table"][0]["group"] == "ft-6x6"
    assert "| ft-6x6 |" in (tmp_path / "results.md").read_text()
    assert (tmp_path / "anytime.png").read_bytes().startswith(b"\x89PNG")


def test_curves_say_what_the_histories_say():
    cells = [
        {"label": "a", "method": "tabu", "steps": 100, "reference": 50, "history": [[0.1, 0, 100], [0.2, 10, 60]]},
        {
            "label": "a",
            "method": "tabu",
            "steps": 90,
            "reference": 40,
            "history": [[0.1, 0, 40]],
        },
        {"label": "b", "method": "dispatch", "steps": 0, "reference": 50, "history": [[0.1, 0, 100]]},
    ]
    (curve,) = report.anytime_curves(cells, "steps").values()
    assert (curve.runs, curve.at[0], curve.at[-1]) == (2, 1, pytest.approx(100))
    assert set(curve.gap[curve.at < 10]) == {50}
    assert set(curve.gap[curve.at >= 10].round(9)) == {10}


def test_the_legend_lies_beside_the_curves_in_the_order_of_their_ends():
    cells = [
        {"label": label, "method": "tabu", "steps": 9, "reference": 50, "history": [[0.1, 0, 100], [0.2, 5, end]]}
        for label, end in (("good", 51), ("bad", 90), ("fair", 70))
    ]
    axes = anytime(cells, "steps")
    axes.figure.draw_without_rendering()
    legend = axes.get_legend()
    assert [text.get_text() for text in legend.get_texts()] == ["bad (1 run)", "fair (1 run)", "good (1 run)"]
    assert legend.get_window_extent().x0 >= axes.get_window_extent().x1
    assert legend.get_window_extent().x1 <= axes.figure.bbox.x1


def test_a_report_is_refused_before_the_runs(tmp_path, monkeypatch):
    monkeypatch.setattr("integrations.bench.cells.run_cell", lambda cell: pytest.fail("it ran"))
    for file, message in (("a.pdf", "must end in .html"), ("missing/a.html", "no such directory")):
        result = run("ft06", "--report", str(tmp_path / file))
        assert (result.exit_code, result.stdout) == (2, "")
        assert message in result.stderr


def test_a_report_may_lie_in_the_folder_of_the_results(tmp_path):
    folder = tmp_path / "new"
    result = run("ft06", "--steps", "5", "--output", str(folder), "--report", str(folder / "bench.html"))
    assert result.exit_code == 0, result.output
    assert f"wrote {folder}/bench.html" in result.stderr
    assert "L2S, 500 steps" in (folder / "bench.html").read_text()


@pytest.mark.parametrize("method", ["memetic", "cp-sat", "hybrid"])
def test_a_run_keeps_to_one_core(method):
    """Several run side by side, here or on a cluster."""
    [cell] = json.loads(run("ft06", "--method", method, "--time-limit", "60", "--json").stdout)["cells"]
    assert (cell["makespan"], cell["workers"]) == (55, 1)


def test_several_processes_give_the_same_table():
    words = ("ft06", "la01", "--steps", "100", "--json")
    alone, together = (json.loads(run(*words, "--workers", workers).stdout) for workers in ("1", "2"))
    strip = [{k: v for k, v in row.items() if k not in ("seconds", "steps/s")} for row in alone["table"]]
    assert strip == [{k: v for k, v in row.items() if k not in ("seconds", "steps/s")} for row in together["table"]]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "which instances"),
        (["tb:15x15"], "unknown set or instance 'tb:15x15'; did you mean ta:15x15"),
        (["ft06", "--steps", "5,x"], "--steps takes positive whole numbers"),
        (["ft06", "--steps", "5", "--time-limit", "1"], "exclude each other"),
        (["ft06", "--method", "taboo"], "unknown method 'taboo'; did you mean tabu"),
        (["ft06", "--method", "dispatch", "--selector", "greedy"], "method dispatch has no use for selector"),
        (["ft06", "--quick"], "--quick has its own sets"),
        (["--quick", "--neighbourhood", "n6"], "--quick has its own sets"),
        (["ft06", "--steps", "5", "--selector", "greedy", "--selector", "greedi"], "did you mean greedy"),
        (["ft06", "--steps", "5", "--neighbourhood", "n5", "--neighbourhood", "n99"], "unknown neighbourhood 'n99'"),
        (["ft06", "--steps", "5", "--init", "spt", "--init", "sptt"], "unknown dispatching rule 'sptt'; did you mean"),
        (["ft06", "--steps", "5", "--policy", "l2s", "--policy", "l2s-fasst"], "did you mean l2s-fast"),
        (
            ["ft06", "--method", "tabu", "--method", "cp-sat", "--steps", "5"],
            "cp-sat takes no steps; limit its seconds",
        ),
        (["ft06", "--time-limit", "nan"], "time limit must be a positive number"),
        (["ft06", "--time-limit", "0"], "time limit must be a positive number"),
    ],
)
def test_wrong_words_give_one_line_before_the_first_run(words, message, monkeypatch):
    monkeypatch.setattr("integrations.bench.cells.run_cell", lambda cell: pytest.fail("it ran"))
    result = run(*words)
    assert result.exit_code == 2
    assert not result.stdout
    assert message in result.stderr
    assert result.stderr.count("\n") == 1


def test_a_broken_file_is_told_before_the_first_run(tmp_path, monkeypatch):
    monkeypatch.setattr("integrations.bench.cells.run_cell", lambda cell: pytest.fail("it ran"))
    (tmp_path / "broken.txt").write_text("rubbish")
    result = run("ft06", str(tmp_path), "--steps", "5")
    assert (result.exit_code, result.stdout) == (2, "")
    assert "broken.txt:1: not in any known format" in result.stderr


@pytest.mark.parametrize("method", ["cp-sat", "hybrid", "tabu"])
def test_every_run_has_one_core(method):
    (cell,) = json.loads(run("ft06", "--method", method, "--time-limit", "5", "--json").stdout)["cells"]
    assert (cell["workers"], cell["makespan"]) == (1, 55)


def test_a_milestone_has_its_share_of_the_time():
    cell = {"group": "g", "label": "a", "method": "tabu", "steps": 1000, "seconds": 2.0, "reference": 50}
    cell |= {"lower_bound": 40, "history": [[0.1, 0, 100], [0.2, 300, 60]]}
    early, late = report.summarise([cell], [100, 1000])
    assert (early["seconds"], early["steps/s"], early["gap %"]) == (0.2, 500, 100)
    assert (late["seconds"], late["steps/s"], late["gap %"]) == (2, 500, 20)


def test_an_instance_that_takes_no_time_has_no_gap(tmp_path):
    l2s.save(l2s.Instance.from_jobs([[(0, 0), (1, 0)], [(1, 0), (0, 0)]]), tmp_path / "nothing.txt")
    result = run(str(tmp_path), "--steps", "5", "--json")
    assert result.exit_code == 0, result.output
    assert json.loads(result.stdout)["table"][0]["gap %"] == 0


def test_a_store_with_rubbish_in_it_names_the_line(tmp_path):
    """Rubbish is any line that the tables and curves cannot be made of."""
    output = tmp_path / "run"
    assert run("ft06", "--steps", "5", "--output", str(output)).exit_code == 0
    (line,) = (output / "cells.jsonl").read_text().splitlines()
    row = json.loads(line)
    damaged = [
        json.dumps({key: value for key, value in row.items() if key != missing}) for missing in ("key", "history")
    ]
    damaged += [
        json.dumps(row | change)
        for change in (
            {"key": []},
            {"makespan": "55"},
            {"history": 5},
            {"history": [5]},
            {"history": [[0.1, 0]]},
            {"seconds": None},
            {"steps": -1},
            {"upper_bound": "x"},
            {"time_limit": []},
        )
    ]
    for rubbish in ("rubbish", "5", "null", "[]", "{}", '"a"', "[" * 5000, *damaged):
        (tmp_path / "cells.jsonl").write_text(f"{line}\n{rubbish}\n")
        with pytest.raises(L2SError, match=r"cells.jsonl:2: not a finished cell"):
            Store(tmp_path)
