"""How far runs are from their time limit: every kind of selector, CP-SAT and the hybrid, up to a million operations.

    python benchmarks/time_limits.py [--sizes 100x100,300x300,1000x100] [--limits 0.5,2]

Prints the seconds that were asked for and those that passed until the function had its result, kernels compiled and
policies read before. The graph networks are untrained, one of 24 layers and one of width 512, so that a step takes
seconds: where 0 steps were taken, the first one was interrupted. Exit code 1 if a run ended early, or more than 0.3 s
late at 100,000 operations or fewer.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import l2s_plugin as l2s
from heuristics import local_search, solve, tabu_search
from heuristics.result import Result
from integrations import cp_sat
from l2s_plugin.instance import Instance
from l2s_plugin.policy import L2SSelector
from l2s_plugin.policy.config import PolicyConfig
from tests.policies import write_random_policy

LATEST = 0.3  # seconds
LARGE = 100_000  # operations
NETWORKS = {"deep graph network": PolicyConfig(layers=24), "wide graph network": PolicyConfig(width=512)}


def runs() -> Iterator[tuple[str, Callable[..., Result]]]:
    for selector, neighbourhood in (("greedy", "n4"), ("best-improvement", "n5"), ("l2s", "n5"), ("random", "n5")):
        yield f"local-search {selector} {neighbourhood}", local(selector, neighbourhood)
    with tempfile.TemporaryDirectory() as folder:
        for name, config in NETWORKS.items():
            selector = L2SSelector(write_random_policy(Path(folder) / "random.safetensors", config))
            yield f"local-search {name} n5", local(selector, "n5")
    yield "tabu estimate n7", tabu_search
    yield "solve", solve
    yield "solve, 2 workers", lambda instance, **limit: solve(instance, workers=2, **limit)
    yield "cp-sat, 2 workers", lambda instance, **limit: cp_sat.solve(instance, workers=2, **limit)
    yield "hybrid, 2 workers", lambda instance, **limit: cp_sat.hybrid(instance, workers=2, **limit)


def local(selector: Any, neighbourhood: str) -> Callable[..., Result]:
    return lambda instance, **limit: local_search(instance, selector, neighbourhood, **limit)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", default="100x100,300x300,1000x100")
    parser.add_argument("--limits", default="0.5,2")
    options = parser.parse_args()
    instances = {size: make(size) for size in options.sizes.split(",")}
    print("| run | size | asked for, s | took, s | steps |\n|---|---|---|---|---|")
    failures = 0
    for name, run in runs():
        run(l2s.load("ft06"), time_limit=0.2)  # compiles
        for size, instance in instances.items():
            for limit in map(float, options.limits.split(",")):
                begin = time.perf_counter()
                result = run(instance, time_limit=limit, known_bounds=False)
                took = time.perf_counter() - begin
                late = instance.n_operations <= LARGE and took > limit + LATEST
                early = result.stopped_by == "seconds" and result.seconds < limit
                failures += late or early
                mark = " (late)" if late else " (early)" if early else ""
                print(f"| {name} | {size} | {limit:g} | {took:.2f}{mark} | {result.steps} |", flush=True)
    return 1 if failures else 0


def make(size: str) -> Instance:
    jobs, machines = map(int, size.split("x"))
    return l2s.generate.uniform(jobs, machines, seed=1)


if __name__ == "__main__":
    sys.exit(main())
