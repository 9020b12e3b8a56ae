"""`l2s instances`, `generate`, `convert` and `check`: list, make and translate instances, and verify schedules."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

import click

from integrations.cli import completion, example, parameters
from integrations.cli.terminal import echo
from l2s_plugin import data
from l2s_plugin.errors import L2SError, ScheduleError
from l2s_plugin.generate import TIGHTNESS
from l2s_plugin.instance import NO_DUE_DATE, Instance
from l2s_plugin.specs import InstanceFormatSpec


def _format_option(spelling: str, name: str, text: str) -> Callable[[Any], Any]:
    formats = completion.names_of(InstanceFormatSpec)
    return click.option(spelling, name, metavar="NAME", shell_complete=formats, help=text)


@click.command(epilog=example("l2s instances ta:30x20"))
@click.argument("words", metavar="[SET|NAME]...", nargs=-1, shell_complete=completion.instances)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
def instances(words: tuple[str, ...], as_json: bool) -> None:
    """List the benchmark instances with their size and best known bounds.

    A SET is one of abz, ft, la, orb, swv, ta, yn, a group such as ta:30x20, or a size such as 15x15.
    """
    names = data.select(words) if words else data.benchmark_names()
    rows = [
        {"name": entry.name, "set": entry.set, "size": entry.size, **entry._asdict()}
        | {"status": "solved" if entry.is_solved else "open"}
        for entry in map(data.benchmark_info, names)
    ]
    if as_json:
        echo(json.dumps(rows, indent=1))
        return
    echo(f"{'name':<6} {'size':>7} {'lower':>6} {'upper':>6}  status")
    for row in rows:
        echo("{name:<6} {size:>7} {lower_bound:>6} {upper_bound:>6}  {status}".format_map(row))


def _size(ctx: click.Context, parameter: click.Parameter, text: str) -> tuple[int, int]:
    match = re.fullmatch(r"([0-9]{1,9})[xX]([0-9]{1,9})", text)
    if not match:
        raise click.BadParameter(f"{text!r}, expected jobs x machines such as 10x10")
    return int(match[1]), int(match[2])


@click.command(epilog=example("l2s generate 20x15 --seed 7 -o random.txt"))
@click.argument("size", callback=_size)
@click.option("--seed", type=click.IntRange(min=0), help="Any number; 0 unless given.")
@click.option(
    "--distribution",
    type=click.Choice(["taillard", "uniform"]),
    default="taillard",
    show_default=True,
    help="Taillard's generator, or the uniform one of the paper.",
)
@click.option("--stages", type=int, help="Of the uniform one: jobs pass so many sets of machines one after the other.")
@click.option(
    "--dates",
    type=click.Choice(list(TIGHTNESS)),
    help="Release dates, and due dates as hard or easy to meet as this says.",
)
@click.option("--time-seed", type=int, help="Taillard's seed of the durations, instead of --seed.")
@click.option("--machine-seed", type=int, help="Taillard's seed of the machine orders, instead of --seed.")
@completion.path_option(
    "-o", "--output", default="-", metavar="FILE", help="Where to write; standard output unless given."
)
@_format_option("--format", "format_name", "Format, unless the file's ending says it.")
def generate(
    size: tuple[int, int],
    seed: int | None,
    distribution: str,
    stages: int | None,
    dates: str | None,
    time_seed: int | None,
    machine_seed: int | None,
    output: str,
    format_name: str | None,
) -> None:
    """Make a random instance of SIZE jobs x machines, such as 10x10.

    The same seed gives the same instance. `--time-seed 840612802 --machine-seed 398197754` and 15x15 is ta01.
    """
    from l2s_plugin import generate as generators
    from l2s_plugin.loader import save

    if stages is not None and distribution != "uniform":
        raise click.UsageError("--stages goes with --distribution uniform")
    if time_seed is not None or machine_seed is not None:
        if time_seed is None or machine_seed is None:
            raise click.UsageError("--time-seed and --machine-seed belong together")
        if distribution != "taillard" or seed is not None:
            raise click.UsageError("--time-seed and --machine-seed go without --seed, and with Taillard only")
        instance = generators.taillard(*size, time_seed, machine_seed)
    elif distribution == "taillard":
        instance = generators.taillard(*size, *generators.taillard_seeds(seed or 0))
    else:
        instance = generators.uniform(*size, seed or 0, stages=1 if stages is None else stages)
    if dates is not None:
        instance = generators.with_dates(instance, seed or 0, dates)
        if output == "-" and format_name is None:
            format_name = "l2s-json"  # the standard format has no dates
    save(instance, output, format_name)


@click.command(epilog=example("l2s convert random.txt random.json"))
@click.argument("source", metavar="INPUT", shell_complete=completion.instances)
@click.argument("target", metavar="OUTPUT", shell_complete=completion.files)
@_format_option("--from", "source_format", "Format of INPUT, unless its contents say it.")
@_format_option("--to", "target_format", "Format of OUTPUT, unless its ending says it.")
def convert(source: str, target: str, source_format: str | None, target_format: str | None) -> None:
    """Write the instance INPUT (a file, a benchmark name or -) to the file OUTPUT in another format.

    Of a file with several instances, FILE#0 is the first. OUTPUT - is standard output, in the standard format
    unless --to names another.
    """
    from l2s_plugin.loader import load, save

    save(load(source, source_format), target, target_format)


@click.command(epilog=example("l2s check ta01 ta01.json"))
@click.argument("instance", shell_complete=completion.instances)
@click.argument("schedule", metavar="SCHEDULE.json|csv|xlsx", shell_complete=completion.files)
@parameters.clock_options
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object and nothing else.")
@click.pass_context
def check(ctx: click.Context, instance: str, schedule: str, as_json: bool, **times: str | None) -> None:
    """Verify that SCHEDULE is a correct schedule of INSTANCE.

    Prints the makespan and, where there are due dates, the largest lateness; or the first violated constraint, and
    ends with code 1. Files that cannot be read as an instance or as a schedule at all end with code 2. One of the two
    may be - for standard input. A table with times of the clock needs --start-at.
    """
    from l2s_plugin.loader import load
    from l2s_plugin.tables import read_plan_dict
    from l2s_plugin.verification import verify_dict

    if instance == schedule == "-":
        raise L2SError("INSTANCE and SCHEDULE cannot both be read from standard input")
    clock, problem = parameters.clock(times), load(instance)
    if clock is not None:
        problem = problem.with_details(clock=clock)
    data = read_plan_dict(problem, schedule)
    makespan, violation, late = None, None, None
    try:
        verify_dict(problem, data, schedule)
        makespan, late = data["makespan"], _late_jobs(problem, data["start"])
    except ScheduleError as error:
        violation = str(error)
    if as_json:
        report = {"instance": problem.name, "schedule": schedule, "ok": violation is None}
        lateness = (
            {} if problem.due is None else dict(zip(("lateness", "late_jobs"), late or (None, None), strict=True))
        )
        echo(json.dumps(report | {"makespan": makespan, **lateness, "violation": violation}))
    elif violation is not None:
        echo(f"violated: {violation}")
    else:
        dates = "" if late is None else f", lateness {late[0]}, {late[1]} of {problem.n_jobs} jobs late"
        echo(f"ok: makespan {makespan}{dates} ({problem.name})")
    ctx.exit(0 if violation is None else 1)


def _late_jobs(instance: Instance, start: list[int]) -> tuple[int, int] | None:
    """The largest lateness and the number of late jobs; None without due dates."""
    if instance.due is None:
        return None
    last = instance.job_offset[1:] - 1
    ends = [start[x] + int(instance.duration[x]) for x in last.tolist()]
    late = [end - due for end, due in zip(ends, instance.due.tolist(), strict=True) if due != NO_DUE_DATE]
    return max(late), sum(each > 0 for each in late)
