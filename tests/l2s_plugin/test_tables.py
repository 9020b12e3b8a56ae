"""Tables of orders and of plans: round trips, forgiving layout, and errors that name file, line and column."""

from __future__ import annotations

import io
from datetime import datetime

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from l2s_plugin.clock import UNITS, Clock
from l2s_plugin.errors import InstanceFormatError, ScheduleError, UnknownNameError
from l2s_plugin.formats.csv import Csv
from l2s_plugin.formats.l2s_json import L2SJson
from l2s_plugin.formats.xlsx import Xlsx
from l2s_plugin.instance import MAX_TOTAL_DURATION, Instance
from l2s_plugin.schedule import Schedule
from l2s_plugin.tables import plan_rows, read_plan, save_plan
from tests.strategies import dated_instances, linear_orders

openpyxl = pytest.importorskip("openpyxl")
TABLES = [Csv(), Xlsx()]
FORMATS = [*TABLES, L2SJson()]
by_table = pytest.mark.parametrize("format_", TABLES, ids=lambda format_: format_.name)
ORDERS = """job,step,operation,machine,duration,release,due,earliest
A-17,1,saw,M1,30,,480,
A-17,2,drill,M2,45,,,60
B-02,1,,M2,20,15,,
"""
CLOCKS = st.builds(
    Clock,
    st.datetimes(min_value=Clock.of("1990-01-01").start, max_value=Clock.of("2090-01-01").start).map(
        lambda moment: moment.replace(microsecond=0)
    ),
    st.sampled_from(UNITS),
)
CELLS = st.text(st.characters(exclude_categories=["C", "Z"]), min_size=1, max_size=8).filter(
    lambda text: text[0] != "=" and not text.isdecimal()
)


def names(count, texts=CELLS):
    return st.lists(texts, min_size=count, max_size=count, unique=True)


def read_csv(text, source="dir/orders.csv"):
    return Csv().read(text.encode(), source)


def workbook(rows):
    book, file = openpyxl.Workbook(), io.BytesIO()
    for row in rows:
        book.active.append(row)
    book.save(file)
    return file.getvalue()


def names_of(instance):
    return instance.job_names, instance.machine_names, instance.operation_names


def by_first_appearance(instance):
    """The same with machines numbered as a table meets them, those without work left out."""
    found = list(dict.fromkeys(instance.machine.tolist()))
    return Instance.from_jobs(
        [[(found.index(machine), duration) for machine, duration in job] for job in instance.jobs()],
        earliest=instance.earliest,
        due=instance.due,
        name=instance.name,
    )


@pytest.fixture
def orders():
    return read_csv(ORDERS)


# instances: round trips


@by_table
@settings(deadline=None)
@given(instance=dated_instances())
def test_instances_with_dates_survive_or_are_refused(format_, instance):
    idle = instance.n_machines - len({*instance.machine.tolist()})
    if idle or instance.objective != "makespan":
        what = f"{idle} machines without work" if idle else "the objective lateness"
        with pytest.raises(InstanceFormatError) as caught:
            format_.write(instance)
        assert str(caught.value) == f"random: {what}, which the {format_.name} format cannot hold; use l2s-json"
    else:
        found = format_.read(format_.write(instance), "random.x")
        assert (found, names_of(found), found.name) == (instance, (None, None, None), "random")


@by_table
@settings(deadline=None)
@given(data=st.data())
def test_names_survive(format_, data):
    instance = by_first_appearance(data.draw(dated_instances()))
    instance = instance.with_details(
        job_names=data.draw(names(instance.n_jobs)),
        machine_names=data.draw(names(instance.n_machines)),
        operation_names=data.draw(st.lists(st.just("") | CELLS, min_size=(n := instance.n_operations), max_size=n)),
    )
    written = format_.write(instance)
    found = format_.read(written, "random.x")
    assert (found, names_of(found)) == (instance, names_of(instance))
    assert [each.name for each in FORMATS if each.detect(written, "file")] == [format_.name]


@given(data=st.data())
def test_json_keeps_dates_names_clock_and_kept_orders(data):
    instance = data.draw(dated_instances())
    texts = st.text(min_size=1, max_size=5)
    kept = [
        np.flatnonzero(instance.machine == k).tolist() for k in {*instance.machine.tolist()} if data.draw(st.booleans())
    ]
    instance = instance.with_details(
        kept=kept,
        job_names=data.draw(st.none() | names(instance.n_jobs, texts)),
        machine_names=data.draw(st.none() | names(instance.n_machines, texts)),
        operation_names=data.draw(st.none() | st.lists(st.text(), min_size=(n := instance.n_operations), max_size=n)),
        clock=data.draw(st.none() | CLOCKS),
    )
    found = L2SJson().read(L2SJson().write(instance), "random.json")
    assert (found, names_of(found), found.clock) == (instance, names_of(instance), instance.clock)


