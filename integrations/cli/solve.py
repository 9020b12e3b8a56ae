"""`l2s solve`: from an instance to a verified schedule."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from l2s_plugin.errors import L2SError
from l2s_plugin.files import check_writable

if TYPE_CHECKING:
    from l2s_plugin.schedule import Schedule

METHODS = ("dispatch",)
DEFAULT_RULE = "fdd/mwkr"


@click.command()
@click.argument("instance")
@click.option("--method", type=click.Choice(METHODS), default="dispatch", show_default=True, help="How to solve.")
@click.option(
    "--init",
    metavar="RULE",
    default=DEFAULT_RULE,
    show_default=True,
    help="Dispatching rule of the first schedule.",
)
@click.option("--seed", type=click.IntRange(0, 2**32 - 1), default=0, show_default=True, help="Settles ties.")
@click.option("--output", metavar="SCHEDULE.json", help="Write the schedule; - prints it.")
@click.option("--gantt", metavar="FILE.png|svg", help="Draw the schedule.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object and nothing else.")
def solve(
    instance: str, method: str, init: str, seed: int, output: str | None, gantt: str | None, as_json: bool
) -> None:
    """Find a good schedule for INSTANCE.

    INSTANCE is a benchmark name (ta01, la16, ft06, ...), a file in any known format, or - for standard input.
    Every schedule is verified, with code of its own, before it is shown or written.
    """
    check_outputs(output, gantt, as_json)
    schedule, report = run(instance, method, init, seed)
    if output:
        schedule.save(output)
    if gantt:
        schedule.gantt(gantt)
    if as_json:
        click.echo(json.dumps(report))
    elif output != "-":
        click.echo(render(report, [path for path in (output, gantt) if path]))


def check_outputs(output: str | None, gantt: str | None, as_json: bool) -> None:
    """Find out before the work starts that its results could not be written."""
    from l2s_plugin.registry import default_registry
    from l2s_plugin.specs import RendererSpec

    if output == "-" and as_json:
        raise L2SError("--output - and --json both want standard output; choose one")
    for path in (output, gantt):
        if path:
            check_writable(path)
    if gantt:
        ending = Path(gantt).suffix.lstrip(".").lower()
        if not ending:
            raise L2SError(f"--gantt {gantt}: the file's ending says how to draw, as in gantt.png")
        default_registry().load(RendererSpec, ending)


def run(name: str, method: str, rule: str, seed: int) -> tuple[Schedule, dict[str, Any]]:
    """Load, solve and verify; returns the schedule and what `--json` says about it."""
    from heuristics.dispatching import dispatch
    from l2s_plugin.bounds import lower_bound
    from l2s_plugin.loader import load

    instance = load(name)
    begin = time.perf_counter()
    schedule = dispatch(instance, rule, seed=seed)
    seconds = time.perf_counter() - begin
    schedule.verify()
    bound = lower_bound(instance)
    known = instance.lower_bound  # from the literature, or from the file: not to be trusted above a schedule
    if known and bound < known <= schedule.makespan:
        bound = known
    return schedule, {
        "instance": instance.name,
        "makespan": schedule.makespan,
        "lower_bound": bound,
        "upper_bound": instance.upper_bound,
        "status": "OPTIMAL" if schedule.makespan == bound else "FEASIBLE",
        "steps": 0,
        "seconds": round(seconds, 6),
        "steps_per_second": None,
        "method": method,
        "init": rule,
        "selector": None,
        "neighbourhood": None,
        "gear": None,
        "seed": seed,
        "history": [[round(seconds, 6), 0, schedule.makespan]],
    }


def render(report: dict[str, Any], written: list[str]) -> str:
    """The report for people: the result in one line, then the files."""
    facts = [f"makespan {report['makespan']}", f"lower bound {report['lower_bound']}"]
    best = report["upper_bound"]
    if best:
        facts.append(f"best known {best} ({100 * (report['makespan'] / best - 1):+.1f} %)")
    line = f"{report['instance']}: {', '.join(facts)}, {report['status']}, {report['seconds']:.3f} s"
    return "\n".join([line, *(f"wrote {path}" for path in written)])
