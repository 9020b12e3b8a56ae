"""Run time of the evaluator against the critical-path method in Python: the paper's table, extended.

    python benchmarks/evaluator.py [--output results.json] [--threads 1] [--batches 1,32] [--skip-slow]

needs the extras `learn` and `test` (networkx), and some minutes for the baselines. Every batch consists of
different random instances, each with one random feasible solution. Every method gets its data in the
structure it works on, prepared outside the clock (graph objects, lists, tensors, flat arrays), and computes
earliest starts, latest starts and makespan of all solutions; all answers are compared. The figure is the
median of several runs; slow methods are run fewer times.

python-cpm     the critical-path method over graph objects (networkx): topological order, a pass forward and
               one back, as the paper describes its own, which takes 9 to 10 ms per graph there
python-lists   the same over plain lists, written for speed (not in the paper)
pyg-scatter    the paper's message passing with PyG: every round sends messages over all arcs, scatters maxima
torch          our message passing (`message_passing.evaluate_tensors`), on the CPU
compiled       our compiled engine (`Evaluator.evaluate_packed`)
from-orders    the same from one order per solution (`Evaluator.evaluate`), packing and checking them included

    python benchmarks/evaluator.py --hosts [--size 15x15]

The time of a step of the paper's TSN5 (tabu search, N5, the smallest exact makespan), alone and in batches: with the
compiled exact values, and with either engine of the evaluator, which rates the neighbours of all searches in one call.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import time
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import networkx as nx
import numpy as np
import torch
from torch_geometric.nn import MessagePassing

import l2s_plugin as l2s
from heuristics import tabu_search_batch
from l2s_plugin.evaluator import Evaluator, pack
from l2s_plugin.evaluator.message_passing import evaluate_tensors, solution_tensors
from l2s_plugin.instance import Instance

METHODS = ("python-cpm", "python-lists", "pyg-scatter", "torch", "compiled", "from-orders")
SLOW = ("python-cpm", "python-lists", "pyg-scatter")
RATIOS = {f"{slow}/{fast}": (slow, fast) for slow, fast in (("python-cpm", "compiled"), ("pyg-scatter", "torch"))}


def random_solution(n_jobs: int, n_machines: int, rng: np.random.Generator) -> tuple[Instance, np.ndarray]:
    """An instance with durations 1 to 99 and random routes, and the order of a random dispatch."""
    n = n_jobs * n_machines
    routes = rng.permuted(np.tile(np.arange(n_machines), (n_jobs, 1)), axis=1)
    instance = Instance(rng.integers(1, 100, n), routes.ravel(), np.arange(0, n + 1, n_machines), n_machines)
    linear = np.empty(n, np.int32)
    linear[np.argsort(rng.permutation(instance.job), kind="stable")] = np.arange(n)
    return instance, linear[np.argsort(instance.machine[linear], kind="stable")]


def arcs(instance: Instance, order: np.ndarray) -> tuple[list[int], list[tuple[int, int]]]:
    """Durations and arcs of the paper's disjunctive graph: node 0 is O_S, node n + 1 is O_T."""
    n = instance.n_operations
    pairs = [(0, int(x) + 1) for x in instance.job_offset[:-1]]
    pairs += [(x + 1, x + 2) for x in range(n) if instance.job_succ[x] < n]
    pairs += [(int(x), n + 1) for x in instance.job_offset[1:]]
    for row in np.split(order, instance.machine_offset[1:-1]):
        ids = (row + 1).tolist()
        pairs += pairwise(ids)
    return [0, *instance.duration.tolist(), 0], pairs


def as_graph(instance: Instance, order: np.ndarray) -> nx.DiGraph:
    duration, pairs = arcs(instance, order)
    graph = nx.DiGraph()
    graph.add_nodes_from(range(len(duration)))
    graph.add_edges_from((u, v, {"weight": duration[u]}) for u, v in pairs)
    return graph


def python_cpm(graph: nx.DiGraph) -> tuple[list[int], list[int], int]:
    """Section 3.6 of Jungnickel's "Graphs, Networks and Algorithms": along a topological order, and back."""
    topological = list(nx.topological_sort(graph))
    est = dict.fromkeys(graph.nodes, 0)
    for u in topological:
        for v in graph.successors(u):
            est[v] = max(est[v], est[u] + graph.edges[u, v]["weight"])
    makespan = est[topological[-1]]
    lst = dict.fromkeys(graph.nodes, makespan)
    for v in reversed(topological):
        for u in graph.predecessors(v):
            lst[u] = min(lst[u], lst[v] - graph.edges[u, v]["weight"])
    return list(est.values())[1:-1], list(lst.values())[1:-1], makespan


def as_lists(instance: Instance, order: np.ndarray) -> tuple[list[int], list[list[int]], list[int]]:
    duration, pairs = arcs(instance, order)
    successors: list[list[int]] = [[] for _ in duration]
    waiting = [0] * len(duration)
    for u, v in pairs:
        successors[u].append(v)
        waiting[v] += 1
    return duration, successors, waiting


