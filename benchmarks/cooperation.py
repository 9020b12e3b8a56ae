"""Whether more workers give better schedules: cooperating searches against one search, and against more tries.

    python benchmarks/cooperation.py --time 10 --seeds 3
    python benchmarks/cooperation.py --steps 3000000 --seeds 3    T in steps of each worker, for a machine that is busy

Mean gap to the best known makespan, in percent, of

    1 worker, T          one search for T seconds
    1 worker, 2T         one search for twice as long: as much work as the rows below
    2 tries, T           the better of two searches that know nothing of each other
    2 threads, T         `solve(workers=2)`: two populations in one process
    2 workers, T         `cooperate(workers=2)`: two populations in processes of their own

on ta41-45 and swv06-10. Both cores of the machine are busy all the time: single searches run two at a time.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

import l2s_plugin as l2s
from heuristics import Configuration, ProcessPool, cooperate, portfolio, solve
from l2s_plugin.data import benchmark_info
from l2s_plugin.files import write_text

GROUPS = {
    "ta41-45 (30x20)": [f"ta{k}" for k in range(41, 46)],
    "swv06-10 (20x15)": ["swv06", "swv07", "swv08", "swv09", "swv10"],
}
WAYS = ("1 worker, T", "1 worker, 2T", "2 tries, T", "2 threads, T", "2 workers, T")

Runs = dict[str, dict[str, list[int]]]  # way, instance: makespans
Budget = Callable[[int, int], l2s.stop.Stop]


def measure(names: list[str], budget: Budget, seeds: int, exchange: float) -> Runs:
    """Makespans of every way on every instance; `budget(workers, factor)` is the stop of a run."""
    runs: Runs = {way: {name: [] for name in names} for way in WAYS}
    for way, factor in (("1 worker, T", 1), ("1 worker, 2T", 2)):
        executor = partial(ProcessPool, 2)
        alone = Configuration("solve", options={"known_bounds": False})
        singles = portfolio(names, alone, range(2 * seeds), executor, stop=budget(1, factor)).wait()
        for run in sorted(singles.runs, key=lambda run: run.seed):
            if run.result is None:
                raise SystemExit(run.error)
            runs[way][run.instance.name].append(run.result.makespan)
    stop = budget(2, 1)
    for name in names:
        single = runs["1 worker, T"][name]
        runs["2 tries, T"][name] = [min(pair) for pair in zip(single[::2], single[1::2], strict=True)]
        instance = l2s.load(name)
        for seed in range(seeds):
            runs["2 threads, T"][name].append(solve(instance, stop, seed, workers=2, known_bounds=False).makespan)
            together = cooperate(instance, stop, seed, workers=2, exchange=exchange, known_bounds=False)
            runs["2 workers, T"][name].append(together.makespan)
            print(f"{name}, seed {seed}: {together.makespan}", flush=True)
    return runs


def table(runs: Runs) -> list[dict[str, Any]]:
    """A row per way, with the mean gap and its standard error over all runs of a group."""
    rows = []
    for way in WAYS:
        row: dict[str, Any] = {"": way}
        for group, names in {**GROUPS, "all": list(chain(*GROUPS.values()))}.items():
            gaps = [
                100 * (makespan / benchmark_info(name).upper_bound - 1)
                for name in names
                for makespan in runs[way].get(name, [])
            ]
            if gaps:
                row[group] = f"{np.mean(gaps):.2f} ± {np.std(gaps, ddof=1) / np.sqrt(len(gaps)):.2f}"
        rows.append(row)
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--time", type=float, default=10, metavar="T", help="seconds")
    parser.add_argument("--steps", type=int, metavar="T", help="steps of each worker, instead of seconds")
    parser.add_argument("--seeds", type=int, default=3, help="runs of two workers, and twice as many of one")
    parser.add_argument("--exchange", type=float, default=1.0, metavar="S", help="seconds between two exchanges")
    parser.add_argument("--instances", nargs="*", help="some of the instances only")
    parser.add_argument("--output", type=Path, metavar="FILE.json", help="keep the makespans")
    options = parser.parse_args()

    def budget(workers: int, factor: int) -> l2s.stop.Stop:
        if options.steps:
            return l2s.stop.steps(options.steps * workers * factor)
        return l2s.stop.seconds(options.time * factor)

    names = options.instances or list(chain(*GROUPS.values()))
    runs = measure(names, budget, options.seeds, options.exchange)
    if options.output:
        write_text(options.output, json.dumps({"options": vars(options), "runs": runs}, default=str) + "\n")
    rows = table(runs)
    lines = [list(rows[0]), ["---"] * len(rows[0]), *(list(row.values()) for row in rows)]
    print("\n".join(f"| {' | '.join(line)} |" for line in lines))


if __name__ == "__main__":
    main()
