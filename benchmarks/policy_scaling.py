"""Cost of one improvement step with the policy network against the numbers of jobs and machines (paper, appendix C).

    python benchmarks/policy_scaling.py [--output results.json] [--plot docs/images/policy-scaling.png]

needs the extra `plot`. Whole steps of a local search (critical path, N5 moves, network, apply, evaluate) in the
compiled gear, in one thread, from a random schedule; random weights: speed does not depend on them. The figure is the
median processor time over rounds that go through all sizes in turn, so that whatever else the machine does hits all of
them. The growth exponent is the slope of a straight line through the logarithms: 1 is linear growth.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from heuristics.loop.memory import Memory
from heuristics.loop.search import Search
from heuristics.members import random_order
from l2s_plugin.generate import taillard
from l2s_plugin.policy.checkpoint import Policy
from l2s_plugin.policy.config import PolicyConfig
from l2s_plugin.policy.selector import L2SSelector
from tests.policies import random_policy

JOBS = (20, 50, 100, 200, 500, 1000)
MACHINES = (5, 10, 15, 20, 30, 40)
SERIES = [("jobs", 10), ("jobs", 40), ("machines", 40), ("machines", 1000)]  # what varies, and the other one


def search_on(n_jobs: int, n_machines: int, policy: Policy) -> tuple[Search, np.ndarray]:
    """A search, and a random linear order to start from."""
    instance = taillard(n_jobs, n_machines, 1, 2)
    order = random_order(instance, np.random.default_rng(1))
    return Search(instance, "n5", L2SSelector(policy), Memory(tenure=(1, 1)), seed=1), order


def steps(search: Search, order: np.ndarray, count: int) -> float:
    """Seconds per step, from the start."""
    search.start(order)
    before, start = search.step, time.thread_time()
    search.run(before + count)
    return (time.thread_time() - start) / (search.step - before)


def sizes_of(varied: str, other: int) -> list[tuple[int, int]]:
    return [(n, other) for n in JOBS] if varied == "jobs" else [(other, n) for n in MACHINES]


def measure(width: int, rounds: int) -> dict[tuple[int, int], float]:
    """Median seconds per step of every size."""
    policy = random_policy(PolicyConfig(width=width, action_width=width))
    sizes = sorted({size for series in SERIES for size in sizes_of(*series)})
    seconds: dict[tuple[int, int], list[float]] = {size: [] for size in sizes}
    searches = {size: search_on(*size, policy) for size in sizes}
    for turn in range(rounds + 1):
        for size in sizes:
            taken = steps(*searches[size], max(1, 20000 // (size[0] * size[1])))
            if turn:  # the first round warms up
                seconds[size].append(taken)
    return {size: statistics.median(values) for size, values in seconds.items()}


def plot(rows: list[dict[str, Any]], path: str) -> None:
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots(1, 2, figsize=(10, 6), layout="constrained")
    for axis, varied, other in zip(axes, ("jobs", "machines"), ("machines", "jobs"), strict=True):
        shown = [row for row in rows if row["varied"] == varied]
        for row in shown:
            label = f"width {row['width']}, {row['fixed']} {other} (exponent {row['exponent']:.2f})"
            axis.plot(row["values"], row["milliseconds"], "o-", markersize=4, label=label)
        values = np.array(shown[0]["values"])
        lowest = min(row["milliseconds"][-1] for row in shown) / 2.5
        axis.plot(values, lowest * values / values[-1], "k--", linewidth=1, label="linear growth")
        axis.set(xlabel=f"number of {varied}", ylabel="milliseconds per step", xscale="log", yscale="log")
        axis.set_xticks(values, labels=[str(value) for value in values])
        axis.minorticks_off()
        axis.grid(True, alpha=0.3)
        axis.legend(fontsize=8, loc="upper center", bbox_to_anchor=(0.5, -0.12))
    figure.suptitle("One improvement step with the policy network, everything included, one core")
    figure.savefig(path, dpi=110)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--widths", default="128,32")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--output", help="write the figures to this JSON file")
    parser.add_argument("--plot", help="draw them into this file")
    options = parser.parse_args()

    rows = []
    for width in map(int, options.widths.split(",")):
        seconds = measure(width, options.rounds)
        for varied, other in SERIES:
            sizes = sizes_of(varied, other)
            values = [size[0] if varied == "jobs" else size[1] for size in sizes]
            times = [seconds[size] for size in sizes]
            exponent = float(np.polyfit(np.log(values), np.log(times), 1)[0])
            rows.append(
                {
                    "width": width,
                    "varied": varied,
                    "fixed": other,
                    "values": values,
                    "milliseconds": [round(1e3 * t, 4) for t in times],
                    "exponent": round(exponent, 3),
                }
            )
            fixed = f"{other} {'machines' if varied == 'jobs' else 'jobs'}"
            line = "  ".join(f"{v}: {1e3 * t:.2f}" for v, t in zip(values, times, strict=True))
            print(f"width {width}, {fixed}, ms per step by {varied}: {line}  (exponent {exponent:.2f})", flush=True)
    if options.output:
        with open(options.output, "w") as file:
            json.dump({"threads": 1, "rounds": options.rounds, "rows": rows}, file, indent=1)
    if options.plot:
        plot(rows, options.plot)


if __name__ == "__main__":
    main()
