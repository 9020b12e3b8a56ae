"""The promises of the evaluator's one call, for both engines."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from l2s_plugin.errors import CyclicOrderError, L2SError, MissingExtraError, ScheduleError, UnknownNameError
from l2s_plugin.evaluator import Evaluator, pack
from l2s_plugin.instance import Instance
from l2s_plugin.schedule import Schedule
from tests.l2s_plugin.evaluator.helpers import (
    any_solutions,
    assert_matches_oracle,
    assert_same,
    compiled_code,
    random_solution,
)
from tests.strategies import solutions

GOLDEN = Path(__file__).resolve().parents[4] / "shared" / "reference" / "l2s_golden_10x10.npz"

TINY = Instance.from_jobs([[(0, 3), (1, 2)], [(1, 4), (0, 1)]], name="tiny")
TINY_ORDER = np.array([0, 3, 2, 1])
TINY_CYCLE = np.array([3, 0, 1, 2])


@pytest.fixture(params=["compiled", "message-passing"])
def engine(request: pytest.FixtureRequest) -> str:
    if request.param == "message-passing":
        pytest.importorskip("torch")
    return request.param


@pytest.mark.parametrize("rectangular", [True, False])
def test_times_are_longest_paths(engine: str, rectangular: bool) -> None:
    """Rectangles, ragged and re-entrant jobs, unused machines and zero durations agree with networkx."""

    @compiled_code
    @given(solutions(rectangular=rectangular))
    def check(solution):
        instance, order = solution
        assert_matches_oracle(Evaluator(engine=engine).evaluate(instance, order[np.newaxis]), [solution])

    check()


def test_batch_mixes_instances_and_cycles(engine: str) -> None:
    """Solutions of different instances share a batch; cyclic ones are reported and disturb nobody."""

    @compiled_code
    @given(st.lists(st.one_of(solutions(), any_solutions()), max_size=6))
    def check(batch):
        evaluation = Evaluator(engine=engine).evaluate([i for i, _ in batch], [order for _, order in batch])
        assert_matches_oracle(evaluation, batch)

    check()


def test_a_batch_gives_each_solution_the_answer_it_gets_alone(engine: str) -> None:
    batch = [random_solution(jobs, machines, seed) for seed, (jobs, machines) in enumerate([(9, 4), (3, 8), (20, 5)])]
    batch.append(
        (
            batch[0][0],
            batch[0][1][::-1].copy()[np.argsort(batch[0][0].machine[batch[0][1][::-1]], kind="stable")],
        )
    )
    evaluator = Evaluator(engine=engine)
    together = evaluator.evaluate(*map(list, zip(*batch, strict=True)))
    assert together.feasible.tolist() == [True, True, True, False]
    for times, (instance, order) in zip(together, batch, strict=True):
        alone = evaluator.evaluate(instance, [order])[0]
        assert (times.makespan, times.feasible) == (alone.makespan, alone.feasible)
        np.testing.assert_array_equal(times.est, alone.est)
        np.testing.assert_array_equal(times.lst, alone.lst)


def test_agrees_with_the_golden_times_of_the_authors(engine: str) -> None:
    if not GOLDEN.exists():
        pytest.skip("reference data not present")
    golden = np.load(GOLDEN)
    for case in golden["cases"].tolist():
        durations, machines, orders = (golden[f"{case}/{key}"] for key in ("durations", "machines", "orders"))
        jobs = [list(zip(*rows, strict=True)) for rows in zip(machines.tolist(), durations.tolist(), strict=True)]
        evaluation = Evaluator(engine=engine).evaluate(Instance.from_jobs(jobs), orders.reshape(1, -1))
        np.testing.assert_array_equal(evaluation.est, golden[f"{case}/est"], err_msg=case)
        np.testing.assert_array_equal(evaluation.lst, golden[f"{case}/lst"], err_msg=case)
        assert evaluation.makespan.tolist() == [golden[f"{case}/makespan"]]


def test_durations_beyond_float32_stay_exact(engine: str) -> None:
    """Sums past 2^24 lose units in float32; ours must not."""
    big = 2**24 + 1
    instance = Instance.from_jobs([[(0, big), (1, big), (0, 1)], [(1, big), (0, big - 2)]])
    order = np.array([0, 4, 2, 3, 1], np.int32)
    assert_matches_oracle(Evaluator(engine=engine).evaluate(instance, [order]), [(instance, order)])
    total = Instance.from_jobs([[(0, 2**29), (0, 2**29 - 1)]])
    assert Evaluator(engine=engine).evaluate(total, [[0, 1]]).makespan.tolist() == [2**30 - 1]


def test_the_largest_durations_in_a_cycle_do_not_overflow(engine: str) -> None:
    long = 2**28 - 1
    instance = Instance.from_jobs([[(0, 1), (1, long), (2, long)], [(1, 1), (0, long), (2, long)]] + [[(2, 0)]] * 50)
    rest = np.arange(6, 56)
    order = np.concatenate(([4, 0, 1, 3], rest, [2, 5]))  # on machines 0 and 1, both jobs wait for the other
    cyclic = Evaluator(engine=engine).evaluate(instance, [order, [0, 4, 3, 1, *rest, 2, 5]])
    assert cyclic.feasible.tolist() == [False, True]
    assert_matches_oracle(cyclic, [(instance, order), (instance, np.array([0, 4, 3, 1, *rest, 2, 5]))])


def test_one_cyclic_solution_of_many(engine: str) -> None:
    evaluation = Evaluator(engine=engine).evaluate(TINY, [TINY_ORDER, TINY_CYCLE, TINY_ORDER])
    assert evaluation.feasible.tolist() == [True, False, True]
    assert evaluation.makespan.tolist() == [6, -1, 6]
    assert evaluation.est.tolist() == [0, 4, 0, 4, -1, -1, -1, -1, 0, 4, 0, 4]
    assert evaluation.lst.tolist() == [1, 4, 0, 5, -1, -1, -1, -1, 1, 4, 0, 5]
    assert evaluation[-1].est.tolist() == [0, 4, 0, 4]
    assert np.shares_memory(evaluation[1].lst, evaluation.lst)
    with pytest.raises(IndexError):
        evaluation[3]


def test_empty_batch(engine: str) -> None:
    for instances in (TINY, []):
        evaluation = Evaluator(engine=engine).evaluate(instances, [])
        assert len(evaluation) == len(evaluation.est) == len(evaluation.lst) == 0
        assert evaluation.offset.tolist() == [0]


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int32, np.uint32, np.int64, np.uint64])
def test_orders_in_any_integer_type_and_layout(engine: str, dtype: type) -> None:
    evaluator = Evaluator(engine=engine)
    expected = evaluator.evaluate(TINY, [TINY_ORDER, TINY_CYCLE])
    rows = np.array([TINY_ORDER, TINY_CYCLE], dtype)
    assert_same(evaluator.evaluate(TINY, rows), expected)
    assert_same(evaluator.evaluate(TINY, np.asfortranarray(rows)), expected)
    assert_same(evaluator.evaluate([TINY, TINY], rows.tolist()), expected)
    assert rows.flags.writeable


@pytest.mark.parametrize(
    ("instances", "orders", "message"),
    [
        (TINY, [[0, 3, 2]], "solution 0: the order lists 3 operations, expected 4"),
        (TINY, np.zeros((2, 5), int), "solution 0: the order lists 5 operations, expected 4"),
        (
            TINY,
            [TINY_ORDER, [0, 3, 2, 4]],
            "solution 1: .* 3 .* operation 4: no operation .* expected 0 to 3",
        ),
        (TINY, [TINY_ORDER, [-1, 3, 2, 1]], "solution 1: position 0 .* operation -1: no operation"),
        (TINY, [[2**32, 3, 2, 1]], "solution 0: position 0 .*: no operation"),
        (TINY, [[0, 0, 2, 1]], "solution 0: position 1 .* operation 0: it is listed twice"),
        (TINY, [[0, 2, 3, 1]], "operation 2: it belongs to machine 1, expected an operation of machine 0"),
        (TINY, [[0.0, 3.0, 2.0, 1.0]], "orders must hold integers, got float64"),
        (TINY, [[[0, 3], [2, 1]]], r"one flat array, got shape \(2, 2\)"),
        ([TINY], [TINY_ORDER, TINY_ORDER], "2 orders of 1 instances"),
        (["ta01"], [TINY_ORDER], "expected an Instance or a sequence of them, got str"),
    ],
)
def test_orders_that_make_no_sense(engine: str, instances, orders, message: str) -> None:
    """One clear line naming solution, position and expectation; nothing is read out of bounds."""
    with pytest.raises(ScheduleError, match=message) as error:
        Evaluator(engine=engine).evaluate(instances, orders)
    assert "\n" not in str(error.value)


def test_engines_give_the_same_arrays() -> None:
    pytest.importorskip("torch")
    instance, order = random_solution(30, 10, 3)
    batch = pack([instance, TINY, TINY], [order, TINY_CYCLE, TINY_ORDER])
    assert_same(
        Evaluator(engine="compiled").evaluate_packed(batch),
        Evaluator(engine="message-passing").evaluate_packed(batch),
    )


def test_engine_follows_the_device() -> None:
    assert Evaluator().engine == "compiled"
    with pytest.raises(UnknownNameError, match="did you mean compiled"):
        Evaluator(engine="compild")
    with pytest.raises(L2SError, match="runs on cpu only"):
        Evaluator("cuda", engine="compiled")
    with pytest.raises(L2SError, match="threads must be at least 1"):
        Evaluator(threads=0)


@pytest.mark.parametrize("device", ["nonsense", "meta", "cuda:99"])
def test_unusable_device_is_one_line(device: str) -> None:
    pytest.importorskip("torch")
    with pytest.raises(L2SError, match=f"device '{device}' cannot be used: ") as error:
        Evaluator(device)
    assert "\n" not in str(error.value)


def test_missing_torch_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    from l2s_plugin.devices import check_device

    check_device.cache_clear()
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(MissingExtraError, match=r"l2s-plugin\[learn\]"):
        Evaluator(engine="message-passing")


def test_import_and_default_engine_leave_torch_alone() -> None:
    code = (
        "import sys, numpy as np, l2s_plugin.evaluator as e; from l2s_plugin.instance import Instance;"
        "e.Evaluator().evaluate(Instance.from_jobs([[(0, 1)]]), np.array([[0]]));"
        "assert 'torch' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


@compiled_code
@given(any_solutions())
def test_schedules_take_their_times_from_here(solution) -> None:
    instance, order = solution
    evaluation = Evaluator().evaluate(instance, [order])
    if evaluation.feasible[0]:
        schedule = Schedule.from_order(instance, order)
        assert schedule.makespan == evaluation.makespan[0]
        np.testing.assert_array_equal(schedule.lst, evaluation.lst)
    else:
        with pytest.raises(CyclicOrderError):
            Schedule.from_order(instance, order)
