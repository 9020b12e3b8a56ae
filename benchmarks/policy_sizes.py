"""What a policy over graphs is worth on sizes other than its own, on random instances that training never saw.

    python benchmarks/policy_sizes.py --policy NAME|FILE [--steps 500] [--processes 2]

Local search with N5 from FDD/MWKR, only the immediate undo forbidden; percentage above the one-machine bound, and the
difference from random moves on the same instances with its standard error. Batch normalisation with the statistics of
training (`running`), and with those of each graph alone (`batch`).
"""

from __future__ import annotations

import argparse
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace

import numpy as np

from heuristics.training.config import preset
from heuristics.training.trials import Validation
from l2s_plugin.policy.config import PolicyConfig
from l2s_plugin.policy.library import find_policy
from l2s_plugin.policy.selector import L2SSelector

COUNTS = {"10x10": 300, "15x15": 100, "20x10": 60, "20x15": 60, "30x15": 40, "30x20": 40}
FIRST = 200  # those before may have chosen the checkpoint
FORMS = ("random", "running", "batch")


def gaps(task: tuple[str, int, str, str]) -> list[float]:
    """Of all instances of a size, by random moves or by the policy with one kind of statistics."""
    size, steps, name, form = task
    changes = {"validation_size": size, "validation_instances": COUNTS[size], "validation_steps": steps}
    selector: str | L2SSelector = "random"
    if form != "random":
        policy = find_policy(name)
        selector = L2SSelector(replace(policy, config=replace(policy.config, normalisation=form)))
    return Validation(preset("paper").with_changes(changes), first=FIRST).gaps_of(selector)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--policy", required=True, help="a policy over graphs, by name or file")
    parser.add_argument("--steps", type=int, default=500)
    parser.add_argument("--processes", type=int, default=2)
    args = parser.parse_args()
    if not isinstance(find_policy(args.policy).config, PolicyConfig):
        parser.error(f"{args.policy} is a policy over moves: it normalises nothing")
    tasks = [(size, args.steps, args.policy, form) for size in COUNTS for form in FORMS]
    with ProcessPoolExecutor(args.processes) as pool:
        results = dict(zip(tasks, map(np.array, pool.map(gaps, tasks)), strict=True))
    print("| | instances | random moves | running | | batch | |\n" + "|---" * 7 + "|")
    for size, count in COUNTS.items():
        random, *learned = (results[size, args.steps, args.policy, form] for form in FORMS)
        row = [size, str(count), f"{random.mean():.2f}"]
        for values in learned:
            difference = values - random
            error = difference.std(ddof=1) / len(difference) ** 0.5
            row += [f"{values.mean():.2f}", f"{difference.mean():+.2f} ± {error:.2f}"]
        print("| " + " | ".join(row) + " |")


if __name__ == "__main__":
    main()
