"""`l2s solve`: from an instance to a verified schedule."""

from __future__ import annotations

import shlex
import sys
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from integrations.cli.methods import METHODS, Settings, methods_with
from integrations.cli.progress import ProgressDisplay
from l2s_plugin import stop as stops
from l2s_plugin.errors import L2SError
from l2s_plugin.files import check_writable

if TYPE_CHECKING:
    from heuristics.result import Result
    from l2s_plugin.instance import Instance

DEFAULT_SECONDS = 10.0
LEARNED = ("l2s", "l2s-greedy")  # the selectors that follow a policy
_FOREVER = 2**60  # more steps than anybody can wait for, and still a number of 64 bits


@dataclass(frozen=True)
class Request:
    """The command line, option by option."""

    instance: str
    method: str
    selector: str | None
    policy: str | None
    neighbourhood: str | None
    init: str | None
    warm_start: str | None
    time_limit: float | None
    max_steps: int | None
    target: int | None
    no_improvement: int | None
    workers: int | None
    population: int | None
    gear: str | None
    forbid_undo: bool | None
    seed: int
    output: str | None
    gantt: str | None
    history: str | None
    as_json: bool
    quiet: bool

    @property
    def selector_and_policy(self) -> str | None:
        """The selector as Python programs name it: `l2s:POLICY`."""
        return self.selector if self.policy is None else f"{self.selector or LEARNED[0]}:{self.policy}"

    @property
    def seconds(self) -> float | None:
        """The time limit; the default one where no other limit is given."""
        if self.time_limit is None and self.max_steps is None:
            return DEFAULT_SECONDS
        return self.time_limit

    def stop(self) -> stops.Stop:
        """When the search ends: at the first of the limits."""
        stop = stops.Stop() if self.seconds is None else stops.seconds(self.seconds)
        counts = (
            (stops.steps, self.max_steps),
            (stops.target, self.target),
            (stops.no_improvement, self.no_improvement),
        )
        for build, limit in counts:
            if limit is not None:
                stop |= build(min(limit, _FOREVER))
        return stop


