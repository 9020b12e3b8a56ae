"""Random instances and solutions of every shape, for property tests.

Small on purpose: a broken promise shows up on a handful of operations, and shrinks to something readable.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import strategies as st

from l2s_plugin.instance import Instance, IntArray


def instances(
    max_jobs: int = 6,
    max_machines: int = 5,
    max_operations: int = 7,
    min_duration: int = 0,
    max_duration: int = 20,
    rectangular: bool | None = None,
) -> st.SearchStrategy[Instance]:
    """Instances of every shape: rectangles, ragged jobs, skipped and unused machines, re-entrant jobs.

    Parameters
    ----------
    max_jobs, max_machines
        Largest size drawn.
    max_operations
        Longest job of an instance that is not rectangular.
    min_duration, max_duration
        Range of the durations; pass `min_duration=1` where positive durations are a precondition.
    rectangular
        True: every job visits every machine once. False: jobs of any length and route. None: both.
    """
    durations = st.integers(min_duration, max_duration)
    classic = _rectangular(max_jobs, max_machines, durations)
    free = _free(max_jobs, max_machines, max_operations, durations)
    if rectangular is None:
        return st.one_of(classic, free)
    return classic if rectangular else free


@st.composite
def _rectangular(draw: Any, max_jobs: int, max_machines: int, durations: st.SearchStrategy[int]) -> Instance:
    n_machines = draw(st.integers(1, max_machines))
    job = st.tuples(
        st.permutations(range(n_machines)),
        st.lists(durations, min_size=n_machines, max_size=n_machines),
    ).map(lambda rows: list(zip(*rows, strict=True)))
    return Instance.from_jobs(draw(st.lists(job, min_size=1, max_size=max_jobs)), n_machines, name="random")


@st.composite
def _free(
    draw: Any, max_jobs: int, max_machines: int, max_operations: int, durations: st.SearchStrategy[int]
) -> Instance:
    n_machines = draw(st.integers(1, max_machines))
    operation = st.tuples(st.integers(0, n_machines - 1), durations)
    job = st.lists(operation, min_size=1, max_size=max_operations)
    return Instance.from_jobs(draw(st.lists(job, min_size=1, max_size=max_jobs)), n_machines, name="random")


@st.composite
def dated_instances(draw: Any, **shape: Any) -> Instance:
    """The same with earliest starts, due dates of some jobs or all, and either objective."""
    instance = draw(instances(**shape))
    date = st.integers(0, 60)
    due = draw(st.lists(st.none() | date, min_size=instance.n_jobs, max_size=instance.n_jobs))
    earliest = draw(st.lists(st.just(0) | date, min_size=instance.n_operations, max_size=instance.n_operations))
    objective = "makespan" if due.count(None) == len(due) else draw(st.sampled_from(("makespan", "lateness")))
    return instance.with_dates(due=due, earliest=earliest).with_objective(objective)


@st.composite
def linear_orders(draw: Any, instance: Instance) -> IntArray:
    """A random order of all operations that keeps each job's own order: every one of them is feasible."""
    job_sequence = draw(st.permutations(instance.job.tolist()))
    following = instance.job_offset[:-1].tolist()
    order = []
    for job in job_sequence:
        order.append(following[job])
        following[job] += 1
    return np.array(order, np.int32)


def machine_orders(instance: Instance) -> st.SearchStrategy[IntArray]:
    """A random feasible solution of `instance`: its operations machine by machine, in one flat array."""

    def by_machine(order: IntArray) -> IntArray:
        return order[np.argsort(instance.machine[order], kind="stable")]

    return linear_orders(instance).map(by_machine)


def solutions(**shape: Any) -> st.SearchStrategy[tuple[Instance, IntArray]]:
    """An instance of any shape (see `instances`) and one of its feasible solutions (see `machine_orders`)."""
    return instances(**shape).flatmap(lambda instance: st.tuples(st.just(instance), machine_orders(instance)))
