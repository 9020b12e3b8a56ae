"""What the evaluator's tests share."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import settings
from hypothesis import strategies as st

from l2s_plugin.evaluator import Evaluation
from l2s_plugin.instance import Instance, IntArray
from tests.l2s_plugin.evaluator.oracle import longest_paths, machine_rows
from tests.strategies import instances

compiled_code = settings(deadline=None)  # the first example waits for the compiler


@st.composite
def any_orders(draw: Any, instance: Instance) -> IntArray:
    """Every machine in any order at all: often a cycle."""
    by_machine = np.argsort(instance.machine, kind="stable")
    rows = [draw(st.permutations(row.tolist())) for row in machine_rows(instance, by_machine)]
    return np.array([x for row in rows for x in row], np.int32)


def any_solutions(**shape: Any) -> st.SearchStrategy[tuple[Instance, IntArray]]:
    return instances(**shape).flatmap(lambda instance: st.tuples(st.just(instance), any_orders(instance)))


def random_solution(n_jobs: int, n_machines: int, seed: int, max_duration: int = 99) -> tuple[Instance, IntArray]:
    """A rectangular instance and a feasible solution of it."""
    rng = np.random.default_rng(seed)
    n = n_jobs * n_machines
    routes = rng.permuted(np.tile(np.arange(n_machines), (n_jobs, 1)), axis=1)
    duration = rng.integers(0, max_duration + 1, n)
    instance = Instance(duration, routes.ravel(), np.arange(0, n + 1, n_machines), n_machines)
    linear = np.empty(n, np.int32)
    linear[np.argsort(rng.permutation(instance.job), kind="stable")] = np.arange(n)
    return instance, linear[np.argsort(instance.machine[linear], kind="stable")]


def assert_matches_oracle(evaluation: Evaluation, solutions: list[tuple[Instance, IntArray]]) -> None:
    """Every solution has the oracle's times, and the cyclic ones none."""
    assert len(evaluation) == len(solutions)
    for (instance, order), times in zip(solutions, evaluation, strict=True):
        expected = longest_paths(instance, order)
        assert times.feasible == (expected is not None)
        if expected is None:
            assert times.makespan == -1
            assert (times.est == -1).all()
            assert (times.lst == -1).all()
            assert len(times.est) == len(times.lst) == instance.n_operations
        else:
            assert times.est.tolist() == expected.est
            assert times.lst.tolist() == expected.lst
            assert times.makespan == expected.makespan


def assert_same(a: Evaluation, b: Evaluation) -> None:
    for field in ("est", "lst", "offset", "makespan", "feasible"):
        left, right = getattr(a, field), getattr(b, field)
        assert left.dtype == right.dtype
        np.testing.assert_array_equal(left, right, err_msg=field)
