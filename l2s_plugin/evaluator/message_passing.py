"""The paper's message-passing evaluator in torch, for any device and for batches that live there.

Every operation has at most one predecessor in its job and one on its machine, so a round of messages is two
gathers and a maximum, no scatter (paper, section 4.3). Along a machine the waiting flags clear one after the other, so
in each round at most the first waiting operation of every machine can clear its flag (likewise of every job).
`frontier_round` sends messages to these alone: the same flags clear in the same rounds, theorem 4.2 holds as it stands,
and at 100x20 that is 20 nodes of a graph instead of 2000. The tests have the paper's rounds, over all nodes.

Times are int32, exact for every instance (`MAX_TOTAL_DURATION`). All tensors over nodes number the nodes of all graphs
in one go; N, their number, stands for "none": the paper's O_S going forward, its O_T going backward.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from l2s_plugin.evaluator.batch import Batch
from l2s_plugin.evaluator.compiled import SolutionTimes

# An end that is not known yet. What is added to it in vain are durations of one job (or machine), each once:
# it still fits 32 bits, cycle or not.
WAITING = 2**30

_FIRST_CHECK = 8  # rounds between two looks at the device, at least


class Frontier(NamedTuple):
    """Graphs covered by chains, and how far the messages have come along each chain.

    Nodes are those of the graphs, then "none" (end 0, from the beginning), then one behind the end of every
    chain, whose own entries nobody reads.
    """

    duration: Tensor  # int32, per node; this and the next two never change
    follower: Tensor  # the next node along the chain
    cross: Tensor  # the predecessor that is not on the chain
    end: Tensor  # int32, per node: earliest end, WAITING or more while not known
    at: Tensor  # per chain: its first waiting node
    clock: Tensor  # int32, per chain: the end of the node before
    earliest: Tensor | None = None  # int32, per node, where there are dates


def frontier_round(frontier: Frontier) -> None:
    """One forward round for the first waiting node of every chain; all other nodes would not change.

    A node whose predecessor still waits gets an end of WAITING or more itself: no flags are needed beside the times.
    """
    duration, follower, cross, end, at, clock, earliest = frontier
    arrival = torch.maximum(clock, end.index_select(0, cross.index_select(0, at)))
    if earliest is not None:
        arrival = torch.maximum(arrival, earliest.index_select(0, at))
    arrival += duration.index_select(0, at)
    end.index_copy_(0, at, arrival)
    clear = arrival < WAITING
    torch.where(clear, arrival, clock, out=clock)
    torch.where(clear, follower.index_select(0, at), at, out=at)


def run(frontier: Frontier, rounds: int) -> int:
    """Rounds until no node waits, at most `rounds`, or until nothing moves: what waits then waits in a cycle.

    The device is asked only now and then, the first time after as many rounds as are surely needed, then less and less
    often; chains that have reached their end are dropped on these occasions. Returns the rounds made.
    """
    stop = len(frontier.end) - 1
    made, step = 0, max(_FIRST_CHECK, (stop - 1) // max(1, len(frontier.at)))
    while made < rounds:
        before = frontier.at.clone()
        step = min(step, rounds - made)
        for _ in range(step):
            frontier_round(frontier)
        made += step
        open_ = frontier.at != stop
        left, moved = torch.stack((open_.sum(), (frontier.at != before).sum())).tolist()
        if not left or not moved:
            break
        if 2 * left < len(open_):
            frontier = frontier._replace(at=frontier.at[open_], clock=frontier.clock[open_])
        step = max(_FIRST_CHECK, made // 8)
    return made


def new_frontier(
    duration: Tensor, chain_succ: Tensor, cross_pred: Tensor, first: Tensor, earliest: Tensor | None = None
) -> Frontier:
    """Before the first round: N nodes, chains beginning at the nodes `first`; N stands for none."""
    n = len(duration)
    device = duration.device
    two = torch.tensor((n, n + 1), device=device)
    end = torch.full((n + 2,), WAITING, dtype=torch.int32, device=device)
    end[n] = 0
    return Frontier(
        duration=torch.cat((duration, torch.zeros_like(two, dtype=torch.int32))),
        follower=torch.cat((torch.where(chain_succ == n, n + 1, chain_succ), two)),
        cross=torch.cat((cross_pred, torch.full_like(two, n))),
        end=end,
        at=first.clone(),
        clock=torch.zeros(len(first), dtype=torch.int32, device=device),
        earliest=None if earliest is None else torch.cat((earliest, torch.zeros_like(two, dtype=torch.int32))),
    )


def evaluate_tensors(
    duration: Tensor,
    job_pred: Tensor,
    machine_pred: Tensor,
    job_succ: Tensor,
    machine_succ: Tensor,
    offset: Tensor,
    earliest: Tensor | None = None,
    after: Tensor | None = None,
) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:
    """Evaluate graphs that are on the device already, the nodes of all graphs one after the other.

    Per node: `duration` (int32) and the neighbours (int64, numbered over all graphs). Graph b owns the nodes
    `offset[b]` up to, not including, `offset[b + 1]` (int64). With dates, `earliest` and `after` (int32, per node):
    none starts before, and at least so much follows it. Returns est and lst (int32) per node, and per graph makespan
    (int32), feasible (bool) and the length of the longest path (int32); graphs with a cycle have -1 throughout, and
    False.
    """
    n, n_graphs, device = len(duration), len(offset) - 1, duration.device
    size = offset.diff()
    graph = torch.repeat_interleave(torch.arange(n_graphs, device=device), size, output_size=n)
    if n == 0:
        none = duration.new_zeros(n_graphs)
        return duration, duration, none, torch.ones_like(size, dtype=torch.bool), none
    # cover the graphs with as few chains as possible: machines or jobs
    n_chains, n_jobs, rounds = torch.stack(((machine_pred == n).sum(), (job_pred == n).sum(), size.max())).tolist()
    chains, crosses = (machine_pred, machine_succ), (job_pred, job_succ)
    if n_jobs < n_chains:
        chains, crosses = crosses, chains
    (chain_pred, chain_succ), (cross_pred, cross_succ) = chains, crosses

    # the backward pass is a forward pass through the reversed graphs: both share their rounds, as one batch
    def both(forward: Tensor, backward: Tensor) -> Tensor:
        return torch.cat((torch.where(forward == n, 2 * n, forward), backward + n))

    last = (chain_succ == n).nonzero()[:, 0]
    first = torch.cat(((chain_pred == n).nonzero()[:, 0], last + n))
    links = both(chain_succ, chain_pred), both(cross_pred, cross_succ)
    dates = None if earliest is None or after is None else torch.cat((earliest, after))
    frontier = new_frontier(torch.cat((duration, duration)), *links, first, dates)
    run(frontier, rounds)

    end, tail = frontier.end[:n], frontier.end[n : 2 * n]
    feasible = torch.ones(n_graphs, dtype=torch.bool, device=device)
    feasible[graph[end >= WAITING]] = False
    makespan = torch.zeros(n_graphs, dtype=torch.int32, device=device)
    makespan.scatter_reduce_(0, graph[last], end[last], "amax")
    makespan.masked_fill_(~feasible, -1)
    cyclic = ~feasible[graph]
    length = makespan
    if dates is not None:
        length = torch.zeros_like(makespan).scatter_reduce_(0, graph, end - duration + tail, "amax")
        length.masked_fill_(~feasible, -1)
    est = (end - duration).masked_fill_(cyclic, -1)
    lst = (length[graph] - tail).masked_fill_(cyclic, -1)
    return est, lst, makespan, feasible, length


def solution_tensors(batch: Batch, device: str | torch.device) -> tuple[Any, ...]:
    """The arguments of `evaluate_tensors`; only the orders and one copy of each instance travel."""

    def on_device(array: NDArray[np.generic]) -> Tensor:
        return torch.tensor(array, device=device).long()

    offset, which = on_device(batch.offset), on_device(batch.which)
    operation_offset = on_device(batch.operation_offset)
    n, size = len(batch.order), offset.diff()
    node = torch.arange(n, device=device)
    graph = torch.repeat_interleave(torch.arange(len(which), device=device), size, output_size=n)
    begin = offset[graph]
    order = on_device(batch.order.view(np.int32)) + begin
    source = operation_offset[which[graph]] + node - begin  # of every node, in the arrays over the instances

    def links() -> Tensor:  # one entry more, for what is written to "none"
        return torch.full((n + 1,), n, device=device)

    job_succ = on_device(batch.job_succ)[source]
    job_succ = torch.where(job_succ == size[graph], n, job_succ + begin)
    job_pred = links()
    job_pred[job_succ] = node
    machine = on_device(batch.machine)[source][order]
    follows = (machine[1:] == machine[:-1]) & (graph[1:] == graph[:-1])
    machine_pred, machine_succ = links(), links()
    machine_pred[order[1:]] = torch.where(follows, order[:-1], n)
    machine_succ[order[:-1]] = torch.where(follows, order[1:], n)
    duration = torch.tensor(batch.duration, device=device)[source]
    dates: tuple[Tensor | None, ...] = None, None
    if len(batch.earliest):
        dates = tuple(torch.tensor(array, device=device)[source] for array in (batch.earliest, batch.after))
    return duration, job_pred[:n], machine_pred[:n], job_succ, machine_succ[:n], offset, *dates


def evaluate_batch(batch: Batch, device: str | torch.device) -> SolutionTimes:
    """Evaluate a batch whose orders are known to be permutations."""
    return SolutionTimes(*(result.cpu().numpy() for result in evaluate_tensors(*solution_tensors(batch, device))))
