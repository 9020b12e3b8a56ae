"""The learned selector against the hand-made rule, same host, starts, seeds and neighbourhood.

    python benchmarks/learned_vs_rule.py steps --seeds 5                 equal numbers of steps, tabu search
    python benchmarks/learned_vs_rule.py time --time 10 --seeds 1        equal time, the population search of `solve`
    python benchmarks/learned_vs_rule.py polish                          single trajectories around members
    python benchmarks/learned_vs_rule.py speed                           time of a step, by turns in one process
    python benchmarks/learned_vs_rule.py steps --policy out/mine/best.safetensors --host local-search --rule boltzmann

The set `two-sets` are ten random shops of two sets of machines; their best makespans known are kept in a file, which
`time` brings up to date. Tables have the mean gap to the best known makespan in percent; the difference is learned
minus rule, with the standard error of its mean over instances (the seeds of an instance are averaged first).
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import l2s_plugin as l2s
from heuristics import ProcessPool, local_search, portfolio, tabu_search
from heuristics.configuration import Configuration
from heuristics.training.config import preset
from heuristics.training.instances import parse_size
from heuristics.training.trials import FIRST_SEED, Trial
from integrations.bench.sets import groups
from l2s_plugin.policy import L2SSelector

Gaps = NDArray[np.float64]

SETS = ("ta", "la", "orb", "swv", "yn")
LONG_RUNS = ("ta:20x15", "ta:20x20", "ta:30x15", "ta:30x20", "swv")
TWO_SETS = "two-sets"  # random shops whose jobs pass one half of the machines before the other
TWO_SET_SIZES = ((20, 15), (30, 15), (30, 20), (40, 20), (50, 20))
MILESTONES = (500, 1000, 2000, 5000)
POLISHING = (1000, 4000, 12_500)
POLISHED_SIZES = ("20x20", "30x20", "20x15/2", "30x20/2")
UNSEEN = FIRST_SEED + 100_000  # random shops from here on are in no training and no validation


def rows(label: str, rule: Gaps, learned: Gaps, names: tuple[str, str] = ("rule", "learned")) -> Iterator[str]:
    """A line of the table per column of (instance, column)."""
    difference = learned - rule
    errors = difference.std(axis=0, ddof=min(1, len(difference) - 1)) / np.sqrt(len(difference))
    relative = 100 * difference.mean(axis=0) / np.maximum(rule.mean(axis=0), 1e-9)
    for name, values in zip(names, (rule.mean(axis=0), learned.mean(axis=0)), strict=True):
        yield f"| {label} | {name} | " + " | ".join(f"{value:.2f}" for value in values) + " |"
    cells = [
        f"{mean:+.2f} ± {error:.2f} ({share:+.0f} %)"
        for mean, error, share in zip(difference.mean(axis=0), errors, relative, strict=True)
    ]
    yield f"| {label} | difference | " + " | ".join(cells) + " |"


def compare_steps(args: argparse.Namespace) -> None:
    """Single trajectories, gap after so many steps."""
    search: Any = tabu_search if args.host == "tabu" else local_search
    learned = L2SSelector(args.policy, sample=args.host != "tabu")
    print("| group | selector | " + " | ".join(f"{steps}" for steps in MILESTONES) + " |")
    print("|---|---|" + "---|" * len(MILESTONES))
    for neighbourhood in args.neighbourhood:
        for name, members in groups(args.sets or SETS).items():
            instances = [l2s.load(member) for member in members]
            results = []
            for selector in (args.rule, learned):
                gaps = [
                    [_gaps(search(
                        instance, selector, neighbourhood, stop=l2s.stop.steps(MILESTONES[-1]), seed=seed,
                        known_bounds=False,
                    )) for seed in range(1, args.seeds + 1)]
                    for instance in instances
                ]  # fmt: skip
                results.append(np.array(gaps).mean(axis=1))
            for line in rows(f"{name} {neighbourhood}", *results):
                print(line, flush=True)


def _gaps(result: Any) -> list[float]:
    best = result.instance.upper_bound
    reached = [min(makespan for _, step, makespan in result.history if step <= steps) for steps in MILESTONES]
    return [100 * (makespan / best - 1) for makespan in reached]


def compare_time(args: argparse.Namespace) -> None:
    """The population search, gap after so many seconds on one core: trajectories of the rule alone, and with every
    sixth one polishing, by the learned selector or (`--control`) by the rule. Runs that have no gap left end early."""
    print(f"| group | polisher | {args.time:g} s |\n|---|---|---|")
    polishers: dict[str, str | None] = {"none": None}
    if args.control:
        polishers[args.rule] = args.rule
    polishers["learned"] = f"l2s-fast:{args.policy or 'l2s-polish'}"
    configurations = [
        Configuration("memetic", selector=args.rule, polisher=polisher, label=label)
        for label, polisher in polishers.items()
    ]
    bests = Bests(args.reference)
    everything: list[Gaps] = []
    for group, members in timed_groups(args.sets or LONG_RUNS).items():
        runs = portfolio(
            members, configurations, range(1, args.seeds + 1), partial(ProcessPool, args.processes),
            stop=l2s.stop.seconds(args.time),
        ).wait()  # fmt: skip
        makespans, names = np.zeros((len(polishers), len(members), args.seeds)), [member.name for member in members]
        for run in runs.runs:
            if run.result is None:
                raise SystemExit(run.error)
            which = list(polishers).index(run.configuration.label)
            makespans[which, names.index(run.instance.name), run.seed - 1] = run.result.makespan
        known = [bests.of(member, int(makespans[:, k].min())) for k, member in enumerate(members)]
        gaps = 100 * (makespans.mean(axis=2) / known - 1)
        everything.append(gaps[:, :, None])
        _print_time(group, everything[-1], list(polishers))
    _print_time("all", np.concatenate(everything, axis=1), list(polishers))
    bests.save()


def timed_groups(words: Sequence[str]) -> dict[str, list[l2s.Instance]]:
    """Instances by group; of `two-sets`, two of each size."""
    chosen = {}
    for word in words:
        if word == TWO_SETS:
            shops = [(size, seed) for size in TWO_SET_SIZES for seed in (1, 2)]
            chosen[word] = [
                l2s.generate.uniform(*size, seed, stages=2).with_details(name=f"{size[0]}x{size[1]}/2#{seed}")
                for size, seed in shops
            ]
        else:
            chosen |= {group: [l2s.load(name) for name in names] for group, names in groups([word]).items()}
    return chosen


class Bests:
    """The best makespans that any run of this script has found on random shops, in a file."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._known: dict[str, int] = json.loads(file.read_text()) if file.exists() else {}

    def of(self, instance: l2s.Instance, found: int) -> int:
        """The best makespan known: from the literature, or from earlier runs and this one."""
        if instance.upper_bound is not None:
            return instance.upper_bound
        name = str(instance.name)
        self._known[name] = min(found, self._known.get(name, found))
        return self._known[name]

    def save(self) -> None:
        if self._known:
            self._file.write_text(json.dumps(self._known, indent=2) + "\n")


