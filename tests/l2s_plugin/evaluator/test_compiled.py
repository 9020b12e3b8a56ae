"""The compiled engine: the same interpreted as compiled, on any number of threads."""

from __future__ import annotations

import os

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from l2s_plugin.evaluator import Evaluator, compiled, pack
from tests.l2s_plugin.evaluator.helpers import any_solutions, assert_same, random_solution
from tests.strategies import solutions


def interpreted(kernel):
    return getattr(kernel, "py_func", kernel)  # with NUMBA_DISABLE_JIT there is nothing but the function


@settings(deadline=None)
@given(st.lists(st.one_of(solutions(), any_solutions()), min_size=1, max_size=4))
def test_kernels_interpreted_and_compiled_agree(solutions) -> None:
    batch = pack([instance for instance, _ in solutions], [order for _, order in solutions])
    times = compiled.new_times(batch)
    with pytest.MonkeyPatch.context() as patch:
        for name in ("link", "forward", "backward"):
            patch.setattr(compiled, name, interpreted(getattr(compiled, name)))
        work = compiled.new_workspace(len(batch.order))
        assert interpreted(compiled.evaluate_range)(batch, times, work, 0, len(solutions)) == -1
    expected = compiled.evaluate(batch)
    for found, wanted in zip(times, expected, strict=True):
        np.testing.assert_array_equal(found, wanted)


@settings(deadline=None)
@given(solutions())
def test_forward_leaves_a_topological_order(solution) -> None:
    instance, order = solution
    n = instance.n_operations
    batch, work = pack(instance, [order]), compiled.new_workspace(n)
    assert compiled.link(batch, 0, work)
    assert compiled.forward(n, work) == n
    position = np.empty(n + 1, int)
    position[work.queue[:n]] = np.arange(n)
    position[n] = n
    assert sorted(work.queue[:n].tolist()) == list(range(n))
    assert (position[:n] < position[work.job_succ[:n]]).all()
    assert (position[:n] < position[work.machine_succ[:n]]).all()


def test_every_number_of_threads_gives_the_same_arrays(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also with more threads than solutions, and with solutions of very different size."""
    monkeypatch.setattr(compiled, "_OPERATIONS_PER_TASK", 1)
    shapes = [(30, 10), (2, 2), (1, 1), (5, 20), (60, 3), (4, 4), (1, 7)]
    batch = [random_solution(*shape, seed) for seed, shape in enumerate(shapes)]
    batch[3][1][:] = batch[3][1][::-1]
    batch[3][1][:] = batch[3][1][np.argsort(batch[3][0].machine[batch[3][1]], kind="stable")]  # a cycle among them
    instances, orders = map(list, zip(*batch, strict=True))
    expected = Evaluator(threads=1).evaluate(instances, orders)
    assert expected.feasible.tolist() == [True, True, True, False, True, True, True]
    for threads in (2, 3, 8, 20):
        assert_same(Evaluator(threads=threads).evaluate(instances, orders), expected)


def test_single_solutions_and_small_batches_start_no_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    def no_pool(threads: int) -> None:
        raise AssertionError("a thread pool for one solution")

    monkeypatch.setattr(compiled, "_pool", no_pool)
    instance, order = random_solution(200, 100, 0)
    assert Evaluator(threads=4).evaluate(instance, [order]).feasible.all()
    instance, order = random_solution(6, 6, 0)
    assert Evaluator(threads=4).evaluate(instance, [order] * 20).feasible.all()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_forked_process_makes_its_own_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compiled, "_OPERATIONS_PER_TASK", 1)
    instance, order = random_solution(6, 6, 0)
    evaluator = Evaluator(threads=2)
    expected = evaluator.evaluate(instance, [order] * 4).makespan.tolist()
    child = os.fork()
    if not child:
        os._exit(0 if evaluator.evaluate(instance, [order] * 4).makespan.tolist() == expected else 1)
    assert os.waitpid(child, 0)[1] == 0
