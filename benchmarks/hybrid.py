"""Who wins at equal cores and equal time: CP-SAT alone, the search alone, CP-SAT warm-started, or the hybrid.

    python benchmarks/hybrid.py [--time 10,60] [--workers 2] [--seeds 1] [--methods search,hybrid]
                                [--instances ta01,swv06,200x40] [--quick] [--output DIR]

needs the extras `cp-sat` and `plot`. Prints a table, and writes results.json and an anytime plot per time limit. The
default instances are two of each Taillard and each swv group, and random ones like Taillard's of 200x40, 500x60 and
1000x40; `--quick` takes six. No bound is looked up in the literature (`known_bounds=False`): what
counts as proven here was proven here.

cp-sat     `cp_sat.solve` without a warm start; "none" where it has no schedule when time is up
search     `heuristics.solve`
warm       the search for a fifth of the time, then `cp_sat.solve` with its schedule for the rest
hybrid     `cp_sat.hybrid`

Gaps are % above the best known makespan, or above the best lower bound of all methods where none is known; `*` marks
what is proven optimal.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import re
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

import l2s_plugin as l2s
from heuristics import Result, solve
from integrations import cp_sat
from l2s_plugin.instance import Instance

GROUPS = {
    "ta 15x15": ("ta01", "ta05"),
    "ta 20x15": ("ta11", "ta14"),
    "ta 20x20": ("ta21", "ta24"),
    "ta 30x15": ("ta31", "ta35"),
    "ta 30x20": ("ta41", "ta45"),
    "ta 50x15": ("ta51", "ta56"),
    "ta 50x20": ("ta61", "ta67"),
    "ta 100x20": ("ta71", "ta75"),
    "swv 20x10": ("swv01", "swv03"),
    "swv 20x15": ("swv06", "swv10"),
    "swv 50x10": ("swv12", "swv16"),
    "200x40": ("200x40",),
    "500x60": ("500x60",),
    "1000x40": ("1000x40",),
}
QUICK = ("ta01", "ta11", "ta21", "ta41", "ta71", "swv06")
METHODS = ("cp-sat", "search", "warm", "hybrid")


Cases = dict[str, tuple[Instance, int | None]]  # by name: the instance, and the best makespan known
Table = dict[str, dict[str, Result]]  # by instance and method
Methods = tuple[str, ...]


def load(name: str) -> tuple[Instance, int | None]:
    """An instance by name or size, and the best makespan known for it."""
    if re.fullmatch(r"\d+x\d+", name):
        n_jobs, n_machines = map(int, name.split("x"))
        instance = l2s.generate.taillard(n_jobs, n_machines, *l2s.generate.taillard_seeds(1))
    else:
        instance = l2s.load(name)
    return instance, instance.upper_bound


def run_warm(instance: Instance, seconds: float, **options: Any) -> Result:
    first = solve(instance, time_limit=seconds / 5, **options)
    then = cp_sat.solve(instance, first, time_limit=max(seconds - first.seconds, 0.1), **options)
    later = [(first.seconds + time, step, makespan) for time, step, makespan in then.history[1:]]
    return replace(then, seconds=first.seconds + then.seconds, history=first.history + later)


RUNNERS: dict[str, Callable[..., Result]] = {
    "cp-sat": lambda instance, seconds, **options: cp_sat.solve(instance, time_limit=seconds, **options),
    "search": lambda instance, seconds, **options: solve(instance, time_limit=seconds, **options),
    "warm": run_warm,
    "hybrid": lambda instance, seconds, **options: cp_sat.hybrid(instance, time_limit=seconds, **options),
}


def proven(run: Result) -> bool:
    return bool(run.history) and run.makespan == run.lower_bound


def length(run: Result) -> float:
    """Its makespan; CP-SAT may have found nothing."""
    return run.makespan if run.history else float("nan")


def length_at(run: Result, seconds: float) -> float:
    return min((makespan for time, _, makespan in run.history if time <= seconds), default=float("nan"))


def gap(makespan: float, reference: int) -> float:
    return 100 * (makespan / reference - 1)


def reference_of(known: int | None, runs: dict[str, Result]) -> int:
    return known or max(run.lower_bound for run in runs.values())


def row(name: str, known: int | None, runs: dict[str, Result]) -> str:
    reference = reference_of(known, runs)
    cells = [f"{name:>9} {reference:>6} {max(run.lower_bound for run in runs.values()):>6}"]
    for run in runs.values():
        text = f"{run.makespan}{'*' if proven(run) else ' '}" if run.history else "none"
        cells.append(f"{text:>8} {gap(length(run), reference):>7.2f}")
    return " ".join(cells)


def compare(instances: Cases, methods: Methods, seconds: float, workers: int, seeds: int) -> dict:
    """Run everything at one time limit and print the tables."""
    tables: list[Table] = []
    twice: list[dict[str, Result]] = []
    for seed in range(seeds):
        options = {"workers": workers, "seed": seed, "known_bounds": False}
        print(f"\n{seconds:g} s, {workers} cores, seed {seed}; load {os.getloadavg()[0]:.1f} before")
        print(f"{'instance':>9} {'best':>6} {'bound':>6}", *(f"{method:>8}   gap %" for method in methods), flush=True)
        table: Table = {}
        for name, (instance, known) in instances.items():
            table[name] = {method: RUNNERS[method](instance, seconds, **options) for method in methods}
            print(row(name, known, table[name]), flush=True)
        tables.append(table)
        twice.append(missing_proofs(table, instances, seconds, **options))
    print_means(tables, instances, methods)
    print_verdict(tables, instances, methods, twice)
    print(f"load {os.getloadavg()[0]:.1f} after")
    return {"seconds": seconds, "workers": workers, "runs": tables, "hybrid_in_twice_the_time": twice}


def group_gaps(tables: list[Table], instances: Cases, methods: Methods) -> dict[str, dict[str, list[float]]]:
    """Mean gap per group, method and seed; not a number where a method has no schedule for one of the group."""
    return {
        group: {
            method: [
                float(np.mean([gap(length(t[n][method]), reference_of(instances[n][1], t[n])) for n in members]))
                for t in tables
            ]
            for method in methods
        }
        for group, names in GROUPS.items()
        if (members := [name for name in names if name in instances])
    }


def print_means(tables: list[Table], instances: Cases, methods: Methods) -> None:
    print(f"\nmean gap in % and its standard error over {len(tables)} seeds")
    for group, gaps in group_gaps(tables, instances, methods).items():
        cells = []
        for method in methods:
            error = np.std(gaps[method], ddof=1) / len(tables) ** 0.5 if len(tables) > 1 else float("nan")
            cells.append(f"{method:>8} {np.mean(gaps[method]):>7.2f} ({error:.2f})")
        print(f"{group:>10}", *cells)


def missing_proofs(table: Table, instances: Cases, seconds: float, **options: Any) -> dict[str, Result]:
    """The hybrid in twice the time, where only CP-SAT alone had a proof."""
    return {
        name: RUNNERS["hybrid"](instances[name][0], 2 * seconds, **options)
        for name, runs in table.items()
        if {"cp-sat", "hybrid"} <= set(runs) and proven(runs["cp-sat"]) and not proven(runs["hybrid"])
    }


def print_verdict(tables: list[Table], instances: Cases, methods: Methods, twice: list[dict[str, Result]]) -> None:
    def listed(names: set[str]) -> str:
        return ", ".join(sorted(names)) or "none"

    if {"cp-sat", "hybrid"} <= set(methods):
        worse = {n for table in tables for n, runs in table.items() if length(runs["hybrid"]) > length(runs["cp-sat"])}
        unproven = {name for proofs in twice for name, run in proofs.items() if not proven(run)}
        print(f"hybrid worse than CP-SAT alone, in any run: {listed(worse)}")
        print(f"proven by CP-SAT alone, not by the hybrid in twice the time: {listed(unproven)}")
    if {"search", "hybrid"} <= set(methods):
        gaps = group_gaps(tables, instances, methods)
        groups = {group for group, v in gaps.items() if np.mean(v["hybrid"]) > np.mean(v["search"]) + 1e-9}
        print(f"hybrid worse than the search on the mean of: {listed(groups)}")
    proofs = {method: sum(proven(runs[method]) for table in tables for runs in table.values()) for method in methods}
    print("proofs:", ", ".join(f"{method} {count}" for method, count in proofs.items()))


def plot(comparison: dict, instances: Cases, methods: Methods, path: Path) -> None:
    """Mean gap over the instances and seeds against time."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    times = np.geomspace(0.05, comparison["seconds"], 200)
    figure, axes = plt.subplots(figsize=(7, 4.5), layout="constrained")
    for method in methods:
        curves = [
            [gap(length_at(runs[method], time), reference_of(instances[name][1], runs)) for time in times]
            for table in comparison["runs"]
            for name, runs in table.items()
        ]
        axes.plot(times, np.mean(curves, axis=0), label=method)  # begins when all instances have a schedule
    axes.set(xscale="log", xlabel="seconds", ylabel="mean gap, %")
    axes.set_yscale("symlog", linthresh=1)
    axes.set_title(f"{len(instances)} instances, {comparison['workers']} cores")
    axes.grid(alpha=0.3)
    axes.legend()
    figure.savefig(path, dpi=150)
    plt.close(figure)


