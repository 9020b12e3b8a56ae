"""A dispatching rule: an object called with an instance and a seed that returns a schedule."""

from __future__ import annotations

import random

from l2s_plugin import Instance, Schedule


class Earliest:
    """Schedule what can start first; of several, what ends first; then at random under the seed."""

    def __call__(self, instance: Instance, seed: int) -> Schedule:
        rng = random.Random(seed)
        duration, machine = instance.duration.tolist(), instance.machine.tolist()
        waiting = {job: int(first) for job, first in enumerate(instance.job_offset[:-1])}
        job_free = [0] * instance.n_jobs
        machine_free = [0] * instance.n_machines
        linear_order = []
        while waiting:
            choices = []
            for job, x in waiting.items():
                start = max(job_free[job], machine_free[machine[x]])
                choices.append((start, start + duration[x], rng.random(), job))
            _, end, _, job = min(choices)
            x = waiting[job]
            job_free[job] = machine_free[machine[x]] = end
            linear_order.append(x)
            waiting[job] = x + 1
            if x + 1 == instance.job_offset[job + 1]:
                del waiting[job]
        return Schedule.from_linear_order(instance, linear_order)
