"""Our own JSON: everything an `Instance` holds, one job per line.

```json
{
  "format": "l2s-instance",
  "version": 1,
  "name": "tiny",
  "source": "by hand",
  "n_machines": 3,
  "lower_bound": 10,
  "upper_bound": null,
  "jobs": [
    [[0, 5], [1, 2], [2, 7]],
    [[2, 4], [2, 1]]
  ]
}
```

An operation is [machine, duration], machines from 0. `format`, `version`, `n_machines` and `jobs` are
required.
"""

from __future__ import annotations

import json

from l2s_plugin.errors import unknown_name
from l2s_plugin.formats.parsing import MAX_SIZE, Document, build, json_keys, operation_problem
from l2s_plugin.instance import Instance

FORMAT = "l2s-instance"
VERSION = 1
KEYS = ("format", "version", "name", "source", "n_machines", "lower_bound", "upper_bound", "jobs")


class L2SJson:
    """Everything an instance holds, as JSON."""

    name = "l2s-json"
    suffixes = (".json",)
    expects = f'JSON with "format": "{FORMAT}"'

    def detect(self, data: bytes, source: str) -> bool:
        document = json_keys(data, "format")
        return document is not None and document["format"] == FORMAT

    def read(self, data: bytes, source: str) -> Instance:
        document = Document(data, source)
        for key in document.values:
            if key not in KEYS:
                raise document.fail(f"{unknown_name('key', key, KEYS)}, expected no other", key)
        if document.get("format", str, required=True) != FORMAT:
            raise document.fail(f'format is {document.values["format"]!r}, expected "{FORMAT}"', "format")
        version = document.get("version", int, required=True)
        if version != VERSION:
            raise document.fail(f"version {version}, expected {VERSION}", "version")
        n_machines = document.get("n_machines", int, required=True)
        if not 0 < n_machines <= MAX_SIZE:
            raise document.fail(f"n_machines is {n_machines}, expected 1 to {MAX_SIZE}", "n_machines")
        lower, upper = (document.get(key, int) for key in ("lower_bound", "upper_bound"))
        document.check_bounds(lower, upper, "lower_bound")
        details = {key: document.get(key, str) for key in ("name", "source")}
        details = {key: text for key, text in details.items() if text is not None}
        jobs = _jobs(document, n_machines)
        return build(jobs, n_machines, source, lower_bound=lower, upper_bound=upper, **details)

    def write(self, instance: Instance) -> bytes:
        head = {
            "format": FORMAT,
            "version": VERSION,
            "name": instance.name,
            "source": instance.source,
            "n_machines": instance.n_machines,
            "lower_bound": instance.lower_bound,
            "upper_bound": instance.upper_bound,
        }
        rows = [f"  {json.dumps(key)}: {json.dumps(value)}," for key, value in head.items()]
        jobs = ",\n".join(f"    {json.dumps(job)}" for job in instance.jobs())
        return ("{\n" + "\n".join(rows) + f'\n  "jobs": [\n{jobs}\n  ]\n}}\n').encode()


def _jobs(document: Document, n_machines: int) -> list[list[tuple[int, int]]]:
    jobs = []
    rows = document.check_list(document.get("jobs", list, required=True), "jobs", "jobs")
    for job, row in enumerate(rows):
        pairs = []
        for index, pair in enumerate(document.check_list(row, f"job {job}", "jobs", job)):
            if not isinstance(pair, list) or list(map(type, pair)) != [int, int]:
                message = f"job {job}, index {index} is {json.dumps(pair)[:40]}, expected [machine, duration]"
                raise document.fail(message, "jobs", job, index)
            problem = operation_problem(pair[0], pair[1], n_machines)
            if problem:
                raise document.fail(f"job {job}, index {index}: {problem}", "jobs", job, index)
            pairs.append((pair[0], pair[1]))
        jobs.append(pairs)
    return jobs
