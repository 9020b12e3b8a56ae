"""The command that gives the same schedule again."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, NamedTuple

import click

from heuristics.configuration import COMMAND_LINE
from integrations.cli.request import Request, given_options
from integrations.cli.search_options import method_spec, takes

if TYPE_CHECKING:
    from heuristics.result import Result
    from integrations.cli.inputs import Problem

_CHOICES = COMMAND_LINE.keys() - {"workers", "seed", "log"}
_LIMITS = {"max_steps", "target", "no_improvement"}


class Again(NamedTuple):
    """What a command promises, and the command."""

    promise: str
    command: str

    def __str__(self) -> str:
        return f"{self.promise}: {self.command}"


def reproduce(ctx: click.Context, request: Request, problem: Problem, method: str, result: Result) -> Again:
    """The same choices with a limit in steps, or with the same limits for a method that the clock decides about."""
    words = ["l2s", "solve", problem.word, "--method", method, *_options(ctx, _CHOICES)]
    if problem.warm_start_file is not None:
        words += ["--warm-start", problem.warm_start_file]
    if takes(method, "workers") and (result.workers > 1 or "workers" in request.search):
        words += ["--workers", str(result.workers)]
    words += ["--seed", str(result.seed)]
    if not method_spec(method).repeatable:
        limit = [] if request.seconds is None else ["--time-limit", f"{request.seconds:g}"]
        return Again("run again", shlex.join([*words, *_options(ctx, _LIMITS), *limit]))
    if takes(method, "max_steps"):
        words += ["--max-steps", str(result.steps)]
    # workers do not stop at the same step when it is the clock that stops them
    exact = result.workers == 1 or result.stopped_by == "steps"
    return Again("reproduce" if exact else "reproduce, nearly", shlex.join(words))


def _options(ctx: click.Context, wanted: set[str]) -> list[str]:
    """The options that the user set, as words."""
    words: list[str] = []
    for option in given_options(ctx):
        if option.name in wanted:
            value = ctx.params[option.name]
            for each in value if isinstance(value, tuple) else (value,):
                words += [option.spelling] if isinstance(each, bool) else [option.spelling, str(each)]
    return words
