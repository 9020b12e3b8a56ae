"""Theorem 4.2 of the paper and its corollary, for the rounds as the paper writes them and for our own."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

torch = pytest.importorskip("torch")

from l2s_plugin.evaluator import compiled, pack  # noqa: E402
from l2s_plugin.evaluator import message_passing as mp  # noqa: E402
from l2s_plugin.instance import Instance  # noqa: E402
from tests.l2s_plugin.evaluator.helpers import any_solutions, random_solution  # noqa: E402
from tests.l2s_plugin.evaluator.oracle import longest_paths  # noqa: E402
from tests.strategies import solutions  # noqa: E402


def message_round(
    duration: torch.Tensor, job_pred: torch.Tensor, machine_pred: torch.Tensor, d: torch.Tensor, c: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor]:
    """One forward round over all nodes (paper, section 4.3); after at most H rounds d = est (theorem 4.2).

    d_V = max over predecessors U of p_U + (1 - c_U) d_U,    c_V = max over predecessors U of c_U

    All tensors have N + 1 entries, the last one for O_S, which is its own predecessor and has p = d = c = 0;
    the other nodes begin with d = 0, c = 1.
    """
    message = duration + (1 - c) * d
    return torch.maximum(message[job_pred], message[machine_pred]), torch.maximum(c[job_pred], c[machine_pred])


def backward_round(
    duration: torch.Tensor, job_succ: torch.Tensor, machine_succ: torch.Tensor, d: torch.Tensor, c: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor]:
    """One backward round over all nodes; after at most H rounds d = -lst (corollary 4.3).

    d_V = p_V + max over successors U of (1 - c_U) d_U,    c_V = max over successors U of c_U

    The last entry stands for O_T, with p = c = 0 and d = -makespan; the other nodes begin with d = -1, c = 1.
    In the reversed graph an arc keeps its weight, the duration of the operation that comes first.
    """
    message = (1 - c) * d
    received = torch.maximum(message[job_succ], message[machine_succ])
    return duration + received, torch.maximum(c[job_succ], c[machine_succ])


def with_none(solution):
    """Durations and links of one solution with the entry for O_S (or O_T) appended."""
    instance, order = solution
    n = instance.n_operations
    duration, *links, _, _, _ = mp.solution_tensors(pack(instance, [order]), "cpu")
    none = torch.tensor([n])
    return n, torch.cat((duration.long(), torch.tensor([0]))), [torch.cat((link, none)) for link in links]


def flags(n: int):
    return torch.cat((torch.ones(n, dtype=torch.int64), torch.tensor([0])))


@settings(deadline=None)
@given(solutions())
def test_theorem_4_2_after_h_rounds_the_messages_are_earliest_starts(solution) -> None:
    """H counts the nodes of the path with most, O_S and O_T included: the operations are done in H - 2."""
    n, duration, (job_pred, machine_pred, _, _) = with_none(solution)
    expected = longest_paths(*solution)
    d, c = torch.zeros(n + 1, dtype=torch.int64), flags(n)
    for made in range(1, expected.path_nodes + 1):
        assert c.any() == (made <= expected.path_nodes - 2)
        d, c = message_round(duration, job_pred, machine_pred, d, c)
        assert (c[:n] == 0).tolist() == [level <= made for level in expected.level]
    assert d[:n].tolist() == expected.est
    assert (d + duration).max() == expected.makespan


@settings(deadline=None)
@given(solutions())
def test_corollary_after_h_rounds_the_messages_are_latest_starts(solution) -> None:
    n, duration, (_, _, job_succ, machine_succ) = with_none(solution)
    expected = longest_paths(*solution)
    d, c = torch.full((n + 1,), -1), flags(n)
    d[n] = -expected.makespan
    for _ in range(expected.path_nodes):
        d, c = backward_round(duration, job_succ, machine_succ, d, c)
    assert not c.any()
    assert (-d[:n]).tolist() == expected.lst
    assert d[:n].max() == 0  # d_S = 0: some operation must start at once


@settings(deadline=None)
@given(st.one_of(solutions(), any_solutions()), st.booleans())
def test_the_frontier_clears_the_same_flags_in_the_same_rounds(solution, along_jobs) -> None:
    """Sending messages to the first waiting node of each chain alone loses nothing, cycle or not."""
    n, duration, (job_pred, machine_pred, job_succ, machine_succ) = with_none(solution)
    chain_pred, chain_succ, cross = (
        (job_pred, job_succ, machine_pred) if along_jobs else (machine_pred, machine_succ, job_pred)
    )
    first = (chain_pred[:n] == n).nonzero()[:, 0]
    frontier = mp.new_frontier(duration[:n].int(), chain_succ[:n], cross[:n], first)
    d, c = torch.zeros(n + 1, dtype=torch.int64), flags(n)
    for _ in range(n + 1):
        d, c = message_round(duration, job_pred, machine_pred, d, c)
        mp.frontier_round(frontier)
        waiting = frontier.end[:n] >= mp.WAITING
        assert torch.equal(waiting, c[:n] == 1)
        assert torch.equal(frontier.end[:n][~waiting].long(), (d + duration)[:n][~waiting])


def count_rounds(batch) -> int:
    """The rounds that evaluating a batch takes."""
    made = []
    run = mp.run
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(mp, "run", lambda frontier, rounds: made.append(run(frontier, rounds)))
        mp.evaluate_batch(batch, "cpu")
    return made[0]


@settings(deadline=None)
@given(st.lists(any_solutions(), min_size=1, max_size=5))
def test_rounds_never_exceed_the_operations_of_the_largest_graph(solutions) -> None:
    """Whatever the orders: a cycle is never looped on."""
    batch = pack([instance for instance, _ in solutions], [order for _, order in solutions])
    assert count_rounds(batch) <= max(instance.n_operations for instance, _ in solutions)


def test_rounds_follow_the_longest_path_not_the_size() -> None:
    """The device is asked seldom, and still few rounds are made in vain."""
    instance, order = random_solution(100, 20, 2)
    needed = longest_paths(instance, order).path_nodes - 2
    assert needed <= count_rounds(pack(instance, [order])) <= needed + max(8, needed // 8)


def test_a_cycle_does_not_hold_up_the_rest() -> None:
    """A large cyclic graph beside one that can be done: rounds end soon after the latter is."""
    stuck = Instance.from_jobs([[(0, 1), (1, 1)], [(1, 1), (0, 1)]] * 500)
    index = np.arange(stuck.n_operations) % 2
    second_first = np.lexsort((-index, stuck.machine))
    instance, order = random_solution(30, 5, 1)
    batch = pack([stuck, instance], [second_first, order])
    est, lst, makespan, feasible, _ = mp.evaluate_tensors(*mp.solution_tensors(batch, "cpu"))
    expected = compiled.evaluate(batch)
    assert feasible.tolist() == expected.feasible.tolist() == [False, True]
    assert makespan.tolist() == expected.makespan.tolist()
    np.testing.assert_array_equal(est.numpy(), expected.est)
    np.testing.assert_array_equal(lst.numpy(), expected.lst)
    # the first check comes after as many rounds as the average chain is long
    assert count_rounds(batch) < stuck.n_operations / 2


def test_chains_of_very_different_length_are_dropped_when_done() -> None:
    """Many small graphs beside a large one: the answers stay theirs."""
    batch = pack(*map(list, zip(*(random_solution(*shape, 7) for shape in [(2, 3)] * 40 + [(80, 3)]), strict=True)))
    est, lst, makespan, feasible, _ = mp.evaluate_tensors(*mp.solution_tensors(batch, "cpu"))
    expected = compiled.evaluate(batch)
    assert feasible.all()
    np.testing.assert_array_equal(makespan.numpy(), expected.makespan)
    np.testing.assert_array_equal(est.numpy(), expected.est)
    np.testing.assert_array_equal(lst.numpy(), expected.lst)


def test_results_stay_on_the_device_as_exact_integers() -> None:
    instance, order = random_solution(10, 10, 0)
    est, lst, makespan, feasible, _ = mp.evaluate_tensors(*mp.solution_tensors(pack(instance, [order] * 3), "cpu"))
    assert [result.dtype for result in (est, lst, makespan, feasible)] == [torch.int32] * 3 + [torch.bool]
    assert len(est) == len(lst) == 300
    assert makespan.shape == feasible.shape == (3,)
