"""What `l2s solve` was asked for, which requests contradict themselves, and the command that asks for the same."""

from __future__ import annotations

import shlex
from collections.abc import Collection
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, NamedTuple

import click
from click.core import ParameterSource

from heuristics.configuration import COMMAND_LINE, Configuration
from integrations.cli.config import config_file
from integrations.cli.paths import Files, Problem
from integrations.cli.search_options import AUTOMATIC, LEARNED, given_search, method_spec, methods_with, takes
from l2s_plugin import stop as stops

if TYPE_CHECKING:
    from heuristics.result import Result


DEFAULT_SECONDS = 10.0
_FOREVER = 2**60  # more steps than anybody can wait for, and still a number of 64 bits


@dataclass(frozen=True)
class Request:
    """The command line and the configuration file: how to search (`search`, for `Configuration`), and what to write."""

    instances: tuple[str, ...]
    method: str | None
    search: dict[str, Any]
    stop: stops.Stop
    warm_start: str | None
    files: Files
    gantt_by: str | None
    as_json: bool
    quiet: bool

    @classmethod
    def of(cls, options: dict[str, Any]) -> Request:
        """From the parameters of the command."""
        own = {field.name: options[field.name] for field in fields(cls) if field.name in options}
        files = Files(*(options[name] for name in Files._fields))
        return cls(search=given_search(options), stop=_stop(options), files=files, **own)

    def configuration(self, method: str) -> Configuration:
        """How to search, with the method chosen."""
        return Configuration(method, stop=self.stop, **self.search)


def _stop(options: dict[str, Any]) -> stops.Stop:
    """At the first of the limits; after a default time where neither seconds nor steps are limited."""
    steps, target, no_improvement = (
        None if options[name] is None else min(options[name], _FOREVER)
        for name in ("max_steps", "target", "no_improvement")
    )
    stop, seconds = stops.Stop(steps=steps, makespan=target, no_improvement=no_improvement), options["time_limit"]
    if seconds is None and steps is None:
        seconds = DEFAULT_SECONDS
    return stop if seconds is None else stop | stops.seconds(seconds)


def check_request(ctx: click.Context, request: Request) -> None:
    """Refuse options that would be ignored or contradict each other."""
    methods = AUTOMATIC if request.method is None else (request.method.partition(":")[0],)
    for option in _given(ctx):
        known = methods_with(option.name)
        if known and not set(methods) & set(known):
            other = " or ".join(known)
            where = f"{option.spelling} ({option.file})" if option.file else option.spelling
            raise click.UsageError(f"{where} does not go with --method {methods[0]}, only with {other}", ctx)
    if "policy" in request.search and request.search.get("selector") not in (None, *LEARNED):
        raise click.UsageError(
            f"--policy goes with the selectors {', '.join(LEARNED[:-1])} and {LEARNED[-1]} only", ctx
        )
    if request.gantt_by and not request.files.gantt:
        raise click.UsageError("--gantt-by says how to draw what --gantt names; give that, too", ctx)
    if request.warm_start and "initial" in request.search:
        raise click.UsageError("--warm-start and --init both say where to begin; choose one", ctx)
    if [*request.instances, request.warm_start, config_file(ctx)].count("-") > 1:
        raise click.UsageError("only one of INSTANCE, --warm-start and --config can be read from standard input", ctx)


class Again(NamedTuple):
    """What a command promises, and the command."""

    promise: str
    command: str

    def __str__(self) -> str:
        return f"{self.promise}: {self.command}"


def reproduce(ctx: click.Context, request: Request, problem: Problem, method: str, result: Result) -> Again:
    """The same choices with a limit in steps, or with the same limits for a method that the clock decides about."""
    words = ["l2s", "solve", problem.word, "--method", method]
    words += given_words(ctx, COMMAND_LINE.keys() - {"workers", "seed", "log"})
    if problem.warm_start_file is not None:
        words += ["--warm-start", problem.warm_start_file]
    if takes(method, "workers") and (result.workers > 1 or "workers" in request.search):
        words += ["--workers", str(result.workers)]
    words += ["--seed", str(result.seed)]
    if not method_spec(method).repeatable:
        limit = [] if request.stop.seconds is None else ["--time-limit", f"{request.stop.seconds:g}"]
        limits = given_words(ctx, ("max_steps", "target", "no_improvement"))
        return Again("run again", shlex.join([*words, *limits, *limit]))
    if takes(method, "max_steps"):
        words += ["--max-steps", str(result.steps)]
    # workers do not stop at the same step when it is the clock that stops them
    exact = result.workers == 1 or result.stopped_by == "steps"
    return Again("reproduce" if exact else "reproduce, nearly", shlex.join(words))


def given_words(ctx: click.Context, wanted: Collection[str]) -> list[str]:
    """The options that the user set, of those that are wanted, as words of a command line."""
    words: list[str] = []
    for option in _given(ctx):
        if option.name in wanted:
            value = ctx.params[option.name]
            for each in value if isinstance(value, tuple) else (value,):
                words += [option.spelling] if isinstance(each, bool) else [option.spelling, str(each)]
    return words


class _Given(NamedTuple):
    name: str
    spelling: str
    file: str | None


def _given(ctx: click.Context) -> list[_Given]:
    """The options set on the command line or in the configuration file; a flag that is off has its second spelling."""
    files = {ParameterSource.COMMANDLINE: None, ParameterSource.DEFAULT_MAP: config_file(ctx)}
    found = []
    for parameter in ctx.command.params:
        source = ctx.get_parameter_source(parameter.name or "")
        if isinstance(parameter, click.Option) and parameter.name in ctx.params and source in files:
            switched_off = ctx.params[parameter.name] is False and parameter.secondary_opts
            spelling = (parameter.secondary_opts if switched_off else parameter.opts)[0]
            found.append(_Given(parameter.name, spelling, files[source]))
    return found
