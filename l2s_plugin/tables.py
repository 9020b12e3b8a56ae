"""Schedules as tables for people and spreadsheets: one row an operation, with times on the clock where there is one."""

from __future__ import annotations

from datetime import datetime
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from l2s_plugin.errors import L2SError, ScheduleError, UnknownNameError, unknown_name
from l2s_plugin.files import read_bytes, write_bytes
from l2s_plugin.formats.csv import csv_bytes, iter_cells
from l2s_plugin.formats.table import Row, rows_of
from l2s_plugin.formats.xlsx import sheet_cells, xlsx_bytes
from l2s_plugin.instance import NO_DUE_DATE, Instance, check_instance
from l2s_plugin.names import find_job, find_time
from l2s_plugin.schedule import JSON_FORMAT, Schedule, read_schedule_json

SORTS = ("machine", "job")
ENDINGS = (".json", ".csv", ".xlsx")
_NEEDED = ("job", "step", "start")


def plan_rows(schedule: Schedule, sort_by: str = "machine", as_text: bool = True) -> tuple[list[str], list[list[Any]]]:
    """Header and rows of a schedule, machine by machine or job by job, in the order of time.

    The columns are job, step (from 1), operation (where operations have names), machine, start and end, and, where
    there are due dates, due and late: by how much the job ends behind its due date, or 0. Times on the clock are text,
    or else `datetime`s where spreadsheets can hold them.
    """
    if sort_by not in SORTS:
        raise unknown_name("order of rows", str(sort_by), SORTS)
    instance, end = schedule.instance, schedule.end
    named, due, job_end = instance.operation_names is not None, instance.due, schedule.job_end
    header = ["job", "step", *(["operation"] if named else []), "machine", "start", "end"]
    header += [] if due is None else ["due", "late"]
    operations = range(instance.n_operations) if sort_by == "job" else schedule.order.tolist()
    rows = []
    for x in operations:
        job = int(instance.job[x])
        row: list[Any] = [instance.job_name(job), x - int(instance.job_offset[job]) + 1]
        row += [instance.operation_name(x)] if named else []
        row.append(instance.machine_name(int(instance.machine[x])))
        row += [_time(instance, int(time), as_text) for time in (schedule.start[x], end[x])]
        if due is not None and due[job] == NO_DUE_DATE:
            row += ["", 0]
        elif due is not None:
            row += [_time(instance, int(due[job]), as_text), max(int(job_end[job]) - int(due[job]), 0)]
        rows.append(row)
    return header, rows


def save_plan(schedule: Schedule, path: str | PathLike[str], sort_by: str = "machine") -> None:
    """Write a schedule as .csv, .xlsx or .json, as the file's ending says; `-` prints JSON."""
    kind = _kind(path)
    if kind == ".json":
        schedule.save(str(path))
        return
    header, rows = plan_rows(schedule, sort_by, as_text=kind == ".csv")
    write_bytes(path, csv_bytes([header, *rows]) if kind == ".csv" else xlsx_bytes([header, *rows]))


def read_plan(instance: Instance, path: str | PathLike[str]) -> Schedule:
    """Read a schedule of `instance` from .json, .csv or .xlsx; raises `ScheduleError` unless it is a correct one.

    Of a table, the columns job, step and start count: start is a number, or a time on the instance's clock. Machine
    orders follow from the start times.
    """
    check_instance(instance)
    return Schedule.from_dict(instance, read_plan_dict(instance, path), str(path))


def read_plan_dict(instance: Instance, path: str | PathLike[str]) -> dict[str, Any]:
    """The same in the form of `Schedule.to_dict`, without judging start times: for `verification.verify_dict`."""
    if _kind(path) == ".json":
        return read_schedule_json(str(path))
    start = np.array(_starts(instance, str(path)), np.int64)
    # equal starts: the shorter first, then in job order
    order = np.lexsort((np.arange(instance.n_operations), instance.duration, start, instance.machine))
    return {
        "format": JSON_FORMAT,
        "version": 1,
        "instance": instance.name,
        "n_jobs": instance.n_jobs,
        "n_machines": instance.n_machines,
        "makespan": int((start + instance.duration).max()),
        "machine_orders": [row.tolist() for row in np.split(order, instance.machine_offset[1:-1])],
        "start": start.tolist(),
    }


def _starts(instance: Instance, path: str) -> list[int]:
    """The start of every operation in a table."""
    data = read_bytes(path, ScheduleError)
    if _kind(path) == ".csv":
        table = iter_cells(_text(data, path), path, _fail)
    else:
        table = iter(sheet_cells(data, path, _fail))
    jobs = {instance.job_name(job): job for job in range(instance.n_jobs)}
    start: list[int | None] = [None] * instance.n_operations
    for row in rows_of(table, path, _NEEDED, None, _fail):
        operation = _operation(instance, row, jobs)
        if start[operation] is not None:
            raise row.fail("step", f"{instance.describe(operation)} again, expected every operation once")
        start[operation] = _start(instance, row)
    for operation, time in enumerate(start):
        if time is None:
            raise ScheduleError(f"{path}: {instance.describe(operation)} is missing, expected every operation once")
    return [time for time in start if time is not None]


def _operation(instance: Instance, row: Row, jobs: dict[str, int]) -> int:
    word = row.text("job")
    if word not in jobs:
        try:
            jobs[word] = find_job(instance, word)
        except UnknownNameError as error:
            raise row.fail("job", f"{error}") from None
    job = jobs[word]
    count = int(instance.job_offset[job + 1] - instance.job_offset[job])
    step = row.number("step")
    if not 1 <= step <= count:
        raise row.fail("step", f"{step}, expected 1 to {count}, the steps of job {word[:40]}")
    return int(instance.job_offset[job]) + step - 1


def _start(instance: Instance, row: Row) -> int:
    try:
        time = find_time(instance, row.text("start"))
    except L2SError as error:
        if str(error).startswith(f"{row.source}:"):
            raise
        raise row.fail("start", f"{error}") from None
    if not -(2**31) < time < 2**31:
        raise row.fail("start", f"{time}, expected at most 32 bits")
    return time


def _time(instance: Instance, time: int, as_text: bool) -> int | str | datetime:
    clock = instance.clock
    if clock is None:
        return time
    strange = clock.start.tzinfo is not None or clock.start.microsecond or clock.start.year <= 1900  # to spreadsheets
    return clock.text(time) if as_text or strange else clock.at(time)


def _kind(path: str | PathLike[str]) -> str:
    ending = Path(path).suffix.lower()
    return ending if ending in ENDINGS else ".json"


def _fail(source: str, line: int, message: str) -> ScheduleError:
    return ScheduleError(f"{source}:{line}: {message}")


def _text(data: bytes, path: str) -> str:
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        raise _fail(path, line, "not UTF-8, expected a table as text in UTF-8") from error
