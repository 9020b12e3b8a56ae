"""Two versions of this program side by side: whether they search the same way, and how fast.

    python benchmarks/beside.py ../before       this folder beside another checkout

Each has a process of its own, and they take turns, so that whatever else the machine does disturbs both alike. Ratios
are of steps per second of processor time, now over before: the median of pairs, and the quartiles.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import click
import numpy as np

HERE = Path(__file__).resolve().parents[1]
NEIGHBOURHOODS = ("n1", "n4", "n5", "n6", "n7")
SPEED = {"ta01": 20_000, "ta41": 20_000, "ta71": 300, "1000x40": 60}  # steps of a stretch
SAME = {"ft10": 20_000, "la16": 20_000, "ta01": 20_000, "ta21": 10_000, "ta41": 10_000, "ta51": 5000, "swv01": 10_000}


@click.command(help=__doc__)
@click.argument("before", type=click.Path(exists=True, file_okay=False, resolve_path=True))
@click.option("--pairs", default=15, show_default=True, help="Stretches of each search.")
def main(before: str, pairs: int) -> None:
    """Ask both, in turns."""
    versions = [_start(Path(before)), _start(HERE)]
    found = [_ask(version, ["trajectories", SAME]) for version in versions]
    same = sum(a == b for a, b in zip(*found, strict=True))
    click.echo(f"the same makespans, at the same steps: {same} of {len(found[0])} runs\n")
    click.echo("| instance | " + " | ".join(NEIGHBOURHOODS) + " |\n" + "|---" * (1 + len(NEIGHBOURHOODS)) + "|")
    for name, steps in SPEED.items():
        cells = []
        for neighbourhood in NEIGHBOURHOODS:
            rows = []
            for pair in range(pairs + 1):
                asked = versions if pair % 2 else versions[::-1]
                speeds = [_ask(version, ["speed", name, neighbourhood, steps]) for version in asked]
                rows.append(speeds if pair % 2 else speeds[::-1])
            ratio = np.divide(*np.array(rows[1:]).T[::-1])  # the first is warming up
            low, middle, high = np.quantile(ratio, (0.25, 0.5, 0.75))
            cells.append(f"{middle:.3f} ({low:.3f} to {high:.3f})")
        click.echo(f"| {name} | " + " | ".join(cells) + " |")


def _start(tree: Path) -> subprocess.Popen[str]:
    command = [sys.executable, "-P", __file__, "--answer"]
    environment = os.environ | {"PYTHONPATH": str(tree)}
    return subprocess.Popen(command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def _ask(version: subprocess.Popen[str], question: list[Any]) -> Any:
    assert version.stdin is not None
    assert version.stdout is not None
    print(json.dumps(question), file=version.stdin, flush=True)
    return json.loads(version.stdout.readline())


def answer() -> None:
    """What a version does: it answers questions until there are no more."""
    import l2s_plugin as l2s
    from heuristics import dispatch, local_search, solve, tabu_search
    from heuristics.hosts.trajectories import tabu_memory
    from heuristics.loop.search import Search

    searches: dict[tuple[str, str], Search] = {}

    def speed(name: str, neighbourhood: str, steps: int) -> float:
        if (name, neighbourhood) not in searches:
            instance = l2s.generate.uniform(1000, 40, seed=1) if name == "1000x40" else l2s.load(name)
            search = Search(instance, neighbourhood, "estimate", tabu_memory(instance, None), seed=1)
            search.start(dispatch(instance).linear_order)
            searches[name, neighbourhood] = search
        search = searches[name, neighbourhood]
        search.run(search.step)  # nothing to do: loads the kernel
        first, begin = search.step, time.thread_time()
        search.run(search.step + steps)
        seconds, taken = time.thread_time() - begin, search.step - first
        if taken < steps:  # without a move left, a schedule is optimal: from the beginning again
            del searches[name, neighbourhood]
        return taken / seconds if taken else speed(name, neighbourhood, steps)

    def trajectories(cases: dict[str, int]) -> list[list[tuple[int, int]]]:
        found = []
        for name, steps in cases.items():
            instance, stop = l2s.load(name), l2s.stop.steps(steps)
            found += [tabu_search(instance, neighbourhood=each, stop=stop, seed=3) for each in NEIGHBOURHOODS]
            found += [local_search(instance, stop=stop, seed=3), solve(instance, stop=stop, seed=3)]
        return [[(step, makespan) for _, step, makespan in result.history] for result in found]

    for line in sys.stdin:
        kind, *details = json.loads(line)
        print(json.dumps({"speed": speed, "trajectories": trajectories}[kind](*details)), flush=True)


if __name__ == "__main__":
    answer() if sys.argv[1:] == ["--answer"] else main()
