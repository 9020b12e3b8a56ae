"""The best of several policies, each with the whole budget (the paper's ensemble).

    l2s train --preset fast --seed 0 --output out/0; ...
    python benchmarks/ensemble.py out/0/best.safetensors out/1/best.safetensors l2s [--sets ta:15x15 ta:20x15]

Policies are names or files. Local search with N5 from FDD/MWKR, one run per instance and policy; prints mean gaps
in % of each and of the ensemble.
"""

from __future__ import annotations

import argparse

import numpy as np

import l2s_plugin as l2s
from heuristics import ensemble_search
from integrations.bench.sets import groups
from l2s_plugin.data import benchmark_info
from l2s_plugin.policy import L2SSelector


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("policies", nargs="+")
    parser.add_argument("--sets", nargs="+", default=["ta:15x15", "ta:20x15", "ta:20x20"])
    parser.add_argument("--steps", nargs="+", type=int, default=[500, 5000])
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    selectors = [L2SSelector(policy) for policy in options.policies]
    print(f"| | {' | '.join(options.policies)} | ensemble |")
    print("|---" * (len(selectors) + 2) + "|")
    for group, names in groups(options.sets).items():
        for steps in options.steps:
            gaps = []
            for name in names:
                found = ensemble_search(
                    l2s.load(name),
                    selectors,
                    stop=l2s.stop.steps(steps),
                    seed=options.seed,
                    neighbourhood="n5",
                    known_bounds=False,
                )
                makespans = np.array([result.makespan for result in found.singles])
                gaps.append(100 * (np.append(makespans, makespans.min()) / benchmark_info(name).upper_bound - 1))
            text = " | ".join(f"{mean:.2f}" for mean in np.mean(gaps, axis=0))
            print(f"| {group}, {steps} steps | {text} |", flush=True)


if __name__ == "__main__":
    main()
