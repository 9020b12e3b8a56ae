"""What `l2s solve` was asked for, and which requests contradict themselves."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any, NamedTuple

import click
from click.core import ParameterSource

from heuristics.configuration import LIMITS, Configuration
from integrations.cli.config import config_file
from integrations.cli.search_options import AUTOMATIC, LEARNED, given_search, method_spec, methods_with, stop_of
from l2s_plugin.stop import Stop

DEFAULT_SECONDS = 10.0


@dataclass(frozen=True)
class Request:
    """The command line and the configuration file: how to search (`search`, for `Configuration`), and what to write."""

    instances: tuple[str, ...]
    method: str | None
    search: dict[str, Any]
    warm_start: str | None
    time_limit: float | None
    max_steps: int | None
    target: int | None
    no_improvement: int | None
    output: str | None
    gantt: str | None
    gantt_by: str | None
    history: str | None
    report: str | None
    stats_dir: str | None
    as_json: bool
    quiet: bool

    @classmethod
    def of(cls, options: dict[str, Any]) -> Request:
        """From the parameters of the command."""
        own = {field.name for field in fields(cls)} & options.keys()
        return cls(search=given_search(options), **{name: options[name] for name in own})

    @property
    def seconds(self) -> float | None:
        """The time limit; the default one where no other limit is given."""
        if self.time_limit is None and self.max_steps is None:
            return DEFAULT_SECONDS
        return self.time_limit

    @property
    def stop(self) -> Stop:
        """When each search ends."""
        return stop_of(self.seconds, self.max_steps, self.target, self.no_improvement)

    def configuration(self, method: str, **changes: Any) -> Configuration:
        """How to search, with the method chosen."""
        stop = self.stop if not self.limits_of(method).isdisjoint(LIMITS) else None
        return Configuration(method, **{"stop": stop, **self.search, **changes})

    @staticmethod
    def limits_of(method: str) -> frozenset[str]:
        options = method_spec(method).options
        return frozenset(LIMITS) if options is None else options


def check_request(ctx: click.Context, request: Request) -> None:
    """Refuse options that would be ignored or contradict each other."""
    methods = AUTOMATIC if request.method is None else (request.method.partition(":")[0],)
    for option in given_options(ctx):
        known = methods_with(option.name)
        if known and not set(methods) & set(known):
            other = " or ".join(known)
            raise click.UsageError(f"{option} does not go with --method {methods[0]}, only with {other}", ctx)
    if "policy" in request.search and request.search.get("selector") not in (None, *LEARNED):
        raise click.UsageError(
            f"--policy goes with the selectors {', '.join(LEARNED[:-1])} and {LEARNED[-1]} only", ctx
        )
    if request.gantt_by and not request.gantt:
        raise click.UsageError("--gantt-by says how to draw what --gantt names; give that, too", ctx)
    if request.warm_start and "initial" in request.search:
        raise click.UsageError("--warm-start and --init both say where to begin; choose one", ctx)
    if [*request.instances, request.warm_start, config_file(ctx)].count("-") > 1:
        raise click.UsageError("only one of INSTANCE, --warm-start and --config can be read from standard input", ctx)


class GivenOption(NamedTuple):
    """An option that the user set: its name in the request, its spelling, and the file that says so, if one does."""

    name: str
    spelling: str
    file: str | None = None

    def __str__(self) -> str:
        return self.spelling if self.file is None else f"{self.spelling} ({self.file})"


def given_options(ctx: click.Context) -> list[GivenOption]:
    """The options set on the command line or in the configuration file; a flag that is off has its second spelling."""
    files = {ParameterSource.COMMANDLINE: None, ParameterSource.DEFAULT_MAP: config_file(ctx)}
    found = []
    for parameter in ctx.command.params:
        source = ctx.get_parameter_source(parameter.name or "")
        if isinstance(parameter, click.Option) and parameter.name in ctx.params and source in files:
            switched_off = ctx.params[parameter.name] is False and parameter.secondary_opts
            spelling = (parameter.secondary_opts if switched_off else parameter.opts)[0]
            found.append(GivenOption(parameter.name, spelling, files[source]))
    return found