@by_table
@pytest.mark.parametrize(
    ("details", "what"),
    [
        ({"due": [-1, None]}, f"due dates outside 0 to {MAX_TOTAL_DURATION}"),
        ({"due": [2**31 - 2] * 2}, f"due dates outside 0 to {MAX_TOTAL_DURATION}"),
        ({"kept": [[0, 2]]}, "machine orders that are kept"),
        ({"job_names": [" A", "B"]}, "names that tables read differently"),
        ({"machine_names": ["A\n", "B"]}, "names that tables read differently"),
        ({"operation_names": ["=A1", "", ""]}, "names that tables read differently"),
    ],
)
def test_what_a_table_cannot_hold_is_refused(format_, details, what):
    instance = Instance.from_jobs([[(0, 1), (1, 2)], [(0, 3)]], name="tiny", **details)
    with pytest.raises(InstanceFormatError) as caught:
        format_.write(instance)
    assert str(caught.value) == f"tiny: {what}, which the {format_.name} format cannot hold; use l2s-json"


# instances: layout


def test_the_columns_of_the_example(orders):
    assert orders.jobs() == [[(0, 30), (1, 45)], [(1, 20)]]
    assert names_of(orders) == (("A-17", "B-02"), ("M1", "M2"), ("saw", "drill", ""))
    assert (orders.earliest.tolist(), orders.due[0], orders.name) == ([0, 60, 15], 480, "orders")
    assert orders == orders.with_dates(due=[480, None], earliest=[0, 60, 15])


@settings(deadline=None)
@given(st.permutations(range(8)), st.booleans())
def test_the_order_of_the_columns_does_not_matter(columns, upper):
    rows = [[line.split(",")[column] for column in columns] for line in ORDERS.splitlines()]
    if upper:
        rows[0] = [cell.upper() for cell in rows[0]]
    found = read_csv("\n".join(map(",".join, rows)))
    # other columns, the same cells: also as a workbook
    for instance in (found, Xlsx().read(workbook(rows), "orders.xlsx")):
        assert (instance, names_of(instance)) == (read_csv(ORDERS), names_of(read_csv(ORDERS)))


@pytest.mark.parametrize(
    "data",
    [
        ORDERS.replace(",", ";").encode(),
        ORDERS.encode("utf-8-sig"),
        ORDERS.replace("\n", "\r\n").encode(),
        "\n".join(",".join(f'"{cell}"' for cell in line.split(",")) for line in ORDERS.splitlines()).encode(),
        ORDERS.replace(",", " , ").encode(),
        f"\n{ORDERS}\n,,,,,,,\n".encode(),
    ],
    ids=["semicolons", "byte order mark", "Windows line ends", "quotes", "blanks", "blank lines"],
)
def test_what_spreadsheets_export(data, orders):
    assert Csv().detect(data, "file")
    found = Csv().read(data, "orders.csv")
    assert (found, names_of(found)) == (orders, names_of(orders))


def test_quoted_cells_may_hold_separators():
    found = read_csv('job,machine,duration\n"A, first","say ""M1""",3\n"B; second",M2,4\n')
    assert names_of(found) == (("A, first", "B; second"), ('say "M1"', "M2"), None)


def test_steps_reorder_the_rows():
    found = read_csv("job,step,machine,duration\nA,30,x,3\nB,2,y,5\nA,10,y,1\nB,1,x,4\nA,20,z,2\n")
    assert [[duration for _, duration in job] for job in found.jobs()] == [[1, 2, 3], [4, 5]]
    without = read_csv("job,machine,duration\nA,x,3\nB,y,5\nA,y,1\nB,x,4\nA,z,2\n")
    assert [[duration for _, duration in job] for job in without.jobs()] == [[3, 1, 2], [5, 4]]


def test_numbers_from_0_on_are_no_names():
    found = read_csv("job,machine,duration\n1,1,3\n0,0,5\n")
    assert (found.jobs(), names_of(found)) == ([[(0, 5)], [(1, 3)]], (None, None, None))


