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
from typing import Any

from l2s_plugin.formats.parsing import MAX_SIZE, Document, build, json_keys, operation_problem, stem
from l2s_plugin.instance import Instance

UNSUPPORTED = ("release_dates_matrix", "deadlines_matrix", "due_dates_matrix")


class JobShopLib:
    """Matrices of durations and machines, as JSON."""

    name = "job-shop-lib"
    suffixes = (".jsl.json",)
    expects = 'JSON with "duration_matrix" and "machines_matrix"'

    def detect(self, data: bytes, source: str) -> bool:
        return json_keys(data, "duration_matrix", "machines_matrix") is not None

    def read(self, data: bytes, source: str) -> Instance:
        document = Document(data, source)
        for key in UNSUPPORTED:
            if document.values.get(key):
                raise document.fail(f"{key} is there, expected a job shop without such dates", key)
        durations = document.get("duration_matrix", list, required=True)
        machines = document.get("machines_matrix", list, required=True)
        document.check_list(durations, "duration_matrix", "duration_matrix")
        if len(machines) != len(durations):
            message = f"machines_matrix has {len(machines)} jobs, expected {len(durations)} as in duration_matrix"
            raise document.fail(message, "machines_matrix")
        jobs = [_job(document, job, *rows) for job, rows in enumerate(zip(durations, machines, strict=True))]
        metadata = document.get("metadata", dict) or {}
        n_machines = _n_machines(document, jobs, metadata)
        for job, row in enumerate(jobs):
            for index, (machine, duration) in enumerate(row):
                problem = operation_problem(machine, duration, n_machines)
                if problem:
                    matrix = "machines_matrix" if problem.startswith("machine") else "duration_matrix"
                    raise document.fail(f"job {job}, index {index}: {problem}", matrix, job, index)
        lower, upper = _bounds(document, metadata)
        name = document.get("name", str) or stem(source)
        return build(jobs, n_machines, source, name=name, lower_bound=lower, upper_bound=upper)

    def write(self, instance: Instance) -> bytes:
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


def _job(document: Document, job: int, durations: Any, machines: Any) -> list[tuple[int, int]]:
    document.check_list(durations, f"durations of job {job}", "duration_matrix", job)
    document.check_list(machines, f"machines of job {job}", "machines_matrix", job)
    if len(machines) != len(durations):
        message = f"job {job} has {len(machines)} machines, expected {len(durations)} as it has durations"
        raise document.fail(message, "machines_matrix", job)
    pairs = []
    for index, (duration, machine) in enumerate(zip(durations, machines, strict=True)):
        where = f"job {job}, index {index}"
        if isinstance(machine, list):
            if len(machine) != 1:
                message = f"{where} has {len(machine)} machines to choose from, expected one"
                raise document.fail(message, "machines_matrix", job, index)
            machine = machine[0]
        document.check_integer(machine, f"{where}: machine", "machines_matrix", job, index)
        document.check_integer(duration, f"{where}: duration", "duration_matrix", job, index)
        pairs.append((machine, duration))
    return pairs


def _n_machines(document: Document, jobs: list[list[tuple[int, int]]], metadata: dict[str, Any]) -> int:
    used = {machine for job in jobs for machine, _ in job}
    stated = metadata.get("n_machines")
    if stated is None:
        if min(used) == 1:
            found = f"machines {min(used)} to {max(used)}"
            message = f"{found}, expected machines counted from 0 (or metadata.n_machines)"
            raise document.fail(message, "machines_matrix")
        return min(max(max(used) + 1, 1), MAX_SIZE)
    document.check_integer(stated, "n_machines", "metadata", "n_machines")
    if not 0 < stated <= MAX_SIZE:
        raise document.fail(f"n_machines is {stated}, expected 1 to {MAX_SIZE}", "metadata", "n_machines")
    return stated


def _bounds(document: Document, metadata: dict[str, Any]) -> tuple[int | None, int | None]:
    known = {}
    for key in ("lower_bound", "upper_bound", "optimum"):
        if metadata.get(key) is not None:
            known[key] = document.check_integer(metadata[key], key, "metadata", key)
    lower, upper = (known.get(key, known.get("optimum")) for key in ("lower_bound", "upper_bound"))
    document.check_bounds(lower, upper, "metadata")
    return lower, upper
