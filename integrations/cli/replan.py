"""`l2s replan`: from a plan, and what happened since, to a new plan."""

from __future__ import annotations

import re
import sys
from contextlib import nullcontext
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from heuristics.configuration import LIMITS, Configuration
from integrations.cli import completion, example, parameters
from integrations.cli.delivery import Delivery, Patience
from integrations.cli.paths import Problem, plan
from integrations.cli.solve import check_request, choose, common_options, listener, stop_of
from integrations.cli.terminal import ProgressDisplay, echo
from l2s_plugin import kernels
from l2s_plugin.errors import L2SError
from l2s_plugin.files import check_writable, write_bytes
from l2s_plugin.objectives import MAKESPAN

if TYPE_CHECKING:
    from l2s_plugin.instance import Instance

_TIME = r"\d{4}-\d\d-\d\d(?:[T ][\d:.]+(?:Z|[+-]\d\d:\d\d)?)?|-?\d+"
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

    from l2s_plugin.loader import load
    from l2s_plugin.tables import read_plan

    files = [options["instance"], options["schedule"], options["add"], ctx.meta.get(parameters.CONFIG_FILE)]
    if files.count("-") > 1:
        raise L2SError("only one of INSTANCE, SCHEDULE, --add and --config can be read from standard input")
    clock = parameters.clock(options)
    instance = load(options["instance"])
    if clock is not None:
        instance = instance.with_details(clock=clock)
    schedule = read_plan(instance, options["schedule"])
    if options["add"] is not None:
        news["add"] = load(options["add"])
    problem = Problem(options["instance"], instance)

    from heuristics.monitor import SearchError
    from heuristics.replanning import plan_rest, what_is_left

    rest = what_is_left(instance, schedule, options["at"], objective=given.pop("objective", None), **news)
    target, contents = options["instance_output"], b""
    if target is not None:
        contents = _encoded(rest.instance, target, options["output"])
    plans = plan(options, [problem], inputs=files[1:])
    if target is not None:
        others = [Path(file).resolve() for file in (*files, problem.file, *plans[0].values()) if file]
        if Path(target).resolve() in others:
            raise L2SError(f"--instance-output would overwrite {target}, which is read or written otherwise")
        check_writable(target)

    method, workers, reason = options["method"], None, ""
    if method is None:
        method, workers, reason = choose(rest.reduced, given, stop)
    display = ProgressDisplay(sys.stderr, stop.seconds, f"method {method} ({reason})" if reason else "")
    talks = not options["quiet"] and any(parameters.takes(method, limit) for limit in LIMITS)
    shown = display if talks else None
    way = Configuration(method, stop=stop | display.looked if talks else stop, **{"workers": workers, **given})
    with (
        Patience() as patience,
        Delivery(plans, options["as_json"], options["gantt_by"], options["sort_by"]) as delivery,
    ):
        try:
            with shown or nullcontext():
                found = plan_rest(rest, way, listener(shown, patience))
            patience.found = True
            delivery.add(found.result, news=found)
        except SearchError as error:
            delivery.add(error.result)
            raise
        finally:
            if target is not None and delivery.results:
                write_bytes(target, contents)
        if target is None and not options["as_json"] and "-" not in plans[0].values():
            echo("the durations, dates and jobs as they are now: --instance-output FILE writes them")


def _encoded(instance: Instance, target: str, output: str | None) -> bytes:
    """The contents of `--instance-output`; refused, before anything is searched, where `--output` would not fit it."""
    from l2s_plugin.loader import encode, format_of, load

    if target == "-":
        raise L2SError("--instance-output needs the name of a file")
    instance = instance.with_objective(MAKESPAN)  # the objective is a choice of today, which tables cannot hold
    try:
        contents = encode(instance, format_of(target))
    except L2SError as error:
        raise L2SError(f"--instance-output {target}: {error}") from error
    as_table = output is None or output.lower().endswith((".csv", ".xlsx"))
    if not as_table and load(BytesIO(contents)) != instance:
        raise L2SError(
            f"--instance-output {target}: a table numbers the machines anew, and a plan as JSON goes by their numbers; "
            "write this one as .json, too, or --output as .csv or .xlsx"
        )
    return contents


def _split(option: str, form: re.Pattern[str], text: str, expected: str) -> tuple[str | None, ...]:
    match = form.fullmatch(text)
    if match is None:
        raise L2SError(f"{option} {text}: expected {expected}, with times as numbers, or such as 2026-11-24T10:00")
    return match.groups()