def test_workbooks_may_hold_numbers_as_floats():
    found = Xlsx().read(workbook([["job", "machine", "duration"], [7.0, "M1", 3.0], [8, "M2", 4]]), "orders.xlsx")
    assert (found.jobs(), found.job_names) == ([[(0, 3)], [(1, 4)]], ("7", "8"))


# instances: wrong inputs


HEAD = "job,step,machine,duration,release,due\n"
WRONG = [
    ("job,machine\nA,M1\n", "1: column duration: it is missing, expected job, machine, duration"),
    (
        "job,machine,duraton\nA,M1,3\n",
        "1: column duraton: unknown column 'duraton'; did you mean duration or operation?",
    ),
    ("job,machine,duration,due,due\nA,M1,3,,\n", "1: column due: it is there twice, expected once"),
    ("job,machine,duration\n", "1: no rows below the header, expected one row an operation"),
    ("job,machine,duration\nA,M1,3,4\n", "2: 4 cells, expected 3 as in the header"),
    (HEAD + "A,1,M1,-5,,\n", f"2: column duration: -5, expected 0 to {MAX_TOTAL_DURATION}"),
    (HEAD + "A,1,M1,3,,\n\nA,2,M1,long,,\n", "4: column duration: 'long', expected a whole number"),
    (HEAD + "A,1,M1,2.5,,\n", "2: column duration: '2.5', expected a whole number"),
    (HEAD + "A,1,M1,,,\n", "2: column duration: '', expected a whole number"),
    (HEAD + ",1,M1,3,,\n", "2: column job: blank, expected a job"),
    (HEAD + "A,1,,3,,\n", "2: column machine: blank, expected a machine"),
    (
        HEAD + "A,1,M1,3,20,10\n",
        "2: column due: 10, expected a due date of 20 or more, the release of the job",
    ),
    (
        HEAD + "A,1,M1,3,,10\nA,2,M1,3,20,\n",
        "3: column release: due 10 before release 20, expected a due date of 20 or more, the release of the job",
    ),
    (HEAD + "A,1,M1,3,,10\nA,2,M1,3,,11\n", "3: column due: 11, expected 10 as above in job A"),
    (HEAD + "A,1,M1,3,5,\nA,2,M1,3,6,\n", "3: column release: 6, expected 5 as above in job A"),
    (
        HEAD + "A,1,M1,3,,\nB,1,M1,3,,\nA,1,M2,3,,\n",
        "4: column step: 1 again in job A, expected another than in line 2",
    ),
    (HEAD + "A,1,M1,3,,\nA,,M2,3,,\n", "3: column step: blank, expected a whole number as every operation has one"),
]


@pytest.mark.parametrize(("text", "message"), WRONG)
def test_errors_name_file_line_and_column(text, message):
    with pytest.raises(InstanceFormatError) as caught:
        read_csv(text)
    assert str(caught.value) == f"dir/orders.csv:{message}"


@pytest.mark.parametrize(("text", "message"), WRONG)
def test_errors_in_workbooks_are_the_same(text, message):
    with pytest.raises(InstanceFormatError) as caught:
        Xlsx().read(workbook([[cell or None for cell in line.split(",")] for line in text.splitlines()]), "orders.xlsx")
    assert str(caught.value) == f"orders.xlsx:{message}"


def test_damaged_tables():
    with pytest.raises(InstanceFormatError, match=r"^dir/orders.csv:2: damaged CSV \("):
        read_csv('job,machine,duration\n"A,M1,3\n')
    with pytest.raises(InstanceFormatError, match=r"^orders.xlsx:1: damaged workbook \("):
        Xlsx().read(workbook([["job", "machine", "duration"]])[:-40], "orders.xlsx")


# plans


@pytest.mark.parametrize("ending", ["csv", "xlsx", "json"])
@pytest.mark.parametrize("with_clock", [False, True])
@settings(deadline=None)
@given(data=st.data())
def test_plans_survive_a_round_trip(tmp_path_factory, ending, with_clock, data):
    instance = data.draw(dated_instances(max_jobs=4, max_operations=4))
    if with_clock:
        instance = instance.with_details(clock=data.draw(CLOCKS))
    if data.draw(st.booleans()):
        instance = instance.with_details(
            job_names=data.draw(names(instance.n_jobs)),
            operation_names=data.draw(names(instance.n_operations)),
        )
    schedule = Schedule.from_linear_order(instance, data.draw(linear_orders(instance)))
    path = tmp_path_factory.mktemp("plans") / f"plan.{ending}"
    save_plan(schedule, path, data.draw(st.sampled_from(["machine", "job"])))
    found = read_plan(instance, path)
    assert (found.start.tolist(), found.value) == (schedule.start.tolist(), schedule.value)
    if ending == "json" or instance.duration.all():
        assert found == schedule


