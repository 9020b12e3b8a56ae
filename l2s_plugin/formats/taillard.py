"""Taillard's own layout: a matrix of durations, then a matrix of machines, machines from 1.

```
Nb of jobs, Nb of Machines, Time seed, Machine seed, Upper bound, Lower bound
          2           3            0            0           14           10
Times
 5 2 7
 4 1 9
Machines
 1 2 3
 3 1 2
```

The words `Times` and `Machines` are what the layout is recognised by: without them, files that list the
machines first and from 0 look the same. The row of numbers holds the size, or the size and both seeds, or
all six; 0 stands for unknown. A file may hold several instances one after the other, as Taillard publishes
them.
"""

from __future__ import annotations

from l2s_plugin.errors import InstanceFormatError
from l2s_plugin.formats.parsing import Line, build, check_size, decode, detected_lines, fail, integers, lines, stem
from l2s_plugin.instance import Instance

HEADER = "Nb of jobs, Nb of Machines, Time seed, Machine seed, Upper bound, Lower bound"


def has_sections(rows: list[Line]) -> bool:
    """Whether some row is the word Times or Machines and nothing else."""
    return any(line.text.lower() in ("times", "machines") for line in rows)


class Taillard:
    """Matrix of durations, matrix of machines numbered from 1."""

    name = "taillard"
    suffixes = (".tai",)
    expects = 'the sections "Times" and "Machines"'

    def detect(self, data: bytes, source: str) -> bool:
        return has_sections(detected_lines(data))

    def read(self, data: bytes, source: str) -> list[Instance]:
        instances: list[Instance] = []
        cursor = _Cursor(lines(decode(data, source)), source)
        while not instances or cursor.position < len(cursor.rows):
            instances.append(_read_one(cursor, source))
        if len(instances) > 1:
            return [each.with_details(name=f"{stem(source)}#{k}") for k, each in enumerate(instances)]
        return instances

    def write(self, instance: Instance) -> bytes:
        jobs = instance.jobs()
        for number, job in enumerate(jobs):
            if len(job) != instance.n_machines:
                raise InstanceFormatError(
                    f"{instance.name}: job {number} has {len(job)} operations, the taillard format "
                    f"expects {instance.n_machines} in every job; use standard or l2s-json"
                )
        bounds = f"{instance.upper_bound or 0} {instance.lower_bound or 0}"
        rows = [HEADER, f"{instance.n_jobs} {instance.n_machines} 0 0 {bounds}", "Times"]
        rows += [" ".join(str(duration) for _, duration in job) for job in jobs]
        rows += ["Machines", *(" ".join(str(machine + 1) for machine, _ in job) for job in jobs)]
        return ("\n".join(rows) + "\n").encode()


class _Cursor:
    """Walks over the rows of a file and knows what to say when one is missing."""

    def __init__(self, rows: list[Line], source: str) -> None:
        self.rows, self.source, self.position = rows, source, 0

    def take(self, expected: str) -> Line:
        if self.position == len(self.rows):
            raise fail(self.source, self.rows[-1].number if self.rows else 1, f"the file ends, expected {expected}")
        self.position += 1
        return self.rows[self.position - 1]

    def matrix(self, word: str, n_jobs: int, n_machines: int) -> list[list[int]]:
        """The section that begins with `word`: the numbers of each job."""
        line = self.take(f'"{word}"')
        if line.text.lower() != word.lower():
            raise fail(self.source, line.number, f'{line.text[:40]!r}, expected "{word}"')
        found = []
        for job in range(n_jobs):
            line = self.take(f"{word.lower()} of job {job}")
            found.append(integers(line, self.source))
            if len(found[-1]) != n_machines:
                message = f"job {job} has {len(found[-1])} {word.lower()}, expected {n_machines}"
                raise fail(self.source, line.number, message)
        return found


def _read_one(cursor: _Cursor, source: str) -> Instance:
    line = cursor.take('a row "jobs machines"')
    if not line.is_numeric and not has_sections([line]):
        line = cursor.take('a row "jobs machines"')
    header = integers(line, source)
    if len(header) not in (2, 4, 6):
        expected = "jobs, machines, and optionally two seeds, upper and lower bound"
        raise fail(source, line.number, f"{len(header)} numbers, expected {expected}")
    n_jobs, n_machines = header[:2]
    check_size(source, line.number, n_jobs, n_machines)
    if min(header) < 0:
        raise fail(source, line.number, f"{min(header)}, expected 0 or more")
    upper, lower = (bound or None for bound in (header[4:6] or (0, 0)))
    begin = cursor.position
    times = cursor.matrix("Times", n_jobs, n_machines)
    machines = cursor.matrix("Machines", n_jobs, n_machines)
    jobs = [list(zip(*rows, strict=True)) for rows in zip(machines, times, strict=True)]

    def row_of(part: str, job: int, index: int) -> int:
        row = {"bounds": begin - 1, "duration": begin + 1 + job, "machine": begin + 2 + n_jobs + job}[part]
        return cursor.rows[row].number

    return build(source, jobs, n_machines, row_of, first=1, lower_bound=lower, upper_bound=upper)