def _print_time(group: str, means: Gaps, names: list[str]) -> None:
    for name, gaps in zip(names[1:], means[1:], strict=True):
        for line in rows(group, means[0], gaps, (names[0], name)):
            print(line, flush=True)


def compare_polish(args: argparse.Namespace) -> None:
    """Trajectories that begin in populations of shops that no training saw, each drawn to a member: how often they find
    something better than that member, and how far they stay above it."""
    selectors = ("estimate", "l2s-fast", f"l2s-fast:{args.policy or 'l2s-polish'}")
    print("| shops | selector | " + " | ".join(f"above after {steps}" for steps in POLISHING) + " | better |")
    print("|---|---|" + "---|" * len(POLISHING) + "---|")
    results: dict[str, list[NDArray[np.int64]]] = {}
    for size in POLISHED_SIZES:
        shops = [parse_size(size).instance(UNSEEN + k) for k in range(args.trials)]
        trial = Trial(preset("polish"), shops, UNSEEN, POLISHING, threads=args.processes)
        for selector in selectors:
            with ThreadPoolExecutor(args.processes) as pool:
                found = np.array([*pool.map(partial(trial.makespans, selector), range(args.trials))])
            results.setdefault(selector, []).append(found)
            _print_polish(size, selector, found)
    for selector, parts in results.items():
        _print_polish("all", selector, np.concatenate(parts))


def _print_polish(size: str, selector: str, found: NDArray[np.int64]) -> None:
    above = 100 * (found[:, 1:] / found[:, :1] - 1)
    better = 100 * (found[:, -1] < found[:, 0]).mean()
    cells = " | ".join(f"{value:.2f}" for value in above.mean(axis=0))
    print(f"| {size} | {selector} | {cells} | {better:.1f} % |", flush=True)


def compare_speed(args: argparse.Namespace) -> None:
    """Steps per second, by turns, so that noise meets both."""
    print("| | rule, us per step | learned | ratio |\n|---|---|---|---|")
    learned = L2SSelector(args.policy or "l2s-fast", sample=False)
    for name in ("ta01", "ta21", "ta41", "swv06"):
        instance = l2s.load(name)
        for neighbourhood in args.neighbourhood:
            seconds: list[list[float]] = [[], []]
            for turn in range(2 * args.turns):
                begin = time.process_time()
                selector = learned if turn % 2 else args.rule
                tabu_search(
                    instance, selector, neighbourhood, stop=l2s.stop.steps(100_000), seed=turn // 2, known_bounds=False
                )
                seconds[turn % 2].append(time.process_time() - begin)
            rule, own = (10 * float(np.median(part)) for part in seconds)
            print(f"| {name} {neighbourhood} | {rule:.2f} | {own:.2f} | {own / rule:.2f} |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("mode", choices=("steps", "time", "polish", "speed"))
    parser.add_argument("--policy", help="name or file; the shipped one by default")
    parser.add_argument("--rule", default="estimate")
    parser.add_argument("--host", default="tabu", choices=("tabu", "local-search"))
    parser.add_argument("--neighbourhood", action="append", help="n5 and n7 by default")
    parser.add_argument("--sets", nargs="*")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--control", action="store_true", help="with `time`: let the rule polish, too")
    parser.add_argument("--time", type=float, default=10.0)
    parser.add_argument(
        "--reference",
        type=Path,
        default=Path(__file__).with_name("two_sets.json"),
        help="with `time` and the set two-sets: where the best makespans known are kept",
    )
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--trials", type=int, default=320, help="with `polish`: trajectories on shops of each size")
    parser.add_argument("--turns", type=int, default=5)
    args = parser.parse_args()
    args.neighbourhood = args.neighbourhood or ["n5", "n7"]
    args.policy = args.policy or ("l2s-fast" if args.host == "tabu" and args.mode == "steps" else None)
    modes = {"steps": compare_steps, "time": compare_time, "polish": compare_polish, "speed": compare_speed}
    modes[args.mode](args)


if __name__ == "__main__":
    main()
