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
from l2s_plugin.formats.parsing import Line, Rows, build, detected_lines, refuse_dates, stem
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
        rows = Rows(data, source)
        while not instances or rows.taken < len(rows.lines):
            instances.append(_read_one(rows))
        if len(instances) > 1:
            return [each.with_details(name=f"{stem(source)}#{k}") for k, each in enumerate(instances)]
        return instances

    def write(self, instance: Instance) -> bytes:
        refuse_dates(instance, self.name)
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


def _read_one(rows: Rows) -> Instance:
    ends = 'the file ends, expected a row "jobs machines"'
    if not rows.take(ends).is_numeric and not has_sections(rows.lines[rows.taken - 1 :][:1]):
        rows.take(ends)
    rows.taken -= 1
    header = rows.integers(ends)
    if len(header) not in (2, 4, 6):
        expected = "jobs, machines, and optionally two seeds, upper and lower bound"
        raise rows.fail(f"{len(header)} numbers, expected {expected}")
    n_jobs, n_machines = rows.size(*header[:2])
    if min(header) < 0:
        raise rows.fail(f"{min(header)}, expected 0 or more")
    upper, lower = (bound or None for bound in (header[4:6] or (0, 0)))
    begin = rows.taken
    times, machines = (_matrix(rows, word, n_jobs, n_machines) for word in ("Times", "Machines"))
    jobs = [list(zip(*pair, strict=True)) for pair in zip(machines, times, strict=True)]

    def line_of(part: str, job: int, index: int) -> int:
        row = {"bounds": begin - 1, "duration": begin + 1 + job, "machine": begin + 2 + n_jobs + job}[part]
        return rows.lines[row].number

    return build(rows.source, jobs, n_machines, line_of, first=1, lower_bound=lower, upper_bound=upper)


def _matrix(rows: Rows, word: str, n_jobs: int, n_machines: int) -> list[list[int]]:
    """The section that begins with `word`: the numbers of each job."""
    line = rows.take(f'the file ends, expected "{word}"')
    if line.text.lower() != word.lower():
        raise rows.fail(f'{line.text[:40]!r}, expected "{word}"')
    found = []
    for job in range(n_jobs):
        found.append(rows.integers(f"the file ends, expected {word.lower()} of job {job}"))
        if len(found[-1]) != n_machines:
            raise rows.fail(f"job {job} has {len(found[-1])} {word.lower()}, expected {n_machines}")
    return found
