"""`l2s replan`: from a plan and what happened since to a new plan, checked with `l2s check`."""

from __future__ import annotations

import csv
import json
import signal

import pytest

from integrations.cli import replan as command
from tests.integrations.command_line import assert_bad_input, run

# the plan below: M1 does A-17 0-30, C:3/x 30-70, B 02 70-95; M2 does B 02 15-35, A-17 60-105; lathe 2 does C:3/x 70-80
ORDERS = """job,step,operation,machine,duration,release,due,earliest
A-17,1,saw,M1,30,,480,
A-17,2,drill,M2,45,,,60
B 02,1,,M2,20,15,,
B 02,2,polish,M1,25,,120,
C:3/x,1,saw,M1,40,,200,
C:3/x,2,drill,lathe 2,10,,,
"""
PLAN = """job,step,start
A-17,1,0
A-17,2,60
B 02,1,15
B 02,2,70
C:3/x,1,30
C:3/x,2,70
"""
CLOCK = ["--start-at", "2026-11-23T06:00"]


@pytest.fixture
def shop(tmp_path, monkeypatch):
    """A folder with orders and a plan of them, in which commands run."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "orders.csv").write_text(ORDERS)
    (tmp_path / "plan.csv").write_text(PLAN)
    (tmp_path / "new.csv").write_text("job,machine,duration,due\nN 1,M2,15,150\n")
    return tmp_path


def replan(*arguments):
    return run("replan", "orders.csv", "plan.csv", "--max-steps", "50", "--quiet", *arguments)


def planned(*arguments):
    result = replan(*arguments)
    assert result.exit_code == 0, result.output
    return result.stdout


def checked(*arguments):
    result = run("check", *arguments)
    assert result.exit_code == 0, result.output
    return result.stdout


def rows_of(path):
    with path.open(newline="") as file:
        return {(row["job"], row["step"]): row for row in csv.DictReader(file)}


@pytest.mark.parametrize("instance", ["now.csv", "now.json"])
@pytest.mark.parametrize("output", ["new-plan.csv", "new-plan.json"])
@pytest.mark.parametrize(
    "news",
    [
        [],
        ["--down", "M1:20-60"],
        ["--down", "M1:20-60", "--under-way", "restarts"],
        ["--down", "lathe 2:60-75"],
        ["--delay", "A-17/1:40", "--delay", "C:3/x/drill:100"],
        ["--add", "new.csv", "--drop", "B 02"],
        ["--objective", "lateness", "--add", "new.csv"],
    ],
    ids=" ".join,
)
def test_the_new_plan_is_correct_for_the_instance_as_it_is_now(shop, instance, output, news):
    said = planned("--at", "20", "--output", output, "--instance-output", instance, *news)
    assert "planned again at 20: " in said
    assert checked(instance, output).startswith("ok: makespan ")


def test_kept_orders_are_saved_with_the_instance(shop):
    planned("--at", "20", "--keep-order", "M1", "--add", "new.csv", "--output", "o.csv", "--instance-output", "n.json")
    checked("n.json", "o.csv")
    assert json.loads((shop / "n.json").read_text())["kept"] == [[0, 4, 3]]


def test_a_chain_of_plans_goes_on_from_file_to_file(shop):
    planned("--at", "20", "--down", "M1:20-60", "--output", "p1.csv", "--instance-output", "i1.csv")
    common = ["--max-steps", "50", "--quiet"]
    again = ["--at", "75", "--add", "new.csv", "--output", "p2.csv", "--instance-output", "i2.csv"]
    assert run("replan", "i1.csv", "p1.csv", *again, *common).exit_code == 0
    last = ["--at", "90", "--drop", "C:3/x", "--output", "p3.json", "--instance-output", "i3.json"]
    assert run("replan", "i2.csv", "p2.csv", *last, *common).exit_code == 0
    checked("i3.json", "p3.json")
    before, after = rows_of(shop / "p1.csv"), rows_of(shop / "p2.csv")
    assert before["A-17", "1"]["end"] == after["A-17", "1"]["end"] == "70"  # interrupted, and stays so
    assert after.keys() - before.keys() == {("N 1", "1")}


def test_a_chain_of_plans_on_the_clock(shop):
    news = ["--at", "2026-11-23T06:20", "--down", "M1:2026-11-23T06:20-2026-11-23T07:00", *CLOCK]
    said = planned(*news, "--output", "p1.csv", "--instance-output", "i1.csv")
    assert "planned again at 2026-11-23T06:20" in said
    assert rows_of(shop / "p1.csv")["A-17", "1"]["end"] == "2026-11-23T07:10"
    checked("i1.csv", "p1.csv", *CLOCK)
    result = run("replan", "i1.csv", "p1.csv", "--at", "2026-11-23T07:20", "--max-steps", "9", "--quiet", *CLOCK)
    assert result.exit_code == 0, result.output


def test_times_may_have_a_time_zone(shop):
    """06:20 in Greenwich is 08:20 two hours east of it."""
    clock = ["--start-at", "2026-11-23T06:00Z", "--at", "2026-11-23T06:20Z"]
    down = "M1:2026-11-23T08:20+02:00-2026-11-23T06:00-01:00"
    said = planned(*clock, "--down", down, "--delay", "A-17/2:2026-11-23T09:00Z")
    assert "down until 2026-11-23T07:00+00:00" in said


def test_json_says_what_moved_and_what_is_late(shop):
    told = json.loads(planned("--at", "20", "--down", "M1:20-60", "--json"))
    news = told["replan"]
    assert (told["makespan"], news["at"], news["old"], news["moved_right"]) == (135, 20, 105, 135)
    moved = {(row["job"], row["step"]): row["by"] for row in news["moved"]}
    assert moved == {("A-17", 2): 10, ("B 02", 2): 40, ("C:3/x", 1): 40, ("C:3/x", 2): 40}
    assert news["late"] == [{"job": "B 02", "due": 120, "end": 135, "late": 15}]
    assert "is interrupted on machine M1" in news["notes"][0]


def test_same_seed_and_steps_same_files(shop):
    for name in ("a.csv", "b.csv"):
        planned("--at", "10", "--down", "M2:20-90", "--seed", "7", "--output", name)
    assert (shop / "a.csv").read_text() == (shop / "b.csv").read_text()


def test_ctrl_c_leaves_a_whole_plan_and_its_instance(shop, monkeypatch):
    monkeypatch.setattr(command, "listener", lambda *_: lambda event: signal.raise_signal(signal.SIGINT))
    planned("--at", "20", "--down", "M1:20-60", "--output", "o.csv", "--instance-output", "now.csv")
    checked("now.csv", "o.csv")


def test_a_search_that_fails_leaves_a_whole_plan_and_its_instance(shop, monkeypatch):
    def fails(event):
        raise RuntimeError("no ink")

    monkeypatch.setattr(command, "listener", lambda *_: fails)
    result = replan("--at", "20", "--down", "M1:20-60", "--output", "o.csv", "--instance-output", "now.csv")
    assert result.exit_code == 2
    assert "no ink" in result.stderr
    checked("now.csv", "o.csv")


def test_options_of_the_news_may_stand_in_a_file(shop):
    (shop / "run.toml").write_text('at = "20"\ndown = ["M1:20-60"]\nkeep-order = "M1"\nmax-steps = 9\nquiet = true\n')
    result = run("replan", "orders.csv", "plan.csv", "--config", "run.toml", "--json")
    assert json.loads(result.stdout)["replan"]["at"] == 20


def test_a_plan_as_json_does_not_go_with_a_table_that_numbers_machines_anew(shop):
    """Without C:3/x, A-17 and B 02 are left, and the table would begin with another machine."""
    (shop / "orders.csv").write_text(ORDERS.replace("A-17,1,saw,M1", "A-17,1,saw,M0"))
    (shop / "more.csv").write_text("job,machine,duration\nN,lathe 2,5\nN,M0,5\n")
    news = ["--at", "0", "--drop", "A-17", "--add", "more.csv"]
    result = replan(*news, "--instance-output", "now.csv", "--output", "o.json")
    assert_bad_input(result, "a table numbers the machines anew, and a plan as JSON goes by their numbers")
    planned(*news, "--instance-output", "now.csv", "--output", "o.csv")
    checked("now.csv", "o.csv")
