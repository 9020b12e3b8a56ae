"""Our own JSON: everything an `Instance` holds, one job per line.

```json
{
  "format": "l2s-instance", "version": 1, "n_machines": 3,
  "name": "tiny", "source": "by hand", "lower_bound": 10, "upper_bound": null,
  "jobs": [
    [[0, 5], [1, 2], [2, 7]],
    [[2, 4], [2, 1]]
  ]
}
```

An operation is [machine, duration], machines from 0. The first line and `jobs` are required. Real shops may add

```json
  "job_names": ["A-17", "B-02"], "machine_names": ["saw", "lathe", "mill"],
  "operation_names": [["cut", "turn", "mill"], ["mill", "polish"]],
  "earliest": [[0, 0, 0], [60, 0]], "machine_available": [0, 120, 0], "due": [480, null], "objective": "lateness",
  "kept": [[0, 3]], "clock": {"start": "2026-11-23T06:00", "unit": "minutes"},
```

with lists per job of what belongs to operations, null where a job is not due, and operation ids in `kept`: all of a
machine, in the order that is to be kept. What `machine_available` says is written as `earliest`.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from l2s_plugin.clock import Clock
from l2s_plugin.errors import InstanceFormatError, L2SError, unknown_name
from l2s_plugin.formats.parsing import Document, build, detected_object
from l2s_plugin.instance import NO_DUE_DATE, Instance
from l2s_plugin.objectives import MAKESPAN
from l2s_plugin.records import check

FORMAT, VERSION = "l2s-instance", 1
KEYS = ("format", "version", "name", "source", "n_machines", "lower_bound", "upper_bound", "jobs")
SHOP = (
    "job_names", "machine_names", "operation_names", "earliest", "machine_available", "due", "objective", "kept",
    "clock",
)  # fmt: skip


class L2SJson:
    """Everything an instance holds, as JSON."""

    name = "l2s-json"
    suffixes = (".json",)
    expects = f'JSON with "format": "{FORMAT}"'

    def detect(self, data: bytes, source: str) -> bool:
        return detected_object(data, "format").get("format") == FORMAT

    def read(self, data: bytes, source: str) -> Instance:
        document = Document(data, source)
        for key in document.values:
            if key not in KEYS + SHOP:
                raise document.fail(f"{unknown_name('key', key, KEYS + SHOP)}, expected no other", key)
        if (found := document.get(str, "format")) != FORMAT:
            raise document.fail(f'format is {found!r}, expected "{FORMAT}"', "format")
        if (version := document.get(int, "version")) != VERSION:
            raise document.fail(f"version {version}, expected {VERSION}", "version")
        jobs = document.get(list, "jobs")
        for job in range(len(jobs)):
            for index, pair in enumerate(document.get(list, "jobs", job, what=f"job {job}")):
                if not isinstance(pair, list) or list(map(type, pair)) != [int, int]:
                    message = f"job {job}, index {index} is {json.dumps(pair)[:40]}, expected [machine, duration]"
                    raise document.fail(message, "jobs", job, index)

        def line(part: str, job: int, index: int) -> int:
            return document.line(*{"n_machines": [part], "bounds": ["lower_bound"]}.get(part, ["jobs", job, index]))

        kinds = {"name": str, "source": str, "lower_bound": int, "upper_bound": int}
        details = {key: document.get(kind, key, optional=True) for key, kind in kinds.items()}
        return _with_shop(document, build(source, jobs, document.get(int, "n_machines"), line, **details))

    def write(self, instance: Instance) -> bytes:
        head = {"format": FORMAT, "version": VERSION} | {key: getattr(instance, key) for key in KEYS[2:-1]}
        head |= _shop(instance)
        rows = [f"  {json.dumps(key)}: {json.dumps(value)}," for key, value in head.items()]
        jobs = ",\n".join(f"    {json.dumps(job)}" for job in instance.jobs())
        return ("{\n" + "\n".join(rows) + f'\n  "jobs": [\n{jobs}\n  ]\n}}\n').encode()


def _shop(instance: Instance) -> dict[str, Any]:
    """What only some instances have."""

    def by_job(values: Sequence[Any] | None) -> list[list[Any]] | None:
        pieces = pairwise(instance.job_offset.tolist())
        return None if values is None else [list(values[a:b]) for a, b in pieces]

    due, clock = instance.due, instance.clock
    known = {
        "job_names": instance.job_names,
        "machine_names": instance.machine_names,
        "operation_names": by_job(instance.operation_names),
        "earliest": by_job(None if instance.earliest is None else instance.earliest.tolist()),
        "due": None if due is None else [None if date == NO_DUE_DATE else date for date in due.tolist()],
        "objective": None if instance.objective == MAKESPAN else instance.objective,
        "kept": instance.kept or None,
        "clock": None if clock is None else {"start": clock.start.isoformat(), "unit": clock.unit},
    }
    return {key: value for key, value in known.items() if value is not None}


def _with_shop(document: Document, instance: Instance) -> Instance:
    """The instance with what else the document says about it."""
    given = {key: document.values[key] for key in SHOP if document.values.get(key) is not None}

    def listed(key: str, kind: Any, count: int | None = None) -> Any:
        values = check(given[key], list[kind], key, InstanceFormatError)
        if count is not None and len(values) != count:
            raise document.fail(f"{key} has {len(values)} entries, expected {count}", key)
        return values

    def by_operation(key: str, kind: Any) -> list[Any]:
        rows = listed(key, list[kind], instance.n_jobs)
        for job, (row, length) in enumerate(zip(rows, np.diff(instance.job_offset), strict=True)):
            if len(row) != length:
                raise document.fail(f"{key} of job {job} has {len(row)} entries, expected {length}", key, job)
        return [value for row in rows for value in row]

    for key in given:
        try:
            instance = _with(instance, key, given, listed, by_operation)
        except L2SError as error:
            message = str(error)
            raise error if message.startswith(document.source) else document.fail(message, key) from None
    return instance


def _with(instance: Instance, key: str, given: dict[str, Any], listed: Any, by_operation: Any) -> Instance:
    if key in ("job_names", "machine_names"):
        return instance.with_details(**{key: listed(key, str)})
    if key == "operation_names":
        return instance.with_details(operation_names=by_operation(key, str))
    if key == "earliest":
        return instance.with_dates(earliest=by_operation(key, int))
    if key == "machine_available":
        dates = None if instance.earliest is None else instance.earliest.tolist()
        return instance.with_dates(earliest=dates, available=listed(key, int | None, instance.n_machines))
    if key == "due":
        return instance.with_details(due=listed(key, int | None, instance.n_jobs))
    if key == "objective":
        return instance.with_objective(check(given[key], str, key))
    if key == "kept":
        return instance.with_details(kept=listed(key, list[int]))
    clock = check(given[key], {"start": str, "unit": str}, key)
    return instance.with_details(clock=Clock.of(clock["start"], clock["unit"]))
