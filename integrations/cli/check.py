"""`l2s check`: is this file a correct schedule of that instance? Shares no code with the search."""

from __future__ import annotations

import json

import click

from integrations.cli import example
from integrations.cli.completion import files, instances
from integrations.cli.terminal import echo
from l2s_plugin.errors import L2SError, ScheduleError


@click.command(epilog=example("l2s check ta01 ta01.json"))
@click.argument("instance", shell_complete=instances)
@click.argument("schedule", metavar="SCHEDULE.json", shell_complete=files)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object and nothing else.")
@click.pass_context
def check(ctx: click.Context, instance: str, schedule: str, as_json: bool) -> None:
    """Verify that SCHEDULE.json is a correct schedule of INSTANCE.

    Prints the makespan, or the first violated constraint and ends with code 1. Files that cannot be read as
    an instance or as a schedule at all end with code 2. One of the two may be - for standard input.
    """
    from l2s_plugin.loader import load
    from l2s_plugin.schedule import read_schedule_json
    from l2s_plugin.verification import verify_dict

    if instance == schedule == "-":
        raise L2SError("INSTANCE and SCHEDULE.json cannot both be read from standard input")
    problem = load(instance)
    data = read_schedule_json(schedule)
    violation = None
    try:
        verify_dict(problem, data, schedule)
    except ScheduleError as error:
        violation = str(error)
    makespan = data["makespan"] if violation is None else None
    if as_json:
        report = {"instance": problem.name, "schedule": schedule, "ok": violation is None}
        echo(json.dumps(report | {"makespan": makespan, "violation": violation}))
    else:
        echo(f"ok: makespan {makespan} ({problem.name})" if violation is None else f"violated: {violation}")
    ctx.exit(0 if violation is None else 1)