def python_lists(lists: tuple[list[int], list[list[int]], list[int]]) -> tuple[list[int], list[int], int]:
    """Kahn's algorithm forward, the order found backward."""
    duration, successors, waiting = lists
    waiting = waiting.copy()
    est = [0] * len(duration)
    ready, topological = [0], []
    while ready:
        u = ready.pop()
        topological.append(u)
        end = est[u] + duration[u]
        for v in successors[u]:
            if est[v] < end:
                est[v] = end
            waiting[v] -= 1
            if not waiting[v]:
                ready.append(v)
    makespan = est[-1]
    lst = [makespan] * len(duration)
    for u in reversed(topological):
        latest = makespan
        for v in successors[u]:
            if lst[v] < latest:
                latest = lst[v]
        lst[u] = latest - duration[u]
    return est[1:-1], lst[1:-1], makespan


class MaxPass(MessagePassing):
    """mp_max: every node takes the largest message of its neighbours (paper, section 4.3)."""

    def __init__(self, flow: str) -> None:
        super().__init__(aggr="max", flow=flow)

    def forward(self, x: torch.Tensor, edge_index: torch.Tensor) -> torch.Tensor:
        return self.propagate(edge_index, x=x)


def as_edges(instances: list[Instance], orders: list[np.ndarray]) -> tuple[torch.Tensor, ...]:
    """One big graph: durations, arcs, and the nodes O_S and O_T of each solution."""
    durations, edges, begin = [], [], [0]
    for instance, order in zip(instances, orders, strict=True):
        duration, pairs = arcs(instance, order)
        durations.append(torch.tensor(duration, dtype=torch.float32))
        edges.append(torch.tensor(pairs).t() + begin[-1])
        begin.append(begin[-1] + len(duration))
    first, last = torch.tensor(begin[:-1]), torch.tensor(begin[1:]) - 1
    return torch.cat(durations)[:, None], torch.cat(edges, 1).contiguous(), first, last


