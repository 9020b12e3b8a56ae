"""Tables on the command line: orders in, plans out, and plans checked."""

from __future__ import annotations

import csv
import json
import sys

import pytest

from tests.integrations.command_line import assert_bad_input, report, run, solve

ORDERS = """job,step,operation,machine,duration,release,due,earliest
A-17,1,saw,M1,30,,480,
A-17,2,drill,M2,45,,,60
B-02,1,,M2,20,15,,
"""


@pytest.fixture
def orders(tmp_path):
    path = tmp_path / "orders.csv"
    path.write_text(ORDERS)
    return str(path)


@pytest.fixture
def plan(tmp_path):
    return tmp_path / "plan.csv"


def planned(orders, plan, *options):
    result = solve(orders, "--output", str(plan), "--max-steps", "50", *options)
    assert result.exit_code == 0, result.stderr


def rows_of(plan):
    with plan.open(newline="") as file:
        return list(csv.DictReader(file))


def test_a_plan_as_a_table_is_correct(orders, plan):
    planned(orders, plan)
    assert [(row["machine"], row["job"], row["start"]) for row in rows_of(plan)] == [
        ("M1", "A-17", "0"),
        ("M2", "B-02", "15"),
        ("M2", "A-17", "60"),
    ]
    result = run("check", orders, str(plan))
    assert (result.exit_code, result.stdout) == (0, "ok: makespan 105, lateness -375, 0 of 2 jobs late (orders)\n")


def test_a_plan_as_a_workbook_is_correct(orders, tmp_path):
    pytest.importorskip("openpyxl")
    planned(orders, tmp_path / "plan.xlsx")
    assert run("check", orders, str(tmp_path / "plan.xlsx")).exit_code == 0


def test_rows_can_be_sorted_by_job(orders, plan):
    planned(orders, plan, "--sort-by", "job")
    assert [(row["job"], row["step"]) for row in rows_of(plan)] == [("A-17", "1"), ("A-17", "2"), ("B-02", "1")]
    assert run("check", orders, str(plan)).exit_code == 0


def test_sorting_without_a_table_is_bad_input(orders, tmp_path):
    message = "--sort-by sorts the table that --output names as .csv or .xlsx; give that, too"
    assert_bad_input(solve(orders, "--sort-by", "job"), message)
    assert_bad_input(solve(orders, "--sort-by", "job", "--output", str(tmp_path / "plan.json")), message)


def test_a_plan_on_the_clock(orders, plan):
    clock = ["--start-at", "2026-11-23T06:00", "--unit", "hours"]
    planned(orders, plan, *clock)
    assert rows_of(plan)[1]["start"] == "2026-11-23T21:00"
    assert run("check", orders, str(plan), *clock).exit_code == 0
    plan.write_text(plan.read_text().replace("2026-11-23T21:00", "2026-11-25T16:00"))
    said = run("check", orders, str(plan), *clock).stdout
    assert said.endswith("starts at 2026-11-25T18:00, before step 1 of job B-02 ends at 2026-11-26T12:00\n")


def test_times_that_no_calendar_has_are_numbers_to_the_checker(orders, plan):
    planned(orders, plan.with_suffix(".json"))
    data = json.loads(plan.with_suffix(".json").read_text())
    data["start"][2] = 10**15
    plan.with_suffix(".json").write_text(json.dumps(data))
    result = run("check", orders, str(plan.with_suffix(".json")), "--start-at", "2026-11-23T06:00")
    assert result.exit_code == 1
    assert "they start at 1000000000000000 and 2026-11-23T07:00" in result.stdout


def test_a_unit_without_a_start_is_bad_input(orders):
    assert_bad_input(solve(orders, "--unit", "hours"), "--unit says what a time of 1 lasts after --start-at")


def test_a_changed_plan_ends_with_code_1(orders, plan):
    planned(orders, plan)
    plan.write_text(plan.read_text().replace(",15,", ",50,"))
    result = run("check", orders, str(plan))
    assert result.exit_code == 1
    assert result.stdout.startswith(f"violated: {plan}: machine M2: step 2 (drill) of job A-17 starts at 60, before")


def test_a_plan_that_misses_an_operation_ends_with_one_line(orders, plan):
    planned(orders, plan)
    plan.write_text("".join(plan.read_text().splitlines(keepends=True)[:-1]))
    result = run("check", orders, str(plan))
    assert result.exit_code in (1, 2)
    assert "step 2 (drill) of job A-17 is missing, expected every operation once" in result.output
    assert len(result.output.splitlines()) == 1


def test_orders_that_are_wrong_name_file_line_and_column(tmp_path, orders):
    (tmp_path / "wrong.csv").write_text(ORDERS.replace(",45,", ",-45,"))
    path = str(tmp_path / "wrong.csv")
    assert_bad_input(solve(path), f"{path}:3: column duration: -45, expected 0 to ")


def test_a_header_without_the_columns_is_told_column_by_column(tmp_path):
    path = tmp_path / "wrong.csv"
    path.write_text("order;machine;duration\nA;M1;3\n")
    assert_bad_input(solve(str(path)), f"{path}:1: column order: unknown column 'order'; known: ")
    path.write_text("job;machine\nA;M1\n")
    assert_bad_input(solve(str(path)), f"{path}:1: column duration: it is missing, expected job, machine, duration")


def test_a_missing_openpyxl_names_the_extra_before_the_search(orders, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "openpyxl", None)
    message = "pip install 'l2s-plugin[xlsx]'"
    assert_bad_input(solve(orders, "--output", str(tmp_path / "plan.xlsx")), message)
    (tmp_path / "orders.xlsx").write_bytes(b"PK xl/workbook.xml")
    assert_bad_input(solve(str(tmp_path / "orders.xlsx")), message)


