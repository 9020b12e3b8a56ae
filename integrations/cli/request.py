"""What `l2s solve` was asked for, and which requests contradict themselves."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import click
from click.core import ParameterSource

from integrations.cli.config import config_file
from integrations.cli.methods import AUTOMATIC, methods_with
from integrations.cli.parts import LEARNED
from l2s_plugin import stop as stops

DEFAULT_SECONDS = 10.0
_FOREVER = 2**60  # more steps than anybody can wait for, and still a number of 64 bits


@dataclass(frozen=True)
class Request:
    """The command line and the configuration file, option by option."""

    instances: tuple[str, ...]
    method: str | None
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
    polisher: str | None
    gear: str | None
    forbid_undo: bool | None
    scheduler: str | None
    no_known_bounds: bool
    cp_sat_parameter: tuple[str, ...]
    log: bool
    seed: int
    output: str | None
    gantt: str | None
    gantt_by: str | None
    history: str | None
    report: str | None
    stats_dir: str | None
    as_json: bool
    quiet: bool

    @property
    def selector_and_policy(self) -> str | None:
        """The selector as Python programs name it: `l2s:POLICY`."""
        return self.selector if self.policy is None else f"{self.selector or LEARNED[0]}:{self.policy}"

    @property
    def parameters(self) -> dict[str, str] | None:
        """CP-SAT's parameters by name; the values are still text."""
        pairs = (word.partition("=") for word in self.cp_sat_parameter)
        return {name.strip(): value.strip() for name, _, value in pairs} or None

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


def check_request(ctx: click.Context, request: Request) -> None:
    """Refuse options that would be ignored or contradict each other."""
    methods = AUTOMATIC if request.method is None else (request.method,)
    for option in given_options(ctx):
        known = methods_with(option.name)
        if known and not set(methods) & set(known):
            other = " or ".join(known)
            raise click.UsageError(f"{option} does not go with --method {methods[0]}, only with {other}", ctx)
    if request.policy is not None and request.selector not in (None, *LEARNED):
        raise click.UsageError(
            f"--policy goes with the selectors {', '.join(LEARNED[:-1])} and {LEARNED[-1]} only", ctx
        )
    for word in request.cp_sat_parameter:
        if "=" not in word:
            raise click.UsageError(f"--cp-sat-parameter takes NAME=VALUE, got {word!r}", ctx)
    if request.gantt_by and not request.gantt:
        raise click.UsageError("--gantt-by says how to draw what --gantt names; give that, too", ctx)
    if request.warm_start and request.init:
        raise click.UsageError("--warm-start and --init both say where to begin; choose one", ctx)
    if [*request.instances, request.warm_start, config_file(ctx)].count("-") > 1:
        raise click.UsageError("only one of INSTANCE, --warm-start and --config can be read from standard input", ctx)
    if "tabu" in methods and request.population == 1 and request.workers not in (None, 1):
        raise click.UsageError("--population 1 is a single run and needs a single worker", ctx)
    if request.polisher and request.population == 1:
        raise click.UsageError("--population 1 is a single run, in which nothing is polished", ctx)


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
