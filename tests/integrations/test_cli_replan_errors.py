"""Bad input of `l2s replan`: one line, exit code 2, and nothing is written."""

from __future__ import annotations

import pytest

from tests.integrations.command_line import assert_bad_input, run
from tests.integrations.test_cli_replan import CLOCK, ORDERS, replan, shop  # noqa: F401

AT = ["--at", "20"]
ALL_GONE = ["--drop", "A-17", "--drop", "B 02", "--drop", "C:3/x"]
NUMBERS_OR_MOMENTS = "with times as numbers, or such as 2026-11-24T10:00"


@pytest.fixture(autouse=True)
def nothing_written(shop):  # noqa: F811
    """Every test in here leaves the folder as it was."""
    (shop / "wrong.csv").write_text(ORDERS.replace(",15,,\n", ",15,10,\n"))
    (shop / "unknown.csv").write_text("job,machine,duration\nN,M3,15\n")
    (shop / "numbers.csv").write_text("job,machine,duration\nN,0,15\n")
    (shop / "dateless.csv").write_text("job,machine,duration\nN,M2,15\n")
    (shop / "taken.csv").write_text("job,machine,duration\nA-17,M1,15\n")
    (shop / "other.csv").write_text("job,step,start\nX,1,0\n")
    (shop / "early.csv").write_text((shop / "plan.csv").read_text().replace("A-17,2,60", "A-17,2,10"))
    (shop / "short.csv").write_text("job,step,start\nA-17,1,0\n")
    (shop / "moments.csv").write_text((shop / "plan.csv").read_text().replace(",0\n", ",2026-11-23T06:00\n"))
    before = {path: path.read_bytes() for path in shop.iterdir()}
    yield
    assert {path: path.read_bytes() for path in shop.iterdir()} == before


@pytest.mark.parametrize(
    ("news", "message"),
    [
        (["--at", "-3"], "the plan has not begun at -3: it goes from 0 to 105"),
        (["--at", "105"], "the plan is over at 105: it goes from 0 to 105"),
        (["--at", "94"], "nothing is left to plan at 94"),
        (["--at", "noon"], "'noon' is no time, expected a whole number"),
        (["--at", ""], "'' is no time"),
        (["--at", "1e2"], "'1e2' is no time"),
        (["--at", "9" * 30], "is no time of a plan, expected at most 1073741823"),
        (["--at", "9" * 5000], "is no time"),
        (["--at", "2026-11-23T06:20"], "nothing says which moment time 0 is (--start-at)"),
        (["--at", "2026-11-23T06:20Z", *CLOCK], "expected both with a time zone, or none"),
        (["--at", "2026-11-23T06:20:30", *CLOCK], "is no whole number of minutes after"),
        (["--at", "2026-11-25T06:20", *CLOCK], "the plan is over at 2026-11-25T06:20: it goes from 2026-11-23T06:00"),
        (["--at", "20", "--start-at", "noon"], "--start-at: 'noon' is no time"),
        (["--at", "20", "--start-at", "9999-12-31T23:59", "--down", "M1:20-60"], "beyond the calendar"),
        (["--at", "20", "--unit", "hours"], "--unit says what a time of 1 lasts after --start-at"),
    ],
)
def test_times_that_are_none_of_the_plan(news, message):
    assert_bad_input(replan(*news, "--output", "o.csv"), message)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("M1", f"--down M1: expected MACHINE:FROM-TO, {NUMBERS_OR_MOMENTS}"),
        ("M1:20", "--down M1:20: expected MACHINE:FROM-TO"),
        ("M1:a-b", "expected MACHINE:FROM-TO"),
        ("M1:20.5-30", "expected MACHINE:FROM-TO"),
        (":20-30", "expected MACHINE:FROM-TO"),
        ("", "expected MACHINE:FROM-TO"),
        ("M1:20-", "machine M1 would never be available again, expected the time when its outage ends"),
        ("M1:20-10", "machine M1 cannot be down from 20 to 10, expected an end after the beginning"),
        ("M1:20--10", "machine M1 cannot be down from 20 to -10"),
        ("M1:20-1073741823", "total duration 1073741973 is too large"),
        ("M1:20-99999999999999999999", "is no time of a plan, expected at most 1073741823"),
        ("m1:20-30", "unknown machine 'm1'; did you mean M1?"),
        ("lathe-2:20-30", "unknown machine 'lathe-2'; did you mean lathe 2?"),
        ("M1:2026-11-23T06:20-2026-11-23T07:00", "nothing says which moment time 0 is (--start-at)"),
    ],
)
def test_outages_that_cannot_be(text, message):
    assert_bad_input(replan(*AT, "--down", text, "--output", "o.csv", "--instance-output", "now.csv"), message)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("A-17/1", f"--delay A-17/1: expected OPERATION:END, {NUMBERS_OR_MOMENTS}"),
        ("A-17/1:", "expected OPERATION:END"),
        (":30", "expected OPERATION:END"),
        ("A-17/1:soon", "expected OPERATION:END"),
        ("A-17:50", "unknown operation 'A-17'"),
        ("A-18/1:50", "unknown job 'A-18'; did you mean A-17?"),
        ("A-17/3:50", "job A-17 has the steps 1 to 2"),
        ("A-17/dril:50", "unknown operation 'dril'; did you mean drill?"),
        ("C:3/1:50", "unknown job 'C:3'; did you mean C:3/x?"),
        ("saw:50", "2 operations are called 'saw'; name the job, too, as in A-17/saw"),
        ("A-17/1:0", "step 1 (saw) of job A-17 cannot end at 0: it starts at 0"),
        ("A-17/1:-7", "cannot end at -7"),
        ("polish:10", "step 2 (polish) of job B 02 cannot end at 10: it has not begun at 20"),
        ("A-17/1:99999999999999999999", "is no time of a plan"),
        (f"A-17/{'9' * 5000}:50", "unknown operation"),
    ],
)
def test_delays_that_cannot_be(text, message):
    assert_bad_input(replan(*AT, "--delay", text, "--output", "o.csv"), message)