@pytest.fixture
def schedule(orders):
    return Schedule.from_linear_order(orders, [0, 2, 1])


def test_rows_of_a_plan(schedule):
    header, rows = plan_rows(schedule)
    assert header == ["job", "step", "operation", "machine", "start", "end", "due", "late"]
    assert rows == [
        ["A-17", 1, "saw", "M1", 0, 30, 480, 0],
        ["B-02", 1, "", "M2", 15, 35, "", 0],
        ["A-17", 2, "drill", "M2", 60, 105, 480, 0],
    ]
    assert [row[:2] for row in plan_rows(schedule, "job")[1]] == [["A-17", 1], ["A-17", 2], ["B-02", 1]]
    with pytest.raises(UnknownNameError, match="unknown order of rows 'jobs'; did you mean job"):
        plan_rows(schedule, "jobs")


def test_rows_of_a_plan_on_a_clock_and_late(orders):
    orders = orders.with_dates(due=[50, None]).with_details(clock=Clock.of("2026-11-23T06:00"))
    _, rows = plan_rows(Schedule.from_linear_order(orders, [0, 2, 1]), "job")
    assert rows[1][4:] == ["2026-11-23T06:30", "2026-11-23T07:15", "2026-11-23T06:50", 25]


def test_workbooks_hold_dates_that_can_be_reckoned_with_and_read(orders, tmp_path):
    for start, expected in (
        ("2026-11-23T06:00", datetime(2026, 11, 23, 6, 15)),
        ("2026-11-23T06:00Z", "2026-11-23T06:15+00:00"),  # spreadsheets know no time zones, ...
        ("1066-10-14T09:00", "1066-10-14T09:15"),  # ... and no such years
    ):
        timed = orders.with_details(clock=Clock.of(start))
        save_plan(Schedule.from_linear_order(timed, [0, 2, 1]), tmp_path / "plan.xlsx")
        sheet = openpyxl.load_workbook(tmp_path / "plan.xlsx").active
        assert (sheet["A3"].value, sheet["E3"].value) == ("B-02", expected)
        assert sheet.column_dimensions["E"].width > len(str(expected))


def test_plans_may_have_other_columns_in_any_order(orders, schedule, tmp_path):
    path = tmp_path / "plan.csv"
    path.write_bytes('\ufeffnote;START;job;step\n;60;A-17;2\nat once;0;"A-17";1\n;15;B-02;1\n'.encode())
    assert read_plan(orders, path) == schedule


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ("job,start\nA-17,0\n", ":1: column step: it is missing, expected job, step, start"),
        ("job,step,start\nA-18,1,0\n", ":2: column job: unknown job 'A-18'; did you mean A-17?"),
        ("job,step,start\nA-17,3,0\n", ":2: column step: 3, expected 1 to 2, the steps of job A-17"),
        ("job,step,start\nA-17,one,0\n", ":2: column step: 'one', expected a whole number"),
        ("job,step,start\nA-17,1,soon\n", ":2: column start: 'soon' is no time, expected a whole number"),
        ("job,step,start\nA-17,1,\n", ":2: column start: blank, expected a start"),
        (
            "job,step,start\nA-17,1,0\nB-02,1,15\nA-17,1,0\n",
            ":4: column step: step 1 (saw) of job A-17 again, expected every operation once",
        ),
        (
            "job,step,start\nA-17,1,0\nB-02,1,15\n",
            ": step 2 (drill) of job A-17 is missing, expected every operation once",
        ),
    ],
)
@pytest.mark.parametrize("ending", ["csv", "xlsx"])
def test_errors_in_plans_name_file_line_and_column(orders, tmp_path, rows, message, ending):
    path = tmp_path / f"plan.{ending}"
    path.write_bytes(rows.encode() if ending == "csv" else workbook([line.split(",") for line in rows.splitlines()]))
    with pytest.raises(ScheduleError) as caught:
        read_plan(orders, path)
    assert str(caught.value) == f"{path}{message}"


def test_plans_that_break_a_constraint_are_refused(orders, tmp_path):
    path = tmp_path / "plan.csv"
    path.write_text("job,step,start\nA-17,1,0\nA-17,2,60\nB-02,1,50\n")
    with pytest.raises(ScheduleError, match=r"step 2 \(drill\) of job A-17 starts at 60, before .* ends at 70"):
        read_plan(orders, path)
