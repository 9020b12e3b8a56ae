"""One improvement step with the policy network, everything included: ours against PyG and networkx.

    python benchmarks/policy_step.py [--output results.json] [--sizes 15x15,30x20,100x20] [--widths 128,32]

needs the extras `learn` and `test` (networkx). A step is: find the critical path and the N5 moves, score them with the
network, sample one, apply it, compute the new schedule. One instance, one core (torch is held to one thread, nothing
else uses more). The weights are random: speed does not depend on them. All methods take turns, round by round, so that
whatever else the machine does hits all of them; the figure is the median over the rounds. Before the clock starts
the baseline's scores are compared with ours.

baseline   what the paper describes, written straightforwardly: a networkx graph per solution, the critical-path
           method on it, the network in PyG (GINConv, GATConv, BatchNorm1d), all nodes through the action network,
           a masked N x N matrix of scores, softmax, sample
single     our search (python gear) with a selector in Python around the compiled network: `PaperScorer`
loop       our search (compiled gear): the compiled network inside the compiled loop

    python benchmarks/policy_step.py --policy l2s-graph [--sizes 15x15,30x20,100x20,1000x40]

times a step of an installed policy (or of a file) in the compiled loop, from schedules of the rule `random`.
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
from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812
from torch_geometric.nn import GATConv, GINConv, global_mean_pool
from torch_geometric.utils import add_self_loops

from heuristics import dispatch
from heuristics.loop.memory import Memory
from heuristics.loop.search import Search
from heuristics.members import random_order
from l2s_plugin.generate import taillard
from l2s_plugin.instance import Instance
from l2s_plugin.policy.checkpoint import Policy
from l2s_plugin.policy.config import PolicyConfig
from l2s_plugin.policy.selector import L2SSelector
from l2s_plugin.policy.tpm_cam.network import PolicyNetwork
from l2s_plugin.policy.tpm_cam.scorer import PaperScorer
from l2s_plugin.schedule import Schedule

METHODS = ("baseline", "single", "loop")


class BaselineNetwork(nn.Module):
    """The network as one writes it with PyG's own layers, for one graph."""

    def __init__(self, config: PolicyConfig) -> None:
        super().__init__()
        p, widths = config.width, [3] + [config.width] * (config.layers - 1)
        self.tpm = nn.ModuleList(
            GINConv(nn.Sequential(nn.Linear(w, p), nn.BatchNorm1d(p), nn.ReLU(), nn.Linear(p, p)), aggr="mean")
            for w in widths
        )
        self.job = nn.ModuleList(GATConv(w, p) for w in widths)
        self.machine = nn.ModuleList(GATConv(w, p) for w in widths)
        q = config.action_width
        self.action = nn.ModuleList(nn.Linear(w, q) for w in [4 * p] + [q] * (2 * config.action_layers - 1))

    def forward(self, x: Tensor, job_arcs: Tensor, machine_arcs: Tensor) -> Tensor:
        """All scores (N, N)."""
        graph = torch.zeros(len(x), dtype=torch.long)
        arcs, _ = add_self_loops(torch.cat((job_arcs, machine_arcs), dim=1), num_nodes=len(x))
        mu, mu_graph, h = 0, 0, x
        for layer in self.tpm:
            h = layer(h, arcs)
            mu, mu_graph = mu + h, mu_graph + global_mean_pool(h, graph)
        nu = x
        for job, machine in zip(self.job, self.machine, strict=True):
            nu = torch.stack((F.elu(job(nu, job_arcs)), F.elu(machine(nu, machine_arcs)))).mean(dim=0)
        nodes, graphs = torch.cat((mu, nu), 1), torch.cat((mu_graph, global_mean_pool(nu, graph)), 1)
        latent = torch.cat((nodes, graphs.expand(len(nodes), -1)), 1)
        for i, layer in enumerate(self.action):
            latent = torch.tanh(layer(latent)) if i % 2 == 0 else layer(latent)
        return latent @ latent.T


def baseline_network(config: PolicyConfig, weights: dict[str, Tensor]) -> BaselineNetwork:
    """With the weights of ours; in training mode, for the statistics of the batch, as the authors run theirs."""
    names = {"linear1": "nn.0", "norm": "nn.1", "linear2": "nn.3"}
    renamed = {}
    for name, value in weights.items():
        module, _, k, part, *rest = name.split(".")
        if module == "tpm":
            renamed[f"tpm.{k}.{names[part]}.{rest[0]}"] = value
        elif module == "cam":
            renamed[f"{part}.{k}.{'.'.join(rest)}"] = value
        else:
            renamed[f"action.{k}.{part}"] = value
    network = BaselineNetwork(config)
    constants = {name: value for name, value in network.state_dict().items() if name.endswith(".eps")}
    network.load_state_dict({**renamed, **constants})
    return network.train()


