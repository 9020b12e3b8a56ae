"""`l2s replan`: from a plan, and what happened since, to a new plan."""

from __future__ import annotations

import re
import sys
from contextlib import nullcontext
from typing import Any

import click

from heuristics.configuration import LIMITS, Configuration
from integrations.cli import completion, example, parameters
from integrations.cli.delivery import Delivery, Patience
from integrations.cli.paths import Problem, plan
from integrations.cli.solve import check_request, choose, common_options, listener, stop_of
from integrations.cli.terminal import ProgressDisplay, echo
from l2s_plugin import kernels
from l2s_plugin.errors import L2SError
from l2s_plugin.files import check_writable
from l2s_plugin.objectives import MAKESPAN

_TIME = r"\d{4}-\d\d-\d\d(?:T[\d:.]+)?|-?\d+"
_DOWN = re.compile(rf"(.+?):({_TIME})-({_TIME})?", re.DOTALL)
_DELAY = re.compile(rf"(.+?):({_TIME})", re.DOTALL)


@click.command(epilog=example("l2s replan orders.csv plan.csv --at 600 --down lathe:600-840 --output new.csv"))
@click.argument("instance", shell_complete=completion.instances)
@click.argument("schedule", metavar="SCHEDULE", shell_complete=completion.files)
@click.option("--at", required=True, metavar="TIME", help="What has begun by then stays, nothing else starts before.")
@completion.path_option("--add", metavar="FILE", help="New jobs: an instance whose machines have the same names.")
@click.option("--drop", multiple=True, metavar="JOB", help="A job that is cancelled; several times.")
@click.option(
    "--down", multiple=True, metavar="MACHINE:FROM-TO", help="A machine that does nothing meanwhile; several times."
)
@click.option(
    "--delay", multiple=True, metavar="OPERATION:END", help="An operation (JOB/STEP) that ends then; several times."
)
@click.option("--keep-order", multiple=True, metavar="MACHINE", help="A machine whose sequence stays; several times.")
@click.option(
    "--under-way",
    type=click.Choice(["waits", "restarts"]),
    default="waits",
    show_default=True,
    help="What an operation does that is under way on a machine that is down.",
)
@completion.path_option(
    "--instance-output", metavar="FILE", help="Write the instance as it is now: `l2s check` and the next plan need it."
)
@common_options
@click.pass_context
def replan(ctx: click.Context, **options: Any) -> None:
    """Plan the rest of SCHEDULE, a plan of INSTANCE, again at a TIME.

    What has ended or is under way stays as it is. The rest is searched, beginning with the old plan moved to the right,
    so that the new plan is never worse than that. It holds past and future, and the summary says what changed.

    SCHEDULE is what `l2s solve --output` wrote: .json, .csv or .xlsx. Jobs, machines and operations go by their names,
    or by numbers where they have none; an operation is JOB/STEP, with steps from 1, or JOB/NAME.
    """
    kernels.quiet |= options["quiet"]
    given, stop = parameters.given_search(options), stop_of(options)
    check_request(ctx, given)
    if "initial" in given:
        raise click.UsageError("--init says where to begin; planning again begins with the old plan", ctx)
    parameters.check_parts(Configuration(options["method"] or parameters.AUTOMATIC[0], stop=stop, **given))
    news = {
        "drop": options["drop"],
        "keep_order": options["keep_order"],
        "down": [_split("--down", _DOWN, text, "MACHINE:FROM-TO") for text in options["down"]],
        "delay": [_split("--delay", _DELAY, text, "OPERATION:END") for text in options["delay"]],
        "under_way": options["under_way"],
    }

    from l2s_plugin.loader import load, save
    from l2s_plugin.tables import read_plan

    clock = parameters.clock(options)
    instance = load(options["instance"])
    if clock is not None:
        instance = instance.with_details(clock=clock)
    schedule = read_plan(instance, options["schedule"])
    if options["add"] is not None:
        news["add"] = load(options["add"])
    problem = Problem(options["instance"], instance)
    files = [options["schedule"], options["add"], ctx.meta.get(parameters.CONFIG_FILE)]
    plans = plan(options, [problem], inputs=files)
    target = options["instance_output"]
    if target is not None:
        if target in (*files, problem.file, *plans[0].values()):
            raise L2SError(f"--instance-output would overwrite {target}, which is read or written otherwise")
        check_writable(target)

    from heuristics.monitor import SearchError
    from heuristics.replanning import replan as plan_again

    method, workers, reason = options["method"], None, ""
    if method is None:
        method, workers, reason = choose(instance, given, stop)
    display = ProgressDisplay(sys.stderr, stop.seconds, f"method {method} ({reason})" if reason else "")
    talks = not options["quiet"] and any(parameters.takes(method, limit) for limit in LIMITS)
    shown = display if talks else None
    with (
        Patience() as patience,
        Delivery(plans, options["as_json"], options["gantt_by"], options["sort_by"]) as delivery,
    ):
        how = {"method": method, "stop": stop | display.looked if talks else stop, "workers": workers, **given, **news}
        try:
            with shown or nullcontext():
                found = plan_again(instance, schedule, options["at"], listener=listener(shown, patience), **how)
            patience.found = True
        except SearchError as error:
            delivery.add(error.result)
            raise
        delivery.add(found.result, news=found)
        if target is not None:
            save(found.instance.with_objective(MAKESPAN), target)  # a choice of today, which tables cannot hold
        if target is None and not options["as_json"] and "-" not in plans[0].values():
            echo("the durations, dates and jobs as they are now: --instance-output FILE writes them")


def _split(option: str, form: re.Pattern[str], text: str, expected: str) -> tuple[str | None, ...]:
    match = form.fullmatch(text)
    if match is None:
        raise L2SError(f"{option} {text}: expected {expected}, with times as numbers, or such as 2026-11-24T10:00")
    return match.groups()
