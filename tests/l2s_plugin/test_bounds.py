"""Lower bounds: never above the optimum, and the preemptive one exactly Jackson's preemptive schedule."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from l2s_plugin.bounds import lower_bound, preemptive_makespan
from l2s_plugin.data import benchmark, benchmark_names
from l2s_plugin.instance import Instance
from tests.strategies import instances


def heads_and_tails(instance):
    head, tail = [], []
    for durations in instance.split_by_job(instance.duration):
        for i in range(len(durations)):
            head.append(int(durations[:i].sum()))
            tail.append(int(durations[i + 1 :].sum()))
    return head, tail


def on_machine(instance, machine):
    return [x for x in range(instance.n_operations) if instance.machine[x] == machine]


def simulate_preemptive(operations, duration, head, tail):
    """One time unit after the other: work on the available operation with the longest tail."""
    remaining = {x: int(duration[x]) for x in operations}
    makespan = time = 0
    while remaining:
        available = [x for x in remaining if head[x] <= time]
        if not available:
            time += 1
            continue
        x = max(available, key=lambda x: tail[x])
        if remaining[x] > 0:
            remaining[x] -= 1
            time += 1
        if remaining[x] == 0:
            makespan = max(makespan, time + tail[x])
            del remaining[x]
    return makespan


def best_subset(operations, duration, head, tail):
    """Carlier's formula: the work of any set of operations fits between its shortest head and tail."""
    return max(
        (
            min(head[x] for x in chosen) + sum(int(duration[x]) for x in chosen) + min(tail[x] for x in chosen)
            for size in range(1, len(operations) + 1)
            for chosen in combinations(operations, size)
        ),
        default=0,
    )


def optimum(instance):
    """The best makespan over all ways to take the operations one after the other."""
    best = int(instance.duration.sum())
    last = instance.job_offset[1:].tolist()

    def extend(following, job_end, machine_end):
        nonlocal best
        if max(machine_end) >= best:
            return
        done = True
        for j, x in enumerate(following):
            if x == last[j]:
                continue
            done = False
            m = int(instance.machine[x])
            end = max(job_end[j], machine_end[m]) + int(instance.duration[x])
            extend(
                [*following[:j], x + 1, *following[j + 1 :]],
                [*job_end[:j], end, *job_end[j + 1 :]],
                [*machine_end[:m], end, *machine_end[m + 1 :]],
            )
        if done:
            best = max(machine_end)

    extend(instance.job_offset[:-1].tolist(), [0] * instance.n_jobs, [0] * instance.n_machines)
    return best


@given(instances(max_jobs=3, max_machines=3, max_operations=3, max_duration=9))
@settings(deadline=None, max_examples=60)
def test_never_above_the_optimum(instance):
    assert lower_bound(instance) <= optimum(instance)


@given(instances(max_jobs=5, max_machines=3, max_operations=4))
@settings(deadline=None)
def test_the_bound_is_the_worst_machine_simulated_unit_by_unit(instance):
    head, tail = heads_and_tails(instance)
    machines = [on_machine(instance, m) for m in range(instance.n_machines)]
    expected = max(simulate_preemptive(row, instance.duration, head, tail) for row in machines)
    assert lower_bound(instance) == expected


@given(instances(max_jobs=4, max_machines=2, max_operations=3))
@settings(deadline=None)
def test_the_bound_is_carliers_best_subset(instance):
    head, tail = heads_and_tails(instance)
    machines = [on_machine(instance, m) for m in range(instance.n_machines)]
    assert lower_bound(instance) == max(best_subset(row, instance.duration, head, tail) for row in machines)


@given(instances())
@settings(deadline=None)
def test_never_below_the_longest_job_and_the_busiest_machine_between_its_shortest_head_and_tail(instance):
    head, tail = heads_and_tails(instance)
    assert lower_bound(instance) >= max(int(row.sum()) for row in instance.split_by_job(instance.duration))
    assert lower_bound(instance) >= max(
        min(head[x] for x in row) + sum(int(instance.duration[x]) for x in row) + min(tail[x] for x in row)
        for m in range(instance.n_machines)
        if (row := on_machine(instance, m))
    )


@given(instances(max_machines=1, max_operations=1), st.data())
@settings(deadline=None)
def test_kernel_agrees_compiled_and_interpreted_for_any_heads_and_tails(instance, data):
    n = instance.n_operations
    head, tail = (np.array(data.draw(st.lists(st.integers(0, 30), min_size=n, max_size=n)), np.int32) for _ in range(2))
    by_head = np.argsort(head, kind="stable").astype(np.uint32)
    expected = simulate_preemptive(range(n), instance.duration, head.tolist(), tail.tolist())
    for kernel in (preemptive_makespan, preemptive_makespan.py_func):
        work = np.empty(n, np.int32), np.empty(n, np.uint32)
        assert kernel(by_head, instance.duration, head, -tail, *work) == expected


def test_unused_machines_do_not_matter():
    assert lower_bound(Instance.from_jobs([[(1, 4)], [(1, 3)]], n_machines=4)) == 7


def test_large_durations_stay_exact():
    big = 2**28
    assert lower_bound(Instance.from_jobs([[(0, big), (0, big)], [(0, big - 1)]])) == 3 * big - 1


@pytest.mark.parametrize("name", benchmark_names())
def test_never_above_the_best_known_bounds(name):
    instance = benchmark(name)
    assert lower_bound(instance) <= instance.lower_bound


def test_proves_most_large_taillard_instances_optimal():
    proved = [i for i in range(51, 81) if lower_bound(benchmark(f"ta{i}")) == benchmark(f"ta{i}").upper_bound]
    assert len(proved) == 29  # all but ta67
