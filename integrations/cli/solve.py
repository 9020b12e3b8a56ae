"""`l2s solve`: from instances to verified schedules."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

import click

from heuristics.configuration import COMMAND_LINE, LIMITS, Configuration, run
from integrations.cli import EXIT_INTERRUPTED, example, parameters
from integrations.cli.completion import instances, path_option
from integrations.cli.delivery import Delivery, Patience
from integrations.cli.paths import Problem, load_problems, plan
from integrations.cli.terminal import ProgressDisplay, echo
from l2s_plugin import kernels
from l2s_plugin import stop as stops
from l2s_plugin.devices import available_cores
from l2s_plugin.errors import MissingExtraError

if TYPE_CHECKING:
    from heuristics.result import Improvement, Result
    from l2s_plugin.instance import Instance

DEFAULT_SECONDS = 10.0
Function = TypeVar("Function", bound=Callable[..., Any])

SHORT = 2.0  # seconds; below, CP-SAT has hardly begun when the time is over
LARGE = 5000  # operations; beyond, the hybrid attempts no proof and the search makes more of the time
_FOREVER = 2**60  # more steps than anybody can wait for, and still a number of 64 bits


_COMMON = (
    parameters.method_option(
        help="memetic: a population of tabu searches; tabu, local-search: one trajectory; cp-sat: CP-SAT, also from "
        "--warm-start; hybrid: memetic and CP-SAT side by side; dispatch: a dispatching rule alone; or what `l2s "
        "plugins` lists. Without it, hybrid where there is time for it, and memetic otherwise.",
    ),
    parameters.search_options,
    click.option(
        "--time-limit",
        type=float,
        metavar="S",
        help=f"Seconds for each instance; {DEFAULT_SECONDS:g} unless this or --max-steps is given.",
    ),
    click.option("--max-steps", type=click.IntRange(0), metavar="N", help="Steps to search; makes a run repeatable."),
    click.option("--target", type=int, metavar="VALUE", help="End at a makespan, or lateness, this small."),
    click.option(
        "--no-improvement", type=click.IntRange(0), metavar="N", help="End after N steps without a better schedule."
    ),
    path_option(
        "--output", metavar="SCHEDULE.json|csv|xlsx", help="Write the schedule, or a table of it; - prints it as JSON."
    ),
    click.option("--sort-by", type=click.Choice(["machine", "job"]), help="Rows of a table: by machine unless given."),
    parameters.clock_options,
    path_option("--gantt", metavar="FILE.png|svg", help="Draw the schedule."),
    click.option(
        "--gantt-by", type=click.Choice(["machine", "job"]), help="What the rows of --gantt are; machines unless given."
    ),
    path_option("--report", metavar="FILE.html", help="Write a page to explore; one for all, too."),
    path_option("--history", metavar="FILE.csv", help="Write every improvement: seconds, step, makespan; - prints it."),
    path_option("--stats-dir", metavar="DIR", help="Write what --json prints to DIR, a file per instance."),
    click.option("--json", "as_json", is_flag=True, help="Print one JSON object per line, and nothing else."),
    click.option("--quiet", is_flag=True, help="No progress on standard error."),
    parameters.config_option,
)


def common_options(function: Function) -> Function:
    """The options of `l2s solve` that planning again has, too: how to search, until when, and what to write."""
    for option in reversed(_COMMON):
        function = option(function)
    return function


@click.command(epilog=example("l2s solve ta01 --time-limit 30 --output ta01.json --gantt ta01.png"))
@click.argument("instances", nargs=-1, required=True, metavar="INSTANCE...", shell_complete=instances)
@common_options
@path_option(
    "--warm-start",
    metavar="SCHEDULE.json|csv|xlsx",
    help="Begin with this schedule instead; it is verified. Of several instances: a folder or a pattern.",
)
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
    kernels.quiet |= options["quiet"]
    given, stop = parameters.given_search(options), stop_of(options)
    check_request(ctx, given)
    parameters.check_parts(Configuration(options["method"] or parameters.AUTOMATIC[0], stop=stop, **given))
    clock = parameters.clock(options)
    problems = load_problems(options["instances"], options["warm_start"], clock, options["objective"])
    plans = plan(options, problems, inputs=[ctx.meta.get(parameters.CONFIG_FILE)])

    from heuristics.monitor import SearchError  # with the kernels, which bad input should not have to wait for

    with (
        Patience() as patience,
        Delivery(plans, options["as_json"], options["gantt_by"], options["sort_by"]) as delivery,
    ):
        for number, problem in enumerate(problems, 1):
            method, workers, reason = options["method"], None, ""
            if method is None:
                method, workers, reason = choose(problem.instance, given, stop)
            way = Configuration(method, stop=stop, **{"workers": workers, **given})
            label = f"{number}/{len(problems)} {problem.instance.name}: " if len(problems) > 1 else ""
            title = f"method {method} ({reason})" if reason else ""  # of a choice that was not the user's
            display = ProgressDisplay(sys.stderr, stop.seconds, title, label)
            talks = not options["quiet"] and any(parameters.takes(method, limit) for limit in LIMITS)
            try:
                result = _search(problem, way, display if talks else None, patience)
                patience.found = True
            except SearchError as error:
                delivery.add(error.result)
                raise
            delivery.add(result, _reproduce(ctx, problem, way, result))
            patience.found = False
            if result.stopped_by == "interrupt" or patience.asked:
                break
    left = [problem.word for problem in problems[len(delivery.results) :]]
    if left:
        echo(f"Interrupted; not begun: {', '.join(left)}", err=True)
        ctx.exit(EXIT_INTERRUPTED)


def stop_of(options: dict[str, Any]) -> stops.Stop:
    """At the first of the limits; after a default time where neither seconds nor steps are limited."""
    steps, target, no_improvement = (
        None if options[name] is None else min(options[name], _FOREVER)
        for name in ("max_steps", "target", "no_improvement")
    )
    stop, seconds = stops.Stop(steps=steps, makespan=target, no_improvement=no_improvement), options["time_limit"]
    if seconds is None and steps is None:
        seconds = DEFAULT_SECONDS
    return stop if seconds is None else stop | stops.seconds(seconds)


def check_request(ctx: click.Context, given: dict[str, Any]) -> None:
    """Refuse options that would be ignored or contradict each other."""
    asked = ctx.params
    methods = parameters.AUTOMATIC if asked["method"] is None else (asked["method"].partition(":")[0],)
    for name, spelling, file in parameters.given_options(ctx):
        known = parameters.methods_with(name)
        if known and not set(methods) & set(known):
            where = f"{spelling} ({file})" if file else spelling
            raise click.UsageError(
                f"{where} does not go with --method {methods[0]}, only with {' or '.join(known)}", ctx
            )
    learned, selector = parameters.LEARNED, given.get("selector")
    warm_start = asked.get("warm_start")
    read = [*asked.get("instances", ()), warm_start, ctx.meta.get(parameters.CONFIG_FILE)]
    mistakes = {
        f"--policy goes with the selectors {', '.join(learned[:-1])} and {learned[-1]} only": (
            "policy" in given and selector not in (None, *learned)
        ),
        "--gantt-by says how to draw what --gantt names; give that, too": asked["gantt_by"] and not asked["gantt"],
        "--sort-by sorts the table that --output names as .csv or .xlsx; give that, too": (
            asked["sort_by"] and not (asked["output"] or "").lower().endswith((".csv", ".xlsx"))
        ),
        "--warm-start and --init both say where to begin; choose one": warm_start and "initial" in given,
        "only one of INSTANCE, --warm-start and --config can be read from standard input": read.count("-") > 1,
    }
    for message, made in mistakes.items():
        if made:
            raise click.UsageError(message, ctx)


def choose(instance: Instance, given: dict[str, Any], stop: stops.Stop) -> tuple[str, int | None, str]:
    """The best method we have for the instance within the limits, its workers unless they are given, and why."""
    from integrations.libraries import ortools

    if given.keys() & {"parameters", "log"}:
        return "hybrid", None, "it has CP-SAT, whose options are given"
    if "scheduler" in given:
        return "cooperation", None, "a population on every worker of the cluster"
    if stop.steps is not None or stop.no_improvement is not None:
        return "memetic", None, "a limit in steps makes it repeatable"
    if given.keys() & {"selector", "policy", "neighbourhood", "population", "horizon", "patience", "gear"}:
        return "memetic", None, "with the parts named"
    if stop.seconds is not None and stop.seconds < SHORT:
        return "memetic", None, "in so short a time"
    if instance.n_operations > LARGE:
        return "memetic", available_cores(), "too large for CP-SAT"
    try:
        ortools()
    except MissingExtraError as error:
        return "memetic", available_cores(), f"without CP-SAT: {error}"
    return "hybrid", available_cores(), "search and CP-SAT side by side"


def _search(problem: Problem, way: Configuration, display: ProgressDisplay | None, patience: Patience) -> Result:
    """Solve one instance."""
    if problem.warm_start is not None:
        way = replace(way, initial=problem.warm_start)
    if display is not None:
        way = replace(way, stop=way.limits | display.looked)
    with display or nullcontext():
        return run(problem.instance, way, listener(display, patience))


def listener(display: ProgressDisplay | None, patience: Patience) -> Callable[[Improvement], None]:
    """Who hears of every better schedule: whoever waits for one, and the display."""

    def improved(event: Improvement) -> None:
        patience.found = True
        if display is not None:
            display.improved(event)

    return improved


def _reproduce(ctx: click.Context, problem: Problem, way: Configuration, result: Result) -> tuple[str, str]:
    """What a command promises, and the command.

    The same choices with a limit in steps, or with the same limits for a method that the clock decides about.
    """
    method, seconds = str(way.method), way.limits.seconds
    words = ["l2s", "solve", problem.word, "--method", method]
    words += parameters.given_words(ctx, COMMAND_LINE.keys() - {"workers", "seed", "log", "horizon"})
    words += parameters.given_words(ctx, ("start_at", "unit"))
    if problem.warm_start_file is not None:
        words += ["--warm-start", problem.warm_start_file]
    if parameters.takes(method, "workers") and (result.workers > 1 or ctx.params["workers"] is not None):
        words += ["--workers", str(result.workers)]
    words += ["--seed", str(result.seed)]
    spec = way.spec()
    if spec is not None and not spec.repeatable:
        words += parameters.given_words(ctx, ("max_steps", "target", "no_improvement"))
        words += [] if seconds is None else ["--time-limit", f"{seconds:g}"]
        return "run again", shlex.join(words)
    if parameters.takes(method, "max_steps"):
        words += ["--max-steps", str(result.steps)]
    if result.horizon not in (None, result.steps):
        words += ["--horizon", str(result.horizon)]
    # workers do not stop at the same step when it is the clock that stops them
    exact = result.workers == 1 or result.stopped_by == "steps"
    return "reproduce" if exact else "reproduce, nearly", shlex.join(words)
