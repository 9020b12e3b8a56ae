"""Times from longest paths in a networkx graph: slow, obvious, and sharing no code with the evaluator."""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

import networkx as nx
import numpy as np

from l2s_plugin.instance import NO_DUE_DATE, Instance


class Times(NamedTuple):
    est: list[int]
    lst: list[int]
    makespan: int  # the longest path: with due dates, the largest lateness plus the instance's offset
    path_nodes: int  # nodes on the path from O_S to O_T with the most nodes: the paper's H
    level: list[int]  # operations on the longest path (in operations) that ends with each operation


def disjunctive_graph(instance: Instance, order: np.ndarray) -> nx.DiGraph:
    """The solution's graph with nodes "S" and "T"; an arc weighs the duration of the operation it leaves."""
    graph = nx.DiGraph()
    for row in [*instance.split_by_job(np.arange(instance.n_operations)), *machine_rows(instance, order)]:
        nodes = ["S", *row.tolist(), "T"]
        for u, v in pairwise(nodes):
            graph.add_edge(u, v, weight=0 if u == "S" else int(instance.duration[u]))
    if instance.earliest is not None:
        for x, date in enumerate(instance.earliest.tolist()):
            graph.add_edge("S", x, weight=date)
    if instance.objective == "lateness":
        for job, x in enumerate((instance.job_offset[1:] - 1).tolist()):
            if instance.due[job] != NO_DUE_DATE:
                graph.add_edge(x, "T", weight=int(instance.duration[x]) + instance.offset - int(instance.due[job]))
    return graph


def machine_rows(instance: Instance, order: np.ndarray) -> list[np.ndarray]:
    return np.split(np.asarray(order), instance.machine_offset[1:-1])


def longest_paths(instance: Instance, order: np.ndarray) -> Times | None:
    """Times of a solution; None when its graph has a cycle."""
    graph = disjunctive_graph(instance, order)
    if not nx.is_directed_acyclic_graph(graph):
        return None
    topological = list(nx.topological_sort(graph))
    from_source, to_sink, hops = {"S": 0}, {"T": 0}, {"S": 0}
    for v in topological[1:]:
        from_source[v] = max(from_source[u] + graph.edges[u, v]["weight"] for u in graph.predecessors(v))
        hops[v] = max(hops[u] + 1 for u in graph.predecessors(v))
    for u in topological[-2::-1]:
        to_sink[u] = max(to_sink[v] + graph.edges[u, v]["weight"] for v in graph.successors(u))
    makespan = nx.dag_longest_path_length(graph)
    operations = range(instance.n_operations)
    return Times(
        [from_source[x] for x in operations],
        [makespan - to_sink[x] for x in operations],
        makespan,
        hops["T"] + 1,
        [hops[x] for x in operations],
    )