@click.command()
@click.argument("instance")
@click.option(
    "--method",
    type=click.Choice(list(METHODS)),
    default="tabu",
    show_default=True,
    help="tabu: a population of tabu searches; local-search: one trajectory; cp-sat: CP-SAT, also from --warm-start; "
    "hybrid: tabu and CP-SAT side by side; dispatch: a dispatching rule alone.",
)
@click.option("--selector", metavar="NAME", help="Picks the moves; estimate (tabu), best-improvement (local-search).")
@click.option("--policy", metavar="NAME|FILE", help="The policy that a learned selector follows; implies l2s.")
@click.option("--neighbourhood", metavar="NAME", help="Lists the moves; n7 (tabu), n5 (local-search).")
@click.option("--init", metavar="RULE", help="Dispatching rule of the first schedule; fdd/mwkr unless given.")
@click.option("--warm-start", metavar="SCHEDULE.json", help="Begin with this schedule instead; it is verified.")
@click.option(
    "--time-limit",
    type=float,
    metavar="S",
    help=f"Seconds to search; {DEFAULT_SECONDS:g} unless this or --max-steps is given.",
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
@click.option("--gear", type=click.Choice(["compiled", "python"]), help="How steps are taken; the best available.")
@click.option(
    "--forbid-undo/--allow-undo",
    default=None,
    help="Whether the last move may be undone at once (local-search); as the selector likes it unless given.",
)
@click.option("--seed", type=click.IntRange(0, 2**32 - 1), default=0, show_default=True, help="Settles every choice.")
@click.option("--output", metavar="SCHEDULE.json", help="Write the schedule; - prints it.")
@click.option("--gantt", metavar="FILE.png|svg", help="Draw the schedule.")
@click.option("--history", metavar="FILE.csv", help="Write every improvement: seconds, step, makespan; - prints it.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object and nothing else.")
@click.option("--quiet", is_flag=True, help="No progress on standard error.")
@click.pass_context
def solve(ctx: click.Context, **options: Any) -> None:
    """Find a good schedule for INSTANCE.

    INSTANCE is a benchmark name (ta01, la16, ft06, ...), a file in any known format, or - for standard input.
    The search ends at the first of the limits given, at a schedule that meets the lower bound, or at Ctrl-C
    (or SIGTERM), and the best schedule is verified, with code of its own, before it is shown or written.
    `l2s plugins` lists the selectors, neighbourhoods and rules.
    """
    from heuristics.trajectory import SearchError
    from l2s_plugin.loader import load

    request = Request(**options)
    check_options(ctx, request)
    check_outputs(request)
    stop = request.stop()
    instance = load(request.instance)
    try:
        result = run(instance, request, stop)
    except SearchError as error:
        deliver(error.result, request)
        raise
    deliver(result, request, reproduce(ctx, request, result))


def check_options(ctx: click.Context, request: Request) -> None:
    """Refuse options that would be ignored or contradict each other."""
    for name, option in _given(ctx):
        known = methods_with(name)
        if known and request.method not in known:
            other = " or ".join(known)
            raise click.UsageError(f"{option} does not go with --method {request.method}, only with {other}", ctx)
    if request.policy is not None and request.selector not in (None, *LEARNED):
        raise click.UsageError(f"--policy goes with the selectors {' and '.join(LEARNED)} only", ctx)
    if request.warm_start and request.init:
        raise click.UsageError("--warm-start and --init both say where to begin; choose one", ctx)
    if request.warm_start == request.instance == "-":
        raise click.UsageError("INSTANCE and --warm-start cannot both be read from standard input", ctx)
    if request.method == "tabu" and request.population == 1 and request.workers not in (None, 1):
        raise click.UsageError("--population 1 is a single run and needs a single worker", ctx)


def check_outputs(request: Request) -> None:
    """Find out before the work starts that its results could not be written."""
    from l2s_plugin.registry import default_registry
    from l2s_plugin.specs import RendererSpec

    files = {"--output": request.output, "--gantt": request.gantt, "--history": request.history}
    printed = [option for option, path in files.items() if path == "-"] + ["--json"] * request.as_json
    if len(printed) > 1:
        names = " and ".join(name if name == "--json" else f"{name} -" for name in printed)
        raise L2SError(f"{names} both want standard output; choose one")
    written: dict[Path, str] = {}
    for option, path in files.items():
        if path and path != "-":
            check_writable(path)
            if Path(path).resolve() in written:
                raise L2SError(f"{written[Path(path).resolve()]} and {option} name the same file, {path}")
            written[Path(path).resolve()] = option
    if request.gantt:
        ending = Path(request.gantt).suffix.lstrip(".").lower()
        if not ending:
            raise L2SError(f"--gantt {request.gantt}: the file's ending says how to draw, as in gantt.png")
        default_registry().load(RendererSpec, ending)


def run(instance: Instance, request: Request, stop: stops.Stop) -> Result:
    """Solve with the method asked for."""
    from l2s_plugin.schedule import Schedule

    with ExitStack() as stack:
        listener = None
        if not request.quiet:
            display = stack.enter_context(ProgressDisplay(sys.stderr, request.seconds))
            listener = display.improved
            stop |= display.looked
        settings = Settings(
            seed=request.seed,
            stop=stop,
            initial=Schedule.load(instance, request.warm_start) if request.warm_start else request.init,
            selector=request.selector_and_policy,
            neighbourhood=request.neighbourhood,
            workers=request.workers,
            population=request.population,
            gear=request.gear,
            forbid_undo=request.forbid_undo,
            listener=listener,
        )
        return METHODS[request.method].run(instance, settings)


def deliver(result: Result, request: Request, note: str | None = None) -> None:
    """Write the files asked for and print the report."""
    if request.output:
        result.schedule.save(request.output)
    if request.history:
        result.save_history(request.history)
    if request.gantt:
        result.schedule.gantt(request.gantt)
    if request.as_json:
        click.echo(result.to_json())
    elif "-" not in (request.output, request.history):
        files = [path for path in (request.output, request.history, request.gantt) if path]
        click.echo("\n".join([result.summary(), *([note] if note else []), *(f"wrote {path}" for path in files)]))


def reproduce(ctx: click.Context, request: Request, result: Result) -> str | None:
    """The command that gives this schedule again: the same choices, with a limit in steps."""
    if not METHODS[request.method].repeatable:
        return None
    words = ["l2s", "solve", request.instance]
    for name, option in _given(ctx):
        if name in _CHOICES:
            value = getattr(request, name)
            words += [option] if isinstance(value, bool) else [option, str(value)]
    words += ["--seed", str(request.seed)]
    if "max_steps" in METHODS[request.method].options:
        words += ["--max-steps", str(result.steps)]
    # workers do not stop at the same step when it is the clock that stops them
    exact = result.workers == 1 or result.stopped_by == "steps"
    return f"{'reproduce' if exact else 'reproduce, nearly'}: {shlex.join(words)}"


_CHOICES = {
    "method", "selector", "policy", "neighbourhood", "init", "warm_start",
    "workers", "population", "gear", "forbid_undo",
}  # fmt: skip


def _given(ctx: click.Context) -> list[tuple[str, str]]:
    """Name and spelling of the options on the command line; the second spelling of a flag that is switched off."""
    return [
        (parameter.name, (parameter.secondary_opts if ctx.params[parameter.name] is False else parameter.opts)[0])
        for parameter in ctx.command.params
        if isinstance(parameter, click.Option)
        and parameter.name
        and ctx.get_parameter_source(parameter.name) is ParameterSource.COMMANDLINE
    ]