class BaselineSearch:
    """The paper's loop over one instance; node 0 is O_S, node n + 1 is O_T."""

    def __init__(self, schedule: Schedule, network: BaselineNetwork) -> None:
        instance = self.instance = schedule.instance
        self.network = network
        self.n = instance.n_operations
        self.duration = [0, *instance.duration.tolist(), 0]
        self.machine = [-1, *instance.machine.tolist(), -2]
        self.orders = [(order + 1).tolist() for order in schedule.machine_orders]
        self.job_arcs = [(0, int(x) + 1) for x in instance.job_offset[:-1]]
        self.job_arcs += [(x + 1, x + 2) for x in range(self.n) if instance.job_succ[x] < self.n]
        self.job_arcs += [(int(x), self.n + 1) for x in instance.job_offset[1:]]
        self.last_move: tuple[int, int] | None = None
        self.graph = nx.DiGraph()
        self.graph.add_nodes_from(range(self.n + 2))
        for u, v in self.job_arcs + self.machine_arcs():
            self.graph.add_edge(u, v, weight=self.duration[u])
        self.evaluate()

    def machine_arcs(self) -> list[tuple[int, int]]:
        return [arc for order in self.orders for arc in pairwise(order)]

    def evaluate(self) -> None:
        """The critical-path method."""
        order = list(nx.topological_sort(self.graph))
        self.est = dict.fromkeys(self.graph, 0)
        for u in order:
            for v, arc in self.graph[u].items():
                self.est[v] = max(self.est[v], self.est[u] + arc["weight"])
        self.makespan = self.est[self.n + 1]
        self.lst = dict.fromkeys(self.graph, self.makespan)
        for u in reversed(order):
            for v, arc in self.graph[u].items():
                self.lst[u] = min(self.lst[u], self.lst[v] - arc["weight"])

    def moves(self) -> list[tuple[int, int]]:
        """N5 on one critical path, without the one that would undo the last move."""
        path, x = [], 0
        while x != self.n + 1:
            x = next(
                v
                for v, arc in self.graph[x].items()
                if self.est[v] == self.lst[v] == self.est[x] + arc["weight"] and self.est[x] == self.lst[x]
            )
            path.append(x)
        blocks: list[list[int]] = []
        for x in path[:-1]:
            if blocks and self.machine[blocks[-1][-1]] == self.machine[x]:
                blocks[-1].append(x)
            else:
                blocks.append([x])
        moves = set()
        for i, block in enumerate(blocks):
            if len(block) > 1:
                if i > 0:
                    moves.add((block[0], block[1]))
                if i < len(blocks) - 1:
                    moves.add((block[-2], block[-1]))
        return sorted(moves - {self.last_move})

    def scores(self) -> Tensor:
        x = torch.tensor([self.duration, list(self.est.values()), list(self.lst.values())], dtype=torch.float32).T
        x = x / torch.tensor([99.0, 1000.0, 1000.0])
        with torch.no_grad():
            return self.network(x, torch.tensor(self.job_arcs).T, torch.tensor(self.machine_arcs()).T)

    def step(self) -> None:
        moves = self.moves()
        assert moves, "no moves: choose another start"
        scores = self.scores()
        mask = torch.ones_like(scores, dtype=torch.bool)
        u, v = torch.tensor(moves).T
        mask[u, v] = False
        policy = torch.distributions.Categorical(logits=scores.masked_fill(mask, -torch.inf).flatten())
        self.apply(*divmod(int(policy.sample()), self.n + 2))

    def apply(self, u: int, v: int) -> None:
        order = self.orders[self.machine[u]]
        i = order.index(u)
        around = order[max(i - 1, 0) : i + 3]
        self.graph.remove_edges_from(pairwise(around))
        order[i], order[i + 1] = v, u
        for a, b in pairwise(order[max(i - 1, 0) : i + 3]):
            self.graph.add_edge(a, b, weight=self.duration[a])
        self.last_move = (v, u)
        self.evaluate()


class Sampler:
    """A selector in Python: samples from the softmax of the scores."""

    def __init__(self, scorer: PaperScorer) -> None:
        self.scorer = scorer

    def select(self, state: Any, moves: Any, rng: np.random.Generator) -> int:
        scores = self.scorer.scores_batch([state], [moves])[0].astype(np.float64)
        weights = np.exp(scores - scores.max()).cumsum()
        return int(np.searchsorted(weights, rng.random() * weights[-1]))


class OurSearch:
    """Our search, from the same schedule."""

    def __init__(self, schedule: Schedule, selector: Any, gear: str) -> None:
        self.search = Search(schedule.instance, "n5", selector, Memory(tenure=(1, 1)), seed=1, gear=gear)
        self.order = schedule.linear_order

    def restart(self) -> None:
        self.search.start(self.order)

    def steps(self, count: int) -> None:
        until = self.search.step + count
        self.search.run(until)
        assert self.search.step == until, "no moves: choose another start"


