"""`l2s solve`: from instances to verified schedules."""

from __future__ import annotations

import sys
from contextlib import nullcontext
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from heuristics.configuration import LIMITS, run
from integrations.cli import EXIT_INTERRUPTED, example
from integrations.cli.choice import Choice, choose
from integrations.cli.completion import instances, path_option
from integrations.cli.config import config_file, config_option
from integrations.cli.delivery import Delivery, Patience
from integrations.cli.paths import Problem, load_problems, plan
from integrations.cli.progress import ProgressDisplay
from integrations.cli.request import DEFAULT_SECONDS, Request, check_request, reproduce
from integrations.cli.search_options import AUTOMATIC, check_parts, method_option, search_options, takes
from integrations.cli.terminal import echo
from l2s_plugin import kernels

if TYPE_CHECKING:
    from heuristics.result import Improvement, Result


@click.command(epilog=example("l2s solve ta01 --time-limit 30 --output ta01.json --gantt ta01.png"))
@click.argument("instances", nargs=-1, required=True, metavar="INSTANCE...", shell_complete=instances)
@method_option(
    help="memetic: a population of tabu searches; tabu, local-search: one trajectory; cp-sat: CP-SAT, also from "
    "--warm-start; hybrid: memetic and CP-SAT side by side; dispatch: a dispatching rule alone; or what `l2s plugins` "
    "lists. Without it, hybrid where there is time for it, and memetic otherwise.",
)
@search_options
@path_option(
    "--warm-start",
    metavar="SCHEDULE.json",
    help="Begin with this schedule instead; it is verified. Of several instances: a folder or a pattern.",
)
@click.option(
    "--time-limit",
    type=float,
    metavar="S",
    help=f"Seconds for each instance; {DEFAULT_SECONDS:g} unless this or --max-steps is given.",
)
@click.option("--max-steps", type=click.IntRange(0), metavar="N", help="Steps to search; makes a run repeatable.")
@click.option("--target", type=click.IntRange(0), metavar="MAKESPAN", help="End at a schedule this short.")
@click.option(
    "--no-improvement", type=click.IntRange(0), metavar="N", help="End after N steps without a better schedule."
)
@path_option("--output", metavar="SCHEDULE.json", help="Write the schedule; - prints it.")
@path_option("--gantt", metavar="FILE.png|svg", help="Draw the schedule.")
@click.option(
    "--gantt-by", type=click.Choice(["machine", "job"]), help="What the rows of --gantt are; machines unless given."
)
@path_option("--report", metavar="FILE.html", help="Write a page to explore; one for all, too.")
@path_option("--history", metavar="FILE.csv", help="Write every improvement: seconds, step, makespan; - prints it.")
@path_option("--stats-dir", metavar="DIR", help="Write what --json prints to DIR, a file per instance.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object per line, and nothing else.")
@click.option("--quiet", is_flag=True, help="No progress on standard error.")
@config_option
@click.pass_context
def solve(ctx: click.Context, **options: Any) -> None:
    """Find good schedules for one INSTANCE or several.

    INSTANCE is a benchmark name (ta01), a set of them (ta:15x15), a file in any known format, a folder, a pattern in
    quotes, or - for standard input. All are read before the first search. Files for several instances go to a folder
    (--output out/) or follow a pattern (--gantt "out/{name}.svg").

    The search ends at the first of the limits given, at a schedule that meets the lower bound, or at Ctrl-C (or
    SIGTERM), and the best schedule is verified, with code of its own, before it is shown or written. `l2s plugins`
    lists the selectors, neighbourhoods and rules.
    """
    request = Request.of(options)
    kernels.quiet |= request.quiet
    check_request(ctx, request)
    check_parts(request.configuration(request.method or AUTOMATIC[0]))
    problems = load_problems(request.instances, request.warm_start)
    plans = plan(request, problems, inputs=[config_file(ctx)])

    from heuristics.monitor import SearchError  # with the kernels, which bad input should not have to wait for

    with Patience() as patience, Delivery(plans, request.as_json, request.gantt_by) as delivery:
        for number, problem in enumerate(problems, 1):
            choice = choose(problem.instance, request)
            label = f"{number}/{len(problems)} {problem.instance.name}: " if len(problems) > 1 else ""
            try:
                result = search(problem, request, choice, patience, label)
                patience.found = True
            except SearchError as error:
                delivery.add(error.result)
                raise
            delivery.add(result, reproduce(ctx, request, problem, choice.method, result))
            patience.found = False
            if result.stopped_by == "interrupt" or patience.asked:
                break
    left = [problem.word for problem in problems[len(delivery.results) :]]
    if left:
        echo(f"Interrupted; not begun: {', '.join(left)}", err=True)
        ctx.exit(EXIT_INTERRUPTED)


def search(problem: Problem, request: Request, choice: Choice, patience: Patience, label: str = "") -> Result:
    """Solve one instance with the method chosen."""
    way = request.configuration(choice.method)
    changes: dict[str, Any] = {"workers": choice.workers, "initial": problem.warm_start}
    title = f"method {choice.method} ({choice.reason})" if choice.reason else ""  # of a choice that was not the user's
    display = ProgressDisplay(sys.stderr, request.stop.seconds, title, label)
    talks = not request.quiet and any(takes(choice.method, limit) for limit in LIMITS)
    if talks:
        changes["stop"] = request.stop | display.looked

    def improved(event: Improvement) -> None:
        patience.found = True
        if talks:
            display.improved(event)

    with display if talks else nullcontext():
        way = replace(way, **{name: value for name, value in changes.items() if value is not None})
        return run(problem.instance, way, improved)