def test_json_has_the_objective_with_its_value_and_bound(orders):
    found = report(orders, "--max-steps", "50", "--objective", "lateness")
    assert [found[key] for key in ("objective", "value", "bound", "makespan")] == ["lateness", -375, -375, 105]
    assert (found["lateness"], found["late_jobs"], found["status"]) == (-375, 0, "OPTIMAL")
    found = report(orders, "--max-steps", "50")
    assert [found[key] for key in ("objective", "value", "bound", "lateness")] == ["makespan", 105, 105, -375]


def test_an_objective_that_one_instance_cannot_have_is_refused_before_the_first_search(orders, tmp_path):
    output = tmp_path / "plans"
    result = solve(orders, "ft06", "--objective", "lateness", "--output", f"{output}/")
    assert_bad_input(result, "ft06: no job has a due date, which the objective lateness needs")
    assert not output.exists()


def test_several_results_are_counted_by_their_objective(orders, tmp_path):
    (tmp_path / "late.csv").write_text(ORDERS.replace(",480,", ",50,"))
    result = solve(orders, str(tmp_path / "late.csv"), "--max-steps", "50", "--objective", "lateness")
    assert "2 instances: 2 proven optimal, mean gap to the bound 0.00 %" in result.stdout


def test_the_summary_and_the_progress_say_how_late(tmp_path):
    path = tmp_path / "late.csv"
    path.write_text("job,machine,duration,due\nA,M1,30,10\nB,M1,20,60\n")
    result = solve(str(path), "--max-steps", "50", "--objective", "lateness")
    assert result.stdout.startswith("late (2x1): lateness 20, bound 20 (one-machine), proven optimal\n")
    assert "makespan 50; 1 of 2 jobs late" in result.stdout
    assert "lateness 20, bound 20" in result.stderr


def test_the_check_says_how_late(tmp_path):
    orders, plan = str(tmp_path / "late.csv"), tmp_path / "plan.csv"
    (tmp_path / "late.csv").write_text("job,machine,duration,due\nA,M1,30,10\nB,M1,20,60\nC,M2,5,\n")
    plan.write_text("job,step,start\nA,1,0\nB,1,40\nC,1,0\n")
    assert run("check", orders, str(plan)).stdout == "ok: makespan 60, lateness 20, 1 of 3 jobs late (late)\n"
    found = json.loads(run("check", orders, str(plan), "--json").stdout)
    assert [found[key] for key in ("ok", "makespan", "lateness", "late_jobs")] == [True, 60, 20, 1]
    plan.write_text("job,step,start\nA,1,0\nB,1,29\nC,1,0\n")
    found = json.loads(run("check", orders, str(plan), "--json").stdout)
    assert [found[key] for key in ("ok", "makespan", "lateness", "late_jobs")] == [False, None, None, None]
    assert "machine M1: step 1 of job B starts at 29, before step 1 of job A ends at 30" in found["violation"]


def test_a_schedule_that_lies_about_its_lateness_is_refused(orders, tmp_path):
    path = tmp_path / "plan.json"
    assert solve(orders, "--max-steps", "50", "--output", str(path)).exit_code == 0
    data = json.loads(path.read_text())
    assert (data["lateness"], data["job_names"], data["machine_names"]) == (-375, ["A-17", "B-02"], ["M1", "M2"])
    path.write_text(json.dumps(data | {"lateness": -400}))
    result = run("check", orders, str(path))
    assert (result.exit_code, "lateness is -400, but the latest job is -375 late" in result.stdout) == (1, True)


@pytest.mark.parametrize("name", ["orders.json", "orders.csv", "orders.xlsx"])
def test_random_dates_survive_a_conversion(tmp_path, name):
    first, second = str(tmp_path / "first.json"), str(tmp_path / name)
    assert run("generate", "5x4", "--dates", "tight", "--seed", "3", "-o", first).exit_code == 0
    assert run("convert", first, second).exit_code == 0
    found = [report(path, "--max-steps", "500", "--objective", "lateness") for path in (first, second)]
    assert found[0]["value"] == found[1]["value"]
    assert found[0]["makespan"] == found[1]["makespan"]


def test_dates_need_a_format_with_room_for_them(tmp_path):
    printed = run("generate", "3x2", "--dates", "medium", "--distribution", "uniform").stdout
    assert json.loads(printed)["due"]
    message = "release dates, which the standard format cannot hold; use l2s-json"
    assert_bad_input(run("generate", "3x2", "--dates", "medium", "-o", str(tmp_path / "a.txt")), message)


@pytest.mark.parametrize("options", [["--steps", "20,200"], ["--time-limit", "0.1"]])
def test_a_benchmark_measures_the_objective(tmp_path, options):
    path = str(tmp_path / "dated.json")
    assert run("generate", "5x4", "--dates", "tight", "-o", path).exit_code == 0
    words = ["--method", "tabu", "--objective", "lateness", "--output", str(tmp_path / "out"), "--json"]
    (cell,) = json.loads(run("bench", path, *words, *options).stdout)["cells"]
    assert (cell["objective"], cell["reference"]) == ("lateness", cell["bound"])
    result = json.loads(run("bench", path, *words, *options).stdout)  # as it was kept
    expected = 100 * (cell["value"] - cell["bound"]) / cell["makespan"]
    assert result["table"][-1]["gap %"] == pytest.approx(expected, abs=0.01)
