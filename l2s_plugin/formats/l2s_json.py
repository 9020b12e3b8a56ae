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

An operation is [machine, duration], machines from 0. The first line and `jobs` are required.
"""

from __future__ import annotations

import json

from l2s_plugin.errors import unknown_name
from l2s_plugin.formats.parsing import Document, build, detected_object
from l2s_plugin.instance import Instance

FORMAT, VERSION = "l2s-instance", 1
KEYS = ("format", "version", "name", "source", "n_machines", "lower_bound", "upper_bound", "jobs")


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
            if key not in KEYS:
                raise document.fail(f"{unknown_name('key', key, KEYS)}, expected no other", key)
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
        return build(source, jobs, document.get(int, "n_machines"), line, **details)

    def write(self, instance: Instance) -> bytes:
        head = {"format": FORMAT, "version": VERSION} | {key: getattr(instance, key) for key in KEYS[2:-1]}
        rows = [f"  {json.dumps(key)}: {json.dumps(value)}," for key, value in head.items()]
        jobs = ",\n".join(f"    {json.dumps(job)}" for job in instance.jobs())
        return ("{\n" + "\n".join(rows) + f'\n  "jobs": [\n{jobs}\n  ]\n}}\n').encode()
