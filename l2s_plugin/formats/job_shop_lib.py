"""The JSON of the job_shop_lib package: matrices of durations and machines, machines from 0.

Read and written are `name`, `duration_matrix`, `machines_matrix` and, in `metadata`, `lower_bound`,
`upper_bound` and `optimum`. Rows may differ in length. What is no plain job shop - several machines to
choose from, release dates, deadlines, due dates - is refused rather than dropped. The package takes the
largest machine in use for the last one; where an instance leaves the first or the last machine idle,
`metadata` must say how many there are as `n_machines`, because a file without machine 0 is most likely one
that counts from 1.
"""

from __future__ import annotations

import json

from l2s_plugin.formats.parsing import MAX_SIZE, Document, build, detected_object, refuse_dates
from l2s_plugin.instance import Instance

MATRIX = {"machine": "machines_matrix", "duration": "duration_matrix"}
UNSUPPORTED = ("release_dates_matrix", "deadlines_matrix", "due_dates_matrix")


class JobShopLib:
    """Matrices of durations and machines, as JSON."""

    name = "job-shop-lib"
    suffixes = (".jsl.json",)
    expects = 'JSON with "duration_matrix" and "machines_matrix"'

    def detect(self, data: bytes, source: str) -> bool:
        return bool(detected_object(data, *MATRIX.values()))

    def read(self, data: bytes, source: str) -> Instance:
        document = Document(data, source)
        for key in UNSUPPORTED:
            if document.values.get(key):
                raise document.fail(f"{key} is there, expected a job shop without such dates", key)
        durations, machines = (document.get(list, matrix) for matrix in ("duration_matrix", "machines_matrix"))
        if len(machines) != len(durations):
            message = f"machines_matrix has {len(machines)} jobs, expected {len(durations)} as in duration_matrix"
            raise document.fail(message, "machines_matrix")
        jobs = [_job(document, job) for job in range(len(durations))]
        document.get(dict, "metadata", optional=True)
        n_machines, optimum, *bounds = (
            document.get(int, "metadata", key, optional=True)
            for key in ("n_machines", "optimum", "lower_bound", "upper_bound")
        )
        lower, upper = (optimum if bound is None else bound for bound in bounds)
        used = {machine for job in jobs for machine, _ in job}
        if n_machines is None:
            if min(used) == 1:
                message = f"machines 1 to {max(used)}, expected machines counted from 0 (or metadata.n_machines)"
                raise document.fail(message, "machines_matrix")
            n_machines = min(max(max(used) + 1, 1), MAX_SIZE)

        def line(part: str, job: int, index: int) -> int:
            return document.line(MATRIX[part], job, index) if part in MATRIX else document.line("metadata", part)

        name = document.get(str, "name", optional=True) or None
        return build(source, jobs, n_machines, line, name=name, lower_bound=lower, upper_bound=upper)

    def write(self, instance: Instance) -> bytes:
        refuse_dates(instance, self.name)
        jobs = instance.jobs()
        lower, upper = instance.lower_bound, instance.upper_bound
        metadata = {"optimum": upper if lower == upper else None, "upper_bound": upper, "lower_bound": lower}
        if instance.machine.min() > 0 or instance.n_machines > 1 + instance.machine.max():
            metadata["n_machines"] = instance.n_machines
        document = {
            "name": instance.name,
            "duration_matrix": [[duration for _, duration in job] for job in jobs],
            "machines_matrix": [[machine for machine, _ in job] for job in jobs],
            "metadata": metadata,
        }
        return (json.dumps(document) + "\n").encode()


def _job(document: Document, job: int) -> list[tuple[int, int]]:
    durations = document.get(list, "duration_matrix", job, what=f"durations of job {job}")
    machines = document.get(list, "machines_matrix", job, what=f"machines of job {job}")
    if len(machines) != len(durations):
        message = f"job {job} has {len(machines)} machines, expected {len(durations)} as it has durations"
        raise document.fail(message, "machines_matrix", job)
    for index, machine in enumerate(machines):
        if isinstance(machine, list):
            if len(machine) != 1:
                message = f"job {job}, index {index} has {len(machine)} machines to choose from, expected one"
                raise document.fail(message, "machines_matrix", job, index)
            machines[index] = machine[0]
        for part, matrix in MATRIX.items():
            document.get(int, matrix, job, index, what=f"job {job}, index {index}: {part}")
    return list(zip(machines, durations, strict=True))
