"""Tables with one row an operation, as spreadsheets hold them: the common part of the formats csv and xlsx.

```
job,step,operation,machine,duration,release,due,earliest
A-17,1,saw,M1,30,,480,
A-17,2,drill,M2,45,,,60
B-02,1,,M2,20,15,,
```

Columns are found by their header, in any order; `job`, `machine` and `duration` are required. The operations of a job
follow `step` where that column is there, else the order of the rows. `release` and `due` belong to the job and may
stand on any of its rows, `earliest` belongs to the operation.

Jobs and machines are numbered by first appearance and keep their names, unless the cells are exactly the numbers from 0
on: these are taken as they are, without names. So what was written is read as an equal instance when its jobs and
machines have no names, or when machines are numbered by first appearance.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import PurePath
from typing import Any

from l2s_plugin.errors import InstanceError, InstanceFormatError, L2SError, unknown_name
from l2s_plugin.formats.parsing import fail, stem
from l2s_plugin.instance import MAX_TOTAL_DURATION, NO_DUE_DATE, Instance
from l2s_plugin.objectives import MAKESPAN

REQUIRED = ("job", "machine", "duration")
COLUMNS = ("job", "step", "operation", "machine", "duration", "release", "due", "earliest")

Cells = tuple[int, list[str]]  # a row: its line in the file, and its cells as text
Failure = Callable[[str, int, str], L2SError]


@dataclass
class Row:
    """One row of a table: its cells by column, and where it stands; errors name file, line and column."""

    source: str
    line: int
    cells: dict[str, str]
    failure: Failure = fail

    def fail(self, column: str, message: str) -> L2SError:
        return self.failure(self.source, self.line, f"column {column}: {message}")

    def text(self, column: str) -> str:
        """The text of a cell that must not be blank."""
        if not self.cells[column]:
            raise self.fail(column, f"blank, expected a {column}")
        return self.cells[column]

    def number(self, column: str, least: int = 0) -> int:
        """The whole number in a cell."""
        word = self.cells[column]
        if not (word.isascii() and word.removeprefix("-").isdecimal() and len(word) <= 11):
            raise self.fail(column, f"{word[:40]!r}, expected a whole number")
        if not least <= int(word) <= MAX_TOTAL_DURATION:
            raise self.fail(column, f"{int(word)}, expected {least} to {MAX_TOTAL_DURATION}")
        return int(word)

    def date(self, column: str) -> int | None:
        """The date in a cell, None where it is blank or there is no such column."""
        return self.number(column) if self.cells.get(column) else None


def rows_of(
    table: Iterable[Cells],
    source: str,
    required: tuple[str, ...] = REQUIRED,
    known: tuple[str, ...] | None = COLUMNS,
    failure: Failure = fail,
) -> list[Row]:
    """The rows below the header, blank ones left out; `known` columns are the only ones, None lets others pass."""
    filled = [(line, cells) for line, cells in table if any(cells)]
    if not filled:
        raise failure(source, 1, f"empty table, expected the columns {', '.join(required)}")
    line, header = filled[0][0], [cell.lower() for cell in filled[0][1]]
    while header and not header[-1]:
        header.pop()
    for column in header:
        if known is not None and column not in known:
            raise failure(source, line, f"column {column[:40]}: {unknown_name('column', column[:40], known)}")
        if column and header.count(column) > 1:
            raise failure(source, line, f"column {column[:40]}: it is there twice, expected once")
    for column in required:
        if column not in header:
            raise failure(source, line, f"column {column}: it is missing, expected {', '.join(required)}")
    rows = []
    for line, cells in filled[1:]:
        if any(cells[len(header) :]):
            raise failure(source, line, f"{len(cells)} cells, expected {len(header)} as in the header")
        padded = [*cells, *[""] * (len(header) - len(cells))]
        rows.append(Row(source, line, dict(zip(header, padded, strict=False)), failure))
    if not rows:
        raise failure(source, line, "no rows below the header, expected one row an operation")
    return rows


@dataclass
class _Job:
    """What the rows of a job say."""

    rows: list[Row] = field(default_factory=list)
    dates: dict[str, int | None] = field(default_factory=dict)

    def add(self, row: Row) -> None:
        self.rows.append(row)
        for column in ("release", "due"):
            date, before = row.date(column), self.dates.get(column)
            if date is None:
                continue
            if before is not None and date != before:
                raise row.fail(column, f"{date}, expected {before} as above in job {row.cells['job'][:40]}")
            self.dates[column] = date
            release, due = self.dates.get("release"), self.dates.get("due")
            if release is not None and due is not None and due < release:
                found = f"due {due} before release {release}" if column == "release" else f"{due}"
                raise row.fail(column, f"{found}, expected a due date of {release} or more, the release of the job")

    def in_order(self) -> list[Row]:
        if "step" not in self.rows[0].cells:
            return self.rows
        steps: dict[int, Row] = {}
        for row in self.rows:
            if not row.cells["step"]:
                raise row.fail("step", "blank, expected a whole number as every operation has one")
            if (step := row.number("step")) in steps:
                found = f"{step} again in job {row.cells['job'][:40]}"
                raise row.fail("step", f"{found}, expected another than in line {steps[step].line}")
            steps[step] = row
        return [steps[step] for step in sorted(steps)]


def read_table(table: Iterable[Cells], source: str) -> Instance:
    """The instance in a table."""
    rows = rows_of(table, source)
    machines, machine_names = _numbered(row.text("machine") for row in rows)
    names, job_names = _numbered(row.text("job") for row in rows)
    jobs = [_Job() for _ in names]
    for row in rows:
        jobs[names[row.cells["job"]]].add(row)
    ordered = [job.in_order() for job in jobs]
    operations = [row for job in ordered for row in job]
    has_names = "operation" in operations[0].cells
    try:
        return Instance.from_jobs(
            [[(machines[row.cells["machine"]], row.number("duration")) for row in job] for job in ordered],
            len(machines),
            name=stem(source),
            source=PurePath(source).name,
            job_names=job_names,
            machine_names=machine_names,
            operation_names=[row.cells["operation"] for row in operations] if has_names else None,
        ).with_dates(
            release=[job.dates.get("release") for job in jobs],
            due=[job.dates.get("due") for job in jobs],
            earliest=[row.date("earliest") for row in operations],
        )
    except InstanceError as error:
        raise fail(source, 1, f"{error}") from error


def _numbered(words: Iterable[str]) -> tuple[dict[str, int], list[str] | None]:
    """A number for each word, and their names; no names where the words are the numbers from 0 on themselves."""
    found = list(dict.fromkeys(words))
    if {*found} == {str(number) for number in range(len(found))}:
        return {word: int(word) for word in found}, None
    return {word: number for number, word in enumerate(found)}, found


def table_of(instance: Instance, format_: str) -> list[list[Any]]:
    """Header and rows of an instance, with the columns it needs; what a table has no place for is refused."""
    used = len(set(instance.machine.tolist()))
    for what, there in (
        (f"{instance.n_machines - used} machines without work", used < instance.n_machines),
        ("machine orders that are kept", bool(instance.kept)),
        (f"the objective {instance.objective}", instance.objective != MAKESPAN),
        (f"due dates outside 0 to {MAX_TOTAL_DURATION}", not _due_fit(instance)),
        ("names that tables read differently", not _names_fit(instance)),
    ):
        if there:
            raise InstanceFormatError(f"{instance.name}: {what}, which the {format_} format cannot hold; use l2s-json")
    columns: dict[str, list[Any]] = {"job": [instance.job_name(job) for job in instance.job]}
    columns["step"] = [k + 1 for row in instance.jobs() for k in range(len(row))]
    if instance.operation_names is not None:
        columns["operation"] = list(instance.operation_names)
    columns["machine"] = [instance.machine_name(machine) for machine in instance.machine]
    columns["duration"] = instance.duration.tolist()
    if instance.due is not None:
        columns["due"] = ["" if instance.due[job] == NO_DUE_DATE else int(instance.due[job]) for job in instance.job]
    if instance.earliest is not None:
        columns["earliest"] = [int(date) or "" for date in instance.earliest]
    return [list(columns), *map(list, zip(*columns.values(), strict=True))]


def _due_fit(instance: Instance) -> bool:
    """Whether every due date is one that tables may hold."""
    given = [] if instance.due is None else [date for date in instance.due.tolist() if date != NO_DUE_DATE]
    return all(0 <= date <= MAX_TOTAL_DURATION for date in given)


def _names_fit(instance: Instance) -> bool:
    """Whether every name comes back as it is: one line, no blanks around it, and no formula."""
    names = [
        *(instance.job_names or ()),
        *(instance.machine_names or ()),
        *(instance.operation_names or ()),
    ]
    return all(name == name.strip() and (not name or name.isprintable()) and not name.startswith("=") for name in names)