def machine_description() -> dict[str, Any]:
    import ortools

    return {
        "platform": platform.platform(),
        "cores": os.cpu_count(),
        "python": platform.python_version(),
        "ortools": ortools.__version__,
        "load": os.getloadavg(),
        "command": " ".join(sys.argv),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--time", default="10,60", help="time limits in seconds")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--instances", help="names, or sizes of random instances such as 200x40")
    parser.add_argument("--quick", action="store_true", help="six instances")
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--methods", default=",".join(METHODS))
    parser.add_argument("--output", type=Path, default=Path("out/hybrid"))
    options = parser.parse_args()

    methods = tuple(options.methods.split(","))
    if unknown := set(methods) - set(METHODS):
        parser.error(f"unknown method {', '.join(unknown)}; there are {', '.join(METHODS)}")
    names = [name for group in GROUPS.values() for name in group]
    if options.quick:
        names = list(QUICK)
    if options.instances:
        names = options.instances.split(",")
    for name in names:
        if not any(name in group for group in GROUPS.values()):
            GROUPS[name] = (name,)
    instances = {name: load(name) for name in names}
    options.output.mkdir(parents=True, exist_ok=True)
    solve(instances[names[0]][0], l2s.stop.steps(1))  # compile before the clock runs
    report: dict[str, Any] = {"machine": machine_description(), "comparisons": []}
    for seconds in (float(part) for part in options.time.split(",")):
        comparison = compare(instances, methods, seconds, options.workers, options.seeds)
        plot(comparison, instances, methods, options.output / f"anytime-{seconds:g}s.png")
        report["comparisons"].append(comparison)
        text = json.dumps(report, default=Result.to_dict, indent=1)
        (options.output / "results.json").write_text(text + "\n")


if __name__ == "__main__":
    main()
