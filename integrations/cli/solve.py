"""`l2s solve`: from instances to verified schedules."""

from __future__ import annotations

import sys
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

import click

from integrations.cli import EXIT_INTERRUPTED
from integrations.cli.choice import Choice, choose
from integrations.cli.completion import files, folders, instances, names_of
from integrations.cli.config import config_file, config_option
from integrations.cli.delivery import Delivery, Patience
from integrations.cli.inputs import Problem, load_problems
from integrations.cli.methods import METHODS, Settings
from integrations.cli.outputs import plan
from integrations.cli.parts import MethodName, check_parts
from integrations.cli.progress import ProgressDisplay
from integrations.cli.repeat import command_line, reproduce
from integrations.cli.request import DEFAULT_SECONDS, Request, check_request
from integrations.cli.terminal import echo
from l2s_plugin import kernels
from l2s_plugin.specs import DispatchingRuleSpec, NeighbourhoodSpec, PolicySpec, SelectorSpec

if TYPE_CHECKING:
    from heuristics.result import Improvement, Result
    from l2s_plugin.stop import Stop


@click.command()
@click.argument("instances", nargs=-1, required=True, metavar="INSTANCE...", shell_complete=instances)
@click.option(
    "--method",
    type=MethodName(list(METHODS)),
    help="tabu: a population of tabu searches; local-search: one trajectory; cp-sat: CP-SAT, also from --warm-start; "
    "hybrid: tabu and CP-SAT side by side; dispatch: a dispatching rule alone. Without it, hybrid where there is time "
    "for it, and tabu otherwise.",
)
@click.option(
    "--selector",
    metavar="NAME",
    shell_complete=names_of(SelectorSpec),
    help="Picks the moves; estimate (tabu), best-improvement (local-search).",
)
@click.option(
    "--policy",
    metavar="NAME|FILE",
    shell_complete=names_of(PolicySpec, or_files=True),
    help="The policy that a learned selector follows; implies l2s.",
)
@click.option(
    "--neighbourhood",
    metavar="NAME",
    shell_complete=names_of(NeighbourhoodSpec),
    help="Lists the moves; n7 (tabu), n5 (local-search).",
)
@click.option(
    "--init",
    metavar="RULE",
    shell_complete=names_of(DispatchingRuleSpec),
    help="Dispatching rule of the first schedule; fdd/mwkr unless given.",
)
@click.option(
    "--warm-start",
    metavar="SCHEDULE.json",
    shell_complete=files,
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
@click.option("--workers", type=click.IntRange(1), metavar="N", help="Threads; 1 (tabu), all cores (cp-sat, hybrid).")
@click.option(
    "--population", type=click.IntRange(1), metavar="N", help="Schedules to recombine (tabu); 1: a single run."
)
@click.option(
    "--polisher",
    metavar="NAME",
    shell_complete=names_of(SelectorSpec),
    help="Selector of every other trajectory of a complete population (tabu, hybrid), or none; l2s-fast unless given.",
)
@click.option("--gear", type=click.Choice(["compiled", "python"]), help="How steps are taken; the best available.")
@click.option(
    "--forbid-undo/--allow-undo",
    default=None,
    help="Whether the last move may be undone at once (local-search); as the selector likes it unless given.",
)
@click.option("--scheduler", metavar="ADDRESS", help="Search on the workers of this dask cluster (tabu).")
@click.option(
    "--cp-sat-parameter",
    multiple=True,
    metavar="NAME=VALUE",
    help="One of CP-SAT's own parameters (cp-sat, hybrid), such as linearization_level=0; several times.",
)
@click.option("--log", is_flag=True, help="CP-SAT's own log on standard error (cp-sat, hybrid).")
@click.option(
    "--no-known-bounds", is_flag=True, help="Do not look up the literature's bounds of the classic benchmarks."
)
@click.option("--seed", type=click.IntRange(0, 2**32 - 1), default=0, show_default=True, help="Settles every choice.")
@click.option("--output", metavar="SCHEDULE.json", shell_complete=files, help="Write the schedule; - prints it.")
@click.option("--gantt", metavar="FILE.png|svg", shell_complete=files, help="Draw the schedule.")
@click.option(
    "--gantt-by", type=click.Choice(["machine", "job"]), help="What the rows of --gantt are; machines unless given."
)
@click.option("--report", metavar="FILE.html", shell_complete=files, help="Write a page to explore; one for all, too.")
@click.option(
    "--history",
    metavar="FILE.csv",
    shell_complete=files,
    help="Write every improvement: seconds, step, makespan; - prints it.",
)
@click.option(
    "--stats-dir", metavar="DIR", shell_complete=folders, help="Write what --json prints to DIR, a file per instance."
)
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
    request = Request(**options)
    kernels.quiet |= request.quiet
    check_request(ctx, request)
    stop = request.stop()
    check_parts(request.selector_and_policy, request.neighbourhood, request.init, request.polisher)
    problems = load_problems(request.instances, request.warm_start)
    plans = plan(request, problems, inputs=[config_file(ctx)])

    from heuristics.trajectory import SearchError  # with the kernels, which bad input should not have to wait for

    with (
        Patience() as patience,
        Delivery(plans, request.as_json, command_line(ctx, request), request.gantt_by) as delivery,
    ):
        for number, problem in enumerate(problems, 1):
            choice = choose(problem.instance, request)
            label = f"{number}/{len(problems)} {problem.instance.name}: " if len(problems) > 1 else ""
            try:
                result = run(problem, request, choice, stop, patience, label)
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


def run(problem: Problem, request: Request, choice: Choice, stop: Stop, patience: Patience, label: str = "") -> Result:
    """Solve one instance with the method chosen."""
    with ExitStack() as stack:
        display = None
        if not request.quiet:
            display = stack.enter_context(ProgressDisplay(sys.stderr, request.seconds, _title(choice), label))
            stop |= display.looked

        def improved(event: Improvement) -> None:
            patience.found = True
            if display is not None:
                display.improved(event)

        settings = Settings(
            seed=request.seed,
            stop=stop,
            initial=problem.warm_start or request.init,
            selector=request.selector_and_policy,
            neighbourhood=request.neighbourhood,
            workers=choice.workers,
            population=request.population,
            polisher=request.polisher,
            gear=request.gear,
            forbid_undo=request.forbid_undo,
            scheduler=request.scheduler,
            parameters=request.parameters,
            log=request.log or None,
            known_bounds=not request.no_known_bounds,
            listener=improved,
        )
        return METHODS[choice.method].run(problem.instance, settings)


def _title(choice: Choice) -> str:
    """What to tell the user about a choice that was not theirs."""
    return f"method {choice.method} ({choice.reason})" if choice.reason else ""
