"""The paper's extremely large instances: 200x40, 500x60 and 1000x40, after 500 steps and after a few seconds.

    python benchmarks/extreme_sizes.py [--instances 3] [--time 10] [--sizes 200x40,500x60]

Random instances as in the paper (durations 1 to 99, every job on every machine), seeds 1, 2, ...; gaps are % above the
one-machine lower bound, in brackets the seconds of a run, all on one core.

FDD/MWKR       the dispatching rule from which all begin
l2s, 500       local search with N5 and the policy `l2s`, 500 steps: the paper's setting
estimate, 500  tabu search with N7 and the classic rule, 500 steps
solve          the population search, `--time` seconds or until the bound is met
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable

import numpy as np

import l2s_plugin as l2s
from heuristics import dispatch, local_search, solve, tabu_search

STEPS = l2s.stop.steps(500)


def methods(seconds: float) -> dict[str, Callable[[l2s.Instance], int]]:
    """What is compared: from an instance to a makespan."""
    return {
        "FDD/MWKR": lambda instance: dispatch(instance).makespan,
        "`l2s`, 500 steps": lambda instance: local_search(instance, "l2s", "n5", stop=STEPS, seed=1).makespan,
        "`estimate`, 500 steps": lambda instance: tabu_search(instance, "estimate", "n7", stop=STEPS, seed=1).makespan,
        f"`solve`, {seconds:g} s": lambda instance: solve(instance, stop=l2s.stop.seconds(seconds), seed=1).makespan,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--instances", type=int, default=3)
    parser.add_argument("--time", type=float, default=10)
    parser.add_argument("--sizes", default="200x40,500x60,1000x40")
    options = parser.parse_args()
    compared = methods(options.time)
    for run in compared.values():
        run(l2s.load("ft06"))  # compile before the clocks run
    print(f"| | {' | '.join(compared)} |")
    print("|---" * (len(compared) + 1) + "|")
    for size in options.sizes.split(","):
        jobs, machines = map(int, size.split("x"))
        row = [size]
        instances = [l2s.generate.uniform(jobs, machines, seed=seed) for seed in range(1, options.instances + 1)]
        bounds = [l2s.bounds.lower_bound(instance) for instance in instances]
        for run in compared.values():
            begin = time.perf_counter()
            gaps = [100 * (run(each) / bound - 1) for each, bound in zip(instances, bounds, strict=True)]
            row.append(f"{np.mean(gaps):.2f} ({(time.perf_counter() - begin) / len(gaps):.1f} s)")
        print(f"| {' | '.join(row)} |", flush=True)


if __name__ == "__main__":
    main()