def pyg_scatter(
    duration: torch.Tensor, edge_index: torch.Tensor, first: torch.Tensor, last: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """The paper's evaluator: d and c over all nodes, forward, then backward, until no c is left."""
    forward, backward = MaxPass("source_to_target"), MaxPass("target_to_source")
    d, c = torch.zeros_like(duration), torch.ones_like(duration)
    c[first] = 0
    while c.any():
        d, c = forward(duration + (1 - c) * d, edge_index), forward(c, edge_index)
    est, makespan = d, d[last]
    d, c = -torch.ones_like(duration), torch.ones_like(duration)
    d[last], c[last] = -makespan, 0
    while c.any():
        d, c = duration + backward((1 - c) * d, edge_index), backward(c, edge_index)
        d[last], c[last] = -makespan, 0
    return est, -d, makespan


def median_seconds(run: Callable[[], Any], budget: float) -> tuple[float, Any]:
    """Median of nine runs or more, half a second long, not beyond `budget`; and the last answer."""
    seconds: list[float] = []
    while (len(seconds) < 9 or sum(seconds) < 0.5) and sum(seconds) < budget:
        start = time.perf_counter()
        answer = run()
        seconds.append(time.perf_counter() - start)
    return statistics.median(seconds), answer


def streamed(
    build: Callable[..., Any], run: Callable[[Any], Any], instances: list[Instance], orders: list[np.ndarray]
) -> tuple[float, np.ndarray, np.ndarray, np.ndarray]:
    """One solution after the other, built outside the clock and dropped again: 512 graphs fill a gigabyte."""
    total, answers = 0.0, []
    for instance, order in zip(instances, orders, strict=True):
        data = build(instance, order)
        start = time.perf_counter()
        answers.append(run(data))
        total += time.perf_counter() - start
    est, lst, makespan = zip(*answers, strict=True)
    return total, np.concatenate(est), np.concatenate(lst), np.array(makespan)


def measure(n_jobs: int, n_machines: int, batch_size: int, skip_slow: bool, budget: float) -> dict[str, float]:
    """Seconds of every method for one batch, after checking that all agree."""
    rng = np.random.default_rng(batch_size)
    instances, orders = map(
        list, zip(*(random_solution(n_jobs, n_machines, rng) for _ in range(batch_size)), strict=True)
    )
    evaluator = Evaluator(threads=torch.get_num_threads())
    batch = pack(instances, orders)
    expected = evaluator.evaluate_packed(batch)
    seconds: dict[str, float] = {}

    def agrees(method: str, est: Any, lst: Any, makespan: Any) -> None:
        for found, name in ((est, "est"), (lst, "lst"), (makespan, "makespan")):
            if not np.array_equal(np.asarray(found).ravel(), getattr(expected, name)):
                raise SystemExit(f"{method}: {name} differs from the compiled engine")

    seconds["compiled"], _ = median_seconds(lambda: evaluator.evaluate_packed(batch), budget)
    seconds["from-orders"], _ = median_seconds(lambda: evaluator.evaluate(instances, orders), budget)
    tensors = solution_tensors(batch, "cpu")
    evaluate_tensors(*tensors)
    seconds["torch"], answer = median_seconds(lambda: evaluate_tensors(*tensors), budget)
    agrees("torch", *answer[:3])
    if skip_slow:
        return seconds
    edges = as_edges(instances, orders)
    seconds["pyg-scatter"], answer = median_seconds(lambda: pyg_scatter(*edges), budget)
    inner = torch.ones(len(edges[0]), dtype=torch.bool)
    inner[edges[2]] = inner[edges[3]] = False
    agrees("pyg-scatter", answer[0][inner], answer[1][inner], answer[2])
    for method, build, run in (
        ("python-cpm", as_graph, python_cpm),
        ("python-lists", as_lists, python_lists),
    ):
        repeats = 30 if batch_size == 1 else 1  # a batch is many runs already
        runs = [streamed(build, run, instances, orders) for _ in range(repeats)]
        seconds[method] = statistics.median(run[0] for run in runs)
        agrees(method, *runs[0][1:])
    return seconds


def measure_hosts(n_jobs: int, n_machines: int, count: int) -> dict[str, float]:
    """Milliseconds of processor time per step of `count` searches, by who rates the moves; all take the same path."""
    rng = np.random.default_rng(count)
    instances = [random_solution(n_jobs, n_machines, rng)[0] for _ in range(count)]
    seeds, found = list(range(count)), {}

    def run(evaluator: str | None, steps: int) -> list[int]:
        options = {"seeds": seeds, "known_bounds": False, "evaluator": evaluator}
        results = tabu_search_batch(instances, "greedy", "n5", stop=l2s.stop.steps(steps), **options)
        return [result.makespan for result in results]

    def seconds(evaluator: str | None, steps: int) -> float:
        begin = time.process_time()
        run(evaluator, steps)
        return time.process_time() - begin

    for evaluator, steps in ((None, 5000), ("compiled", 200), ("message-passing", 40)):
        seconds(evaluator, 2)  # first calls
        begin = statistics.median(seconds(evaluator, 1) for _ in range(3))  # what a run costs beside its steps
        found[evaluator or "compiled values"] = 1000 * (seconds(evaluator, steps + 1) - begin) / steps
    assert run(None, 5) == run("compiled", 5) == run("message-passing", 5)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--size", default="100x20", help="jobs x machines (default: %(default)s, as in the paper)")
    parser.add_argument("--batches", default="1,32,64,128,256,512", help="batch sizes (default: %(default)s)")
    parser.add_argument("--skip-slow", action="store_true", help="leave out the Python and PyG baselines")
    parser.add_argument("--budget", type=float, default=5.0, help="seconds to repeat each run (default: %(default)s)")
    parser.add_argument("--output", metavar="FILE", help="write the figures as JSON")
    parser.add_argument("--threads", type=int, default=os.cpu_count(), help="for torch and for the compiled engine")
    parser.add_argument("--hosts", action="store_true", help="steps of tabu searches instead")
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    n_jobs, n_machines = map(int, options.size.split("x"))
    if options.hosts:
        print(f"{options.size}, milliseconds per step of all searches, {options.threads} threads")
        for count in (1, 64, 512):
            figures = measure_hosts(n_jobs, n_machines, count)
            print(f"{count:>4} searches:", *(f"{name} {value:.3f}" for name, value in figures.items()), flush=True)
        return
    sizes = [int(size) for size in options.batches.split(",")]
    measure(n_jobs, n_machines, 1, True, 0.1)  # compilation and first calls
    methods = [method for method in METHODS if not (options.skip_slow and method in SLOW)]
    print(f"{options.size}, seconds per batch, {os.cpu_count()} cores, {options.threads} threads")
    ratios = {} if options.skip_slow else RATIOS
    print(f"{'batch':>6}", *(f"{method:>12}" for method in methods), *(f"{name:>20}" for name in ratios))
    results = []
    for size in sizes:
        seconds = measure(n_jobs, n_machines, size, options.skip_slow, options.budget)
        speedup = {name: seconds[slow] / seconds[fast] for name, (slow, fast) in ratios.items()}
        figures = [f"{seconds[method]:>12.6f}" for method in methods]
        print(f"{size:>6}", *figures, *(f"{ratio:>19.1f}x" for ratio in speedup.values()), flush=True)
        results.append({"batch": size, "seconds": seconds, "speedup": speedup})
    if options.output:
        record = {
            "benchmark": "evaluator",
            "size": options.size,
            "machine": platform.machine(),
            "cores": os.cpu_count(),
            "threads": options.threads,
            "python": platform.python_version(),
            "torch": torch.__version__,
            "results": results,
        }
        with open(options.output, "w", encoding="utf-8") as file:
            json.dump(record, file, indent=1)
            file.write("\n")


if __name__ == "__main__":
    main()
