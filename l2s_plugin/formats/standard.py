"""Standard text, as in JSPLIB and the OR-Library: rows of (machine, duration) pairs, machines from 0.

```
# comments, and lines of words before the size
2 3
0 5  1 2  2 7
2 4  0 1  1 9
```

The first row of numbers gives jobs and machines; each job then has as many pairs as there are machines. In
a row that ends with `-1 -1` a job may have any number of pairs (the form of Da Col & Teppan). Machines may
repeat.
"""

from __future__ import annotations

from l2s_plugin.formats.parsing import Line, build, check_size, decode, detected_lines, fail, integers, lines
from l2s_plugin.formats.taillard import has_sections
from l2s_plugin.instance import Instance


class Standard:
    """Rows of machine-duration pairs, machines numbered from 0."""

    name = "standard"
    suffixes = (".txt", ".jsp", ".jss")
    expects = 'a row with two numbers "jobs machines" before rows of machine-duration pairs'

    def detect(self, data: bytes, source: str) -> bool:
        """Text whose first row of numbers has two of them, and without Taillard's section words."""
        rows = detected_lines(data)
        first = next((line for line in rows if line.is_numeric), None)
        return first is not None and len(first.text.split()) == 2 and not has_sections(rows)

    def read(self, data: bytes, source: str) -> Instance:
        rows = lines(decode(data, source))
        begin = next((k for k, line in enumerate(rows) if line.is_numeric), len(rows))
        if begin == len(rows):
            raise fail(source, rows[-1].number if rows else 1, 'no numbers, expected a row "jobs machines"')
        size = integers(rows[begin], source)
        if len(size) != 2:
            raise fail(source, rows[begin].number, f'{len(size)} numbers, expected two: "jobs machines"')
        n_jobs, n_machines = size
        check_size(source, rows[begin].number, n_jobs, n_machines)
        body = rows[begin + 1 :]
        jobs = [_job(line, job, n_machines, source) for job, line in enumerate(body[:n_jobs])]
        if len(jobs) < n_jobs:
            raise fail(source, rows[-1].number, f"the file ends after {len(jobs)} jobs, expected {n_jobs}")
        if len(body) > n_jobs:
            message = f"text after the last of {n_jobs} jobs, expected the end of the file"
            raise fail(source, body[n_jobs].number, message)
        return build(source, jobs, n_machines, lambda part, job, index: body[job].number)

    def write(self, instance: Instance) -> bytes:
        """Comments with name and bounds, then the size and the jobs; `-1 -1` only where a row needs it."""
        name = "".join(sign if sign.isprintable() else " " for sign in instance.name)
        rows = [f"# {name}"]
        if instance.lower_bound is not None or instance.upper_bound is not None:
            rows.append(f"# lower bound {instance.lower_bound}, upper bound {instance.upper_bound}")
        rows.append(f"{instance.n_jobs} {instance.n_machines}")
        for job in instance.jobs():
            pairs = job if len(job) == instance.n_machines else [*job, (-1, -1)]
            rows.append(" ".join(f"{machine} {duration}" for machine, duration in pairs))
        return ("\n".join(rows) + "\n").encode()


def _job(line: Line, job: int, n_machines: int, source: str) -> list[tuple[int, int]]:
    """The pairs of one row, counted but not yet judged."""
    numbers = integers(line, source)
    if numbers[-2:] == [-1, -1]:
        numbers = numbers[:-2]
        if not numbers or len(numbers) % 2:
            raise fail(source, line.number, f"job {job} has {len(numbers)} numbers before -1 -1, expected pairs")
    elif len(numbers) != 2 * n_machines:
        expected = f"{2 * n_machines} ({n_machines} machine-duration pairs), or -1 -1 at the end"
        raise fail(source, line.number, f"job {job} has {len(numbers)} numbers, expected {expected}")
    return list(zip(numbers[::2], numbers[1::2], strict=True))