def check_agreement(baseline: BaselineSearch, scorer: PaperScorer) -> None:
    """The baseline and ours must score the same moves alike."""
    for _ in range(3):
        moves = baseline.moves()
        u, v = np.array(moves).T
        schedule = Schedule.from_machine_orders(baseline.instance, [np.array(order) - 1 for order in baseline.orders])
        assert schedule.makespan == baseline.makespan
        (ours,) = scorer.scores_batch([schedule], [(u - 1, v - 1)])
        np.testing.assert_allclose(ours, baseline.scores()[u, v], rtol=1e-3)
        baseline.step()


def measure(instance: Instance, width: int, rounds: int) -> dict[str, Any]:
    config = PolicyConfig(width=width, action_width=width)
    torch.manual_seed(1)
    weights = PolicyNetwork(config).state_dict()
    # far from a good schedule, where some have no moves
    schedule = Schedule.from_linear_order(instance, random_order(instance, np.random.default_rng(1)))
    baseline = BaselineSearch(schedule, baseline_network(config, weights))
    scorer = PaperScorer(config, weights)
    check_agreement(baseline, scorer)
    policy = Policy("random", config, {name: value.numpy() for name, value in weights.items()})
    searches = {
        "single": OurSearch(schedule, Sampler(scorer), "python"),
        "loop": OurSearch(schedule, L2SSelector(policy), "compiled"),
    }
    run: dict[str, Callable[[int], None]] = {name: search.steps for name, search in searches.items()}
    run["baseline"] = lambda count: [baseline.step() for _ in range(count)] and None
    counts = {"baseline": 2, "single": 20, "loop": 20}
    seconds: dict[str, list[float]] = {method: [] for method in METHODS}
    for turn in range(rounds + 1):
        for method in METHODS:
            if method in searches:  # or it would arrive where there are no moves
                searches[method].restart()
            start = time.perf_counter()
            run[method](counts[method])
            if turn:  # the first round warms up
                seconds[method].append((time.perf_counter() - start) / counts[method])
    median = {method: statistics.median(values) for method, values in seconds.items()}
    return {
        "milliseconds": {method: round(1e3 * value, 4) for method, value in median.items()},
        "best_milliseconds": {method: round(1e3 * min(values), 4) for method, values in seconds.items()},
        "times_faster": {method: round(median["baseline"] / median[method], 1) for method in METHODS[1:]},
    }


def measure_policy(policy: str, sizes: list[str], rounds: int) -> None:
    """Print milliseconds of processor time per step at each size, and those of the search alone, which picks any move:
    medians of rounds in which all take turns."""
    selectors = ("random", L2SSelector(policy))
    instances = [taillard(*map(int, size.split("x")), 1, 2) for size in sizes]
    searches = [
        [Search(instance, "n5", selector, Memory(tenure=(1, 1))) for selector in selectors] for instance in instances
    ]
    times: list[tuple[list[float], list[float]]] = [([], []) for _ in sizes]
    for round_ in range(rounds):
        for instance, pair, both in zip(instances, searches, times, strict=True):
            order = dispatch(instance, "random", round_).linear_order
            for search, own in zip(pair, both, strict=True):
                search.start(order)
                search.run(search.step + 20)
                begin, first = time.process_time(), search.step
                search.run(first + 200)
                if search.step > first:  # some schedules have no moves
                    own.append(1000 * (time.process_time() - begin) / (search.step - first))
    print("| size | search alone, ms | with the policy, ms | the policy |\n|---|---|---|---|")
    for size, both in zip(sizes, times, strict=True):
        alone, whole = map(statistics.median, both)
        print(f"| {size} | {alone:.4f} | {whole:.4f} | {whole - alone:.4f} |")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", help="15x15,30x20,100x20 unless given, and 1000x40 with --policy")
    parser.add_argument("--policy", metavar="NAME|FILE", help="time this policy instead")
    parser.add_argument("--widths", default="128,32")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--output", help="write the figures to this JSON file")
    options = parser.parse_args()
    torch.set_num_threads(1)
    sizes = (options.sizes or "15x15,30x20,100x20" + (",1000x40" if options.policy else "")).split(",")
    if options.policy:
        measure_policy(options.policy, sizes, options.rounds)
        return

    rows: list[dict[str, Any]] = []
    print("| width | size | baseline ms | single ms | loop ms | single | loop |")
    print("|---|---|---|---|---|---|---|")
    for width in map(int, options.widths.split(",")):
        for size in sizes:
            n_jobs, n_machines = map(int, size.split("x"))
            row = measure(taillard(n_jobs, n_machines, 1, 2), width, options.rounds)
            rows.append({"width": width, "size": size, **row})
            times = " | ".join(f"{row['milliseconds'][method]:.2f}" for method in METHODS)
            ratios = " | ".join(f"{row['times_faster'][method]:.1f}x" for method in METHODS[1:])
            print(f"| {width} | {size} | {times} | {ratios} |", flush=True)
    if options.output:
        versions = {"python": platform.python_version(), "torch": torch.__version__, "numpy": np.__version__}
        setup = {"threads": 1, "cores": os.cpu_count(), "rounds": options.rounds, **versions}
        with open(options.output, "w") as file:
            json.dump({"setup": setup, "rows": rows}, file, indent=1)


if __name__ == "__main__":
    main()