@pytest.mark.parametrize(
    ("news", "message"),
    [
        (["--down", "M1:20-30", "--down", "M1:40-50"], "machine M1 is down twice, expected one outage of each"),
        (["--delay", "A-17/1:50", "--delay", "A-17/saw:60"], "step 1 (saw) of job A-17 is given two ends"),
        (["--under-way", "stops"], "'stops' is not one of 'waits', 'restarts'"),
        (["--drop", "a-17"], "unknown job 'a-17'; did you mean A-17?"),
        (["--drop", "0"], "unknown job '0'"),
        (ALL_GONE, "nothing is left to plan at 20"),
        (["--keep-order", "M"], "unknown machine 'M'; did you mean"),
        (["--add", "unknown.csv"], "unknown: unknown machine 'M3'; known: M1, M2, lathe 2"),
        (["--add", "numbers.csv"], "numbers: unknown machine '0'"),
        (["--add", "taken.csv"], "taken: job A-17 is in the plan already, expected another name"),
        (["--add", "wrong.csv"], "wrong.csv:4: column due: 10, expected a due date of 15 or more"),
        (["--add", "nothing.csv"], "unknown instance 'nothing.csv'"),
        (["--add", "plan.csv"], "plan.csv:1: column start: unknown column 'start'"),
        (["--init", "spt"], "planning again begins with the old plan"),
        (["--objective", "lateness", "--add", "dateless.csv", *ALL_GONE], "no job has a due date"),
        (["--selector", "nobody"], "unknown selector 'nobody'"),
        (["--output", "plan.csv"], "--output would overwrite plan.csv, which is read"),
        (["--instance-output", "./plan.csv"], "--instance-output would overwrite ./plan.csv"),
        (["--instance-output", "orders.csv"], "--instance-output would overwrite orders.csv"),
        (["--instance-output", "./o.csv", "--output", "o.csv"], "--instance-output would overwrite"),
        (["--instance-output", "-"], "--instance-output needs the name of a file"),
        (["--instance-output", "now.xyz"], "--instance-output now.xyz: now.xyz: no format has this ending"),
        (["--instance-output", "now.npy"], "which the npy format cannot hold; use l2s-json"),
        (["--instance-output", "nowhere/now.csv"], "cannot write nowhere/now.csv: no such directory"),
        (["--instance-output", "now.csv", "--keep-order", "M1"], "machine orders that are kept, which the csv format"),
        (["--instance-output", "now.csv", "--drop", "C:3/x"], "1 machines without work, which the csv format cannot"),
        (["--output", "new/", "--drop", "nobody"], "unknown job 'nobody'"),
    ],
)
def test_news_and_files_that_do_not_fit(news, message):
    assert_bad_input(replan(*AT, *news), message)


@pytest.mark.parametrize(
    ("files", "message"),
    [
        (["nothing.csv", "plan.csv"], "unknown instance 'nothing.csv'"),
        (["wrong.csv", "plan.csv"], "wrong.csv:4: column due: 10, expected a due date of 15 or more, the release"),
        (["orders.csv", "nothing.csv"], "cannot read nothing.csv: No such file"),
        (["orders.csv", "orders.csv"], "orders.csv:1: column start: it is missing"),
        (["orders.csv", "other.csv"], "other.csv:2: column job: unknown job 'X'"),
        (["orders.csv", "short.csv"], "short.csv: step 2 (drill) of job A-17 is missing"),
        (["orders.csv", "early.csv"], "early.csv: step 2 (drill) of job A-17 starts at 10, before"),
        (["orders.csv", "moments.csv"], "moments.csv:2: column start: '2026-11-23T06:00' is no time"),
        (["ft06", "plan.csv"], "plan.csv:2: column job: unknown job 'A-17'; jobs are numbered from 0 to 5"),
        (["-", "-"], "only one of INSTANCE, SCHEDULE, --add and --config can be read from standard input"),
    ],
)
def test_schedules_of_other_instances(files, message):
    assert_bad_input(run("replan", *files, *AT, "--output", "o.csv"), message)


def test_rules_alone_cannot_plan_again():
    result = run("replan", "orders.csv", "plan.csv", *AT, "--method", "dispatch", "--quiet", "--output", "o.csv")
    assert_bad_input(result, "method dispatch begins with a rule")


def test_the_time_must_be_given():
    assert_bad_input(replan(), "Missing option '--at'")
