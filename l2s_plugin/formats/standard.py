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

from l2s_plugin.formats.parsing import Rows, build, detected_lines, refuse_dates
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
        rows = Rows(data, source)
        rows.taken = begin = next((k for k, line in enumerate(rows.lines) if line.is_numeric), len(rows.lines))
        size = rows.integers('no numbers, expected a row "jobs machines"')
        if len(size) != 2:
            raise rows.fail(f'{len(size)} numbers, expected two: "jobs machines"')
        n_jobs, n_machines = rows.size(*size)
        jobs = [_job(rows, job, n_jobs, n_machines) for job in range(n_jobs)]
        if rows.taken < len(rows.lines):
            rows.taken += 1
            raise rows.fail(f"text after the last of {n_jobs} jobs, expected the end of the file")
        return build(source, jobs, n_machines, lambda part, job, index: rows.lines[begin + 1 + job].number)

    def write(self, instance: Instance) -> bytes:
        """Comments with name and bounds, then the size and the jobs; `-1 -1` only where a row needs it."""
        refuse_dates(instance, self.name)
        name = "".join(sign if sign.isprintable() else " " for sign in instance.name)
        rows = [f"# {name}"]
        if instance.lower_bound is not None or instance.upper_bound is not None:
            rows.append(f"# lower bound {instance.lower_bound}, upper bound {instance.upper_bound}")
        rows.append(f"{instance.n_jobs} {instance.n_machines}")
        for job in instance.jobs():
            pairs = job if len(job) == instance.n_machines else [*job, (-1, -1)]
            rows.append(" ".join(f"{machine} {duration}" for machine, duration in pairs))
        return ("\n".join(rows) + "\n").encode()


def _job(rows: Rows, job: int, n_jobs: int, n_machines: int) -> list[tuple[int, int]]:
    """The pairs of one row, counted but not yet judged."""
    numbers = rows.integers(f"the file ends after {job} jobs, expected {n_jobs}")
    if numbers[-2:] == [-1, -1]:
        numbers = numbers[:-2]
        if not numbers or len(numbers) % 2:
            raise rows.fail(f"job {job} has {len(numbers)} numbers before -1 -1, expected pairs")
    elif len(numbers) != 2 * n_machines:
        expected = f"{2 * n_machines} ({n_machines} machine-duration pairs), or -1 -1 at the end"
        raise rows.fail(f"job {job} has {len(numbers)} numbers, expected {expected}")
    return list(zip(numbers[::2], numbers[1::2], strict=True))
