"""Tables on the command line: orders in, plans out, and plans checked."""

from __future__ import annotations

import csv

import pytest

from tests.integrations.command_line import assert_bad_input, run, solve

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
    assert (result.exit_code, result.stdout) == (0, "ok: makespan 105 (orders)\n")


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


def test_a_unit_without_a_start_is_bad_input(orders):
    assert_bad_input(solve(orders, "--unit", "hours"), "--unit says what a time of 1 lasts after --start-at")


def test_a_changed_plan_ends_with_code_1(orders, plan):
    planned(orders, plan)
    plan.write_text(plan.read_text().replace(",15,", ",50,"))
    result = run("check", orders, str(plan))
    assert result.exit_code == 1
    assert result.stdout.startswith(f"violated: {plan}: step 2 (drill) of job A-17 starts at 60, before")


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
