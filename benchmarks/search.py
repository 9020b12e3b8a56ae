"""How fast and how good the compiled search is.

    python benchmarks/search.py speed                       steps per second by size and neighbourhood
    python benchmarks/search.py gaps --time 10 --seeds 3    mean gap to the best known makespan after 10 s on one core
    python benchmarks/search.py curve ta42 40x20/2#1 --time 600 --workers 2         the incumbent over time
    python benchmarks/search.py steps                       tabu search at equal numbers of steps
    python benchmarks/search.py annealing --seeds 6         annealed against tabu search, at equal numbers of steps
    python benchmarks/search.py plugin                      compiled selectors of others against the built-in rule
    python benchmarks/search.py start                       time to the first result, cold and with cached kernels
    python benchmarks/search.py scale                       a million operations
    python benchmarks/search.py extreme                     the paper's extremely large instances, after 500 steps

Each prints a table; `--output FILE.json` keeps the figures. Speeds are steps per second of the thread's processor time,
so that other programs on the machine disturb them less; gaps are for seconds on the clock. `extreme` takes random
instances as in the paper, seeds 1, 2, ...; its gaps are % above the one-machine bound, with the seconds of a run.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np

import l2s_plugin as l2s
from heuristics import Configuration, dispatch, local_search, run, solve, tabu_search
from heuristics.hosts.trajectories import tabu_memory
from heuristics.loop.search import Search
from heuristics.training.instances import Size
from l2s_plugin.data import benchmark_info, benchmark_sets
from l2s_plugin.kernels.compile import kernel
from l2s_plugin.selectors import CompiledSelector, score_kernel

TAILLARD = ["15x15", "20x15", "20x20", "30x15", "30x20", "50x15", "50x20", "100x20"]
ANNEALED = ["20x20", "20x15/2", "30x20", "30x20/2", "40x20/2", "50x20/2", "40x40", "50x50", "100x20/2", "100x100"]
GROUPS = [f"ta-{size}" for size in TAILLARD] + ["swv-20x10", "swv-20x15", "swv-50x10"]


def table(rows: list[dict[str, Any]]) -> str:
    """Rows with equal keys as a Markdown table."""
    heads = list(rows[0])
    lines = [heads, ["---"] * len(heads), *([str(row[head]) for head in heads] for row in rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def steps_per_second(instance: l2s.Instance, neighbourhood: str, selector: Any, steps: int, repeats: int = 5) -> float:
    """Median over several stretches of one search that starts at fdd/mwkr, first stretch left out."""
    search = Search(instance, neighbourhood, selector, tabu_memory(instance, None), seed=1)
    search.start(dispatch(instance).linear_order)
    speeds = []
    for _ in range(repeats + 1):
        search.run(search.step)  # nothing to do: loads the kernel
        first, begin = search.step, time.thread_time()
        search.run(search.step + steps)
        speeds.append((search.step - first) / max(time.thread_time() - begin, 1e-9))
        if search.step - first < steps:  # a schedule without moves is optimal: measure the way there
            break
    return float(np.median(speeds[1:] or speeds))


def speed(options: argparse.Namespace) -> list[dict[str, Any]]:
    rows = []
    cases = [("ta01", 50_000), ("ta41", 50_000), ("ta71", 400), ("1000x40", 300)]
    for name, steps in cases:
        instance = l2s.generate.uniform(1000, 40, seed=1) if name == "1000x40" else l2s.load(name)
        row: dict[str, Any] = {"instance": name, "size": instance.size}
        for neighbourhood in ("n1", "n4", "n5", "n6", "n7"):
            row[neighbourhood] = f"{steps_per_second(instance, neighbourhood, 'estimate', steps) / 1000:.1f} k"
        row["memory"] = f"{resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f} MB"
        rows.append(row)
    return rows


def one_gap(task: tuple[str, int, float | None, int | None, dict[str, Any]]) -> tuple[str, int, float, float, int]:
    """Solve one instance once; returns name, seed, gap in %, seconds, steps. It ends early where no gap is left."""
    name, seed, seconds, steps, arguments = task
    instance = l2s.load(name)
    stop = l2s.stop.steps(steps) if steps else l2s.stop.seconds(seconds or 10)
    result = solve(instance, stop=stop, seed=seed, **arguments)
    gap = 100 * (result.makespan / benchmark_info(name).upper_bound - 1)
    return name, seed, gap, result.seconds, result.steps


def gaps(options: argparse.Namespace) -> list[dict[str, Any]]:
    arguments = {"workers": options.workers} | json.loads(options.arguments)
    solve(l2s.load("ft06"), stop=l2s.stop.steps(10), **arguments)  # compile before the clocks run
    chosen = {group: benchmark_sets()[group] for group in options.groups or GROUPS}
    chosen = {group: names[:: options.every] for group, names in chosen.items()}
    tasks = [
        (name, seed, options.time, options.steps, arguments)
        for names in chosen.values()
        for name in names
        for seed in range(1, options.seeds + 1)
    ]
    with ProcessPoolExecutor(options.processes, mp_context=get_context("spawn")) as pool:
        runs = list(pool.map(one_gap, tasks))
    rows = []
    for group, names in chosen.items():
        mine = [run for run in runs if run[0] in names]
        values = np.array([run[2] for run in mine])
        rows.append(
            {
                "group": group,
                "instances": len(names),
                "gap %": f"{values.mean():.2f}",
                "± s.e.": f"{values.std(ddof=1) / np.sqrt(len(values)):.2f}",
                "at best known": f"{(values <= 0).sum()}/{len(values)}",
                "seconds": f"{np.mean([run[3] for run in mine]):.1f}",
                "k steps/s": f"{sum(run[4] for run in mine) / sum(run[3] for run in mine) / 1000:.0f}",
            }
        )
    return rows


def curve(options: argparse.Namespace) -> list[dict[str, Any]]:
    """The makespan after parts of the time, of one run after the other."""
    arguments = {"method": options.method, "workers": options.workers} | json.loads(options.arguments)
    run(l2s.load("ft06"), Configuration(**arguments, time_limit=0.1))  # compile before the clocks run
    rows = []
    for name in options.names:
        instance = shop(name)
        for seed in range(1, options.seeds + 1):
            way = Configuration(**arguments, time_limit=options.time, seed=seed, known_bounds=False)
            result = run(instance, way)
            row: dict[str, Any] = {"instance": name, "bound": result.lower_bound}
            for part in (1 / 60, 1 / 20, 1 / 6, 1 / 3, 1 / 2, 1):
                found = [value for seconds, _, value in result.history if seconds <= part * options.time]
                row[f"{part * options.time:g} s"] = min(found, default="")
            rows.append(row | {"k steps/s": f"{result.steps / result.seconds / 1000:.0f}"})
            print(rows[-1], file=sys.stderr)
    return rows


def steps(options: argparse.Namespace) -> list[dict[str, Any]]:
    rows = []
    for group in GROUPS[:8]:
        row: dict[str, Any] = {"group": group}
        for limit in (500, 5000, 50_000):
            found = [
                tabu_search(
                    l2s.load(name), "estimate", "n5", stop=l2s.stop.steps(limit), seed=seed, known_bounds=False
                ).makespan
                / benchmark_info(name).upper_bound
                for name in benchmark_sets()[group]
                for seed in range(1, options.seeds + 1)
            ]
            row[f"{limit} steps, gap %"] = f"{100 * (np.mean(found) - 1):.2f}"
        rows.append(row)
    return rows


def shop(name: str) -> l2s.Instance:
    """A random shop by its size and number, as in "40x20/2#1", or a benchmark instance by its name."""
    size, _, number = name.partition("#")
    return Size(*map(int, re.split("[x/]", size))).instance(int(number)) if number else l2s.load(name)


def one_shop(task: tuple[str, int, bool]) -> int:
    """The makespan that a population reaches after so many steps for each operation."""
    name, steps, anneal = task
    instance = shop(name)
    stop = l2s.stop.steps(steps * instance.n_operations)
    return solve(instance, stop=stop, anneal=anneal, seed=1).makespan


def annealing(options: argparse.Namespace) -> list[dict[str, Any]]:
    """The difference of the makespan in %, with the standard error over shops; below 0, annealing is better."""
    rows = []
    with ProcessPoolExecutor(options.processes, mp_context=get_context("spawn")) as pool:
        for size in options.names or ANNEALED:
            row: dict[str, Any] = {"shops": size}
            for steps in (130, 400, 2000, 6000):
                row[f"{steps} steps"] = ""
                if steps * shop(f"{size}#1").n_operations > 2_500_000:
                    continue
                tasks = [(f"{size}#{50 + k}", steps, anneal) for k in range(options.seeds) for anneal in (False, True)]
                found = np.array(list(pool.map(one_shop, tasks)), float).reshape(-1, 2)
                change = 100 * (found[:, 1] / found[:, 0] - 1)
                error = change.std(ddof=1) / np.sqrt(len(change)) if len(change) > 1 else np.nan
                row[f"{steps} steps"] = f"{change.mean():+.2f} ± {error:.2f}"
            rows.append(row)
            print(row, file=sys.stderr)
    return rows


def plugin(options: argparse.Namespace) -> list[dict[str, Any]]:
    """The rule of tabu search built in, and as others would write it, by turns; all take the same steps but the last.

    `inlined`: compiled into a loop of its own, which shows what the call of a pointer costs.
    """
    sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "plugins" / "l2s-example"))
    from l2s_example.selector import compiled  # type: ignore[import-not-found]

    def smallest(state, moves, count, parameters, scores):  # type: ignore[no-untyped-def]
        for row in range(count):
            scores[row] = -moves.value[row]

    pointer = score_kernel(smallest)
    selectors = {
        "built in": "estimate",
        "plugin": CompiledSelector("plugin", pointer, values="smallest"),
        "plugin, all estimates": CompiledSelector("all", pointer),
        "inlined": CompiledSelector("inlined", kernel(smallest), values="smallest"),
        "example-compiled": compiled(),
    }
    rows = []
    for name in ("la38", "ta41"):
        instance = l2s.load(name)
        speeds = np.array(
            [
                [steps_per_second(instance, "n7", selector, 50_000, 3) for selector in selectors.values()]
                for _ in range(options.rounds)
            ]
        )
        ratios = np.median(speeds / speeds[:, :1], axis=0)
        row = {"instance": name, "built in": f"{np.median(speeds[:, 0]) / 1000:.0f} k/s"}
        rows.append(row | {label: f"{ratio:.2f}" for label, ratio in list(zip(selectors, ratios, strict=True))[1:]})
    return rows


def start(options: argparse.Namespace) -> list[dict[str, Any]]:
    words = ["solve", "ft06", "--method", "tabu", "--max-steps", "1000", "--quiet"]
    command = [str(Path(sys.executable).parent / "l2s"), *words]
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for label in ("cold: everything is compiled", "cached", "cached again"):
            begin, before = time.perf_counter(), resource.getrusage(resource.RUSAGE_CHILDREN)
            subprocess.run(command, check=True, env=os.environ | {"L2S_CACHE_DIR": folder}, capture_output=True)
            seconds, after = time.perf_counter() - begin, resource.getrusage(resource.RUSAGE_CHILDREN)
            processor = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
            rows.append({"start": label, "seconds": f"{seconds:.2f}", "of processor time": f"{processor:.2f}"})
    return rows


def scale(options: argparse.Namespace) -> list[dict[str, Any]]:
    rows = []

    def stage(what: str, begin: float, note: str) -> None:
        memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
        rows.append(
            {"stage": what, "seconds": f"{time.perf_counter() - begin:.1f}", "peak": f"{memory:.2f} GB", "": note}
        )
        print(rows[-1], file=sys.stderr)

    begin = time.perf_counter()
    instance = l2s.generate.uniform(options.jobs, options.machines, seed=1)
    stage("generate", begin, f"{instance.n_operations:,} operations")
    begin = time.perf_counter()
    bound = l2s.bounds.lower_bound(instance)
    stage("lower bound", begin, str(bound))
    begin = time.perf_counter()
    schedule = dispatch(instance)
    stage("dispatch", begin, f"makespan {schedule.makespan}")
    begin = time.perf_counter()
    result = tabu_search(instance, initial=schedule, stop=l2s.stop.seconds(options.time))
    stage("tabu search", begin, f"makespan {result.makespan}, {result.steps} steps")
    return rows


def extreme(options: argparse.Namespace) -> list[dict[str, Any]]:
    limit, seconds = l2s.stop.steps(500), l2s.stop.seconds(options.time)
    runs: dict[str, Callable[[l2s.Instance], Any]] = {
        "FDD/MWKR": dispatch,
        "`l2s`, 500 steps": lambda instance: local_search(instance, "l2s", "n5", stop=limit, seed=1),
        "`estimate`, 500 steps": lambda instance: tabu_search(instance, "estimate", "n7", stop=limit, seed=1),
        f"`memetic`, {options.time:g} s": lambda instance: solve(instance, stop=seconds, seed=1),
    }
    for search in runs.values():
        search(l2s.load("ft06"))  # compile before the clocks run
    rows = []
    for n_jobs, n_machines in ((200, 40), (500, 60), (1000, 40)):
        instances = [l2s.generate.uniform(n_jobs, n_machines, seed=seed) for seed in range(1, options.seeds + 1)]
        row: dict[str, Any] = {"": f"{n_jobs}x{n_machines}"}
        for name, search in runs.items():
            begin = time.perf_counter()
            gaps = [100 * (search(each).makespan / l2s.bounds.lower_bound(each) - 1) for each in instances]
            row[name] = f"{np.mean(gaps):.2f} ({(time.perf_counter() - begin) / len(gaps):.1f} s)"
        rows.append(row)
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = {
        function.__name__: function
        for function in (speed, gaps, curve, steps, annealing, plugin, start, scale, extreme)
    }
    parser.add_argument("command", choices=commands)
    parser.add_argument("names", nargs="*", help="curve: the instances; annealing: sizes")
    parser.add_argument("--method", default="memetic", help="curve: the method")
    parser.add_argument("--output", type=Path, help="write the rows as JSON")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--time", type=float, default=10, help="seconds for a run")
    parser.add_argument("--steps", type=int, help="gaps: steps for a run, instead of seconds")
    parser.add_argument("--groups", nargs="*", help=f"gaps: groups of instances, default {' '.join(GROUPS)}")
    parser.add_argument("--every", type=int, default=1, help="gaps: take every k-th instance of a group")
    parser.add_argument("--processes", type=int, default=1, help="gaps, annealing: runs side by side")
    parser.add_argument("--workers", type=int, default=1, help="gaps: threads of a run")
    parser.add_argument("--arguments", default="{}", help="gaps: JSON object of further arguments of heuristics.solve")
    parser.add_argument("--rounds", type=int, default=9, help="plugin: turns of each selector")
    parser.add_argument("--jobs", type=int, default=1000, help="scale")
    parser.add_argument("--machines", type=int, default=1000, help="scale")
    options = parser.parse_args()
    rows = commands[options.command](options)
    print(table(rows))
    if options.output:
        options.output.write_text(json.dumps({"command": sys.argv, "rows": rows}, indent=2) + "\n")


if __name__ == "__main__":
    main()
