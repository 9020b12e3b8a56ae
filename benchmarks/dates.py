"""Release and due dates: the largest lateness beside CP-SAT's, proofs on small shops, and planning again.

python benchmarks/dates.py lateness     20 shops: the hybrid, 10 s on one core, beside CP-SAT, 60 s on two
python benchmarks/dates.py proofs       20 shops, 6x6: what we find in 2 s beside what CP-SAT proves
python benchmarks/dates.py replan       a 30x20 shop at half of its time: after 0.2 s and after 5 s
"""

from __future__ import annotations

import time

import click
import numpy as np

from heuristics import solve
from integrations import cp_sat
from l2s_plugin.generate import uniform, with_dates
from l2s_plugin.instance import Instance


def shop(jobs: int, machines: int, seed: int) -> Instance:
    """The instance of a seed: medium tightness, lateness to be minimised."""
    return with_dates(uniform(jobs, machines, seed), seed).with_objective("lateness")


@click.group(help=__doc__)
def main() -> None:
    pass


@main.command()
@click.option("--ours", default=10.0, show_default=True, help="Seconds of the hybrid, on one core.")
@click.option("--theirs", default=60.0, show_default=True, help="Seconds of CP-SAT, on two.")
@click.option("--count", default=10, show_default=True, help="Shops of each size.")
def lateness(ours: float, theirs: float, count: int) -> None:
    """Largest lateness, one seed."""
    cp_sat.hybrid(shop(4, 4, 0), time_limit=0.1)  # compiles
    wins, worst, rows = 0, 0.0, 0
    click.echo("shop      bound    ours  CP-SAT  difference, % of the makespan")
    for jobs, machines in ((15, 15), (20, 15)):
        for seed in range(count):
            instance = shop(jobs, machines, 100 + seed)
            found = cp_sat.hybrid(instance, time_limit=ours, workers=1, seed=1)
            other = cp_sat.solve(instance, time_limit=theirs, workers=2)
            above = 100 * (found.value - other.value) / found.makespan
            wins, worst, rows = wins + (found.value <= other.value), max(worst, above), rows + 1
            bound = max(found.bound, other.bound)
            click.echo(f"{jobs}x{machines}-{seed}  {bound:6}  {found.value:6}  {other.value:6}  {above:+.2f}")
    click.echo(f"at or below CP-SAT on {wins} of {rows}, at most {worst:.2f} % of the makespan above")


@main.command()
def proofs() -> None:
    """How many of our results CP-SAT proves optimal."""
    same = 0
    for seed in range(20):
        instance = shop(6, 6, seed)
        found = solve(instance, time_limit=2.0, workers=1, seed=1)
        proven = cp_sat.solve(instance, warm_start=found, time_limit=60, workers=2)
        same += proven.status == "OPTIMAL" and proven.value == found.value
    click.echo(f"proven optimal: {same} of 20")


@main.command()
def replan() -> None:
    """Planning again, with a machine that breaks down."""
    from heuristics import replan as plan_again

    rows = []
    for seed in range(5):
        instance = shop(30, 20, 200 + seed)
        plan = solve(instance, time_limit=5.0, workers=1, seed=1).schedule
        at = plan.makespan // 2
        change = {"at": at, "down": [(seed, at, at + 300)]}
        plan_again(instance, plan, **change, time_limit=0.05)  # compiles
        begin = time.perf_counter()
        first = plan_again(instance, plan, **change, time_limit=0.1, workers=1)
        seconds = time.perf_counter() - begin
        last = plan_again(instance, plan, **change, time_limit=5.0, workers=1)
        rows.append((seconds, first.moved_right.value, first.result.value, last.result.value))
        click.echo("shop {}: {:.2f} s; moved to the right {}, at once {}, after 5 s {}".format(seed, *rows[-1]))
    seconds, right, _, after = np.array(rows).T
    click.echo(
        f"first plan after {seconds.max():.2f} s at most; better after 5 s on {(after < right).sum()} of {len(rows)}"
    )


if __name__ == "__main__":
    main()
