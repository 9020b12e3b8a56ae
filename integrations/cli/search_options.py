"""The options of `l2s solve` that say how to search: made from `heuristics.configuration`, where they are declared."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

import click

from heuristics.configuration import COMMAND_LINE, Configuration
from integrations.cli.completion import names_of
from l2s_plugin.errors import L2SError
from l2s_plugin.registry import default_registry
from l2s_plugin.specs import MethodSpec, PolicySpec

Function = TypeVar("Function", bound=Callable[..., Any])

AUTOMATIC = ("memetic", "hybrid", "cooperation")  # from which `choice.choose` takes one where the user names none
LEARNED = ("l2s", "l2s-greedy", "l2s-fast")  # the selectors that follow a policy


class MethodName(click.ParamType):  # type: ignore[type-arg, unused-ignore]
    """One of the methods that plugins offer; another word is answered with those that are close to it."""

    name = "method"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        try:
            default_registry().spec(MethodSpec, str(value).partition(":")[0])
        except L2SError as error:
            self.fail(str(error), param, ctx)
        return value

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> Any:
        return names_of(MethodSpec)(ctx, param, incomplete)


def method_option(**details: Any) -> Callable[[Function], Function]:
    """The option `--method`."""
    return click.option("--method", type=MethodName(), metavar="NAME", **details)


def search_options(function: Function) -> Function:
    """Give a command every option that `COMMAND_LINE` lists."""
    for name in reversed(COMMAND_LINE):
        function = search_option(name)(function)
    return function


def search_option(name: str, **changes: Any) -> Callable[[Function], Function]:
    """One of the options that `COMMAND_LINE` lists."""
    option = COMMAND_LINE[name]
    details: dict[str, Any] = {"help": option.help, "default": None, "metavar": option.metavar}
    if option.names is not None:
        details["shell_complete"] = names_of(option.names, or_files=option.names is PolicySpec)
    if option.takes is bool:
        details["is_flag"] = True
    elif option.takes is int:
        details["type"] = click.IntRange(option.least, 2**32 - 1)
    elif option.choices:
        details["type"] = click.Choice(option.choices)
    details["multiple"] = option.takes is dict
    return click.option(option.spelling or f"--{name.replace('_', '-')}", name, **details | changes)


def given_search(options: dict[str, Any]) -> dict[str, Any]:
    """The fields of `Configuration` that the user set, out of all options of a command."""
    given = {name: options[name] for name in COMMAND_LINE if options[name] not in (None, ())}
    if "parameters" in given:
        given["parameters"] = dict(_pair(word) for word in given["parameters"])
    return given


def _pair(word: str) -> tuple[str, str]:
    name, equals, value = word.partition("=")
    if not equals:
        raise click.UsageError(f"--cp-sat-parameter takes NAME=VALUE, got {word!r}")
    return name.strip(), value.strip()


def method_spec(method: str) -> MethodSpec:
    """What is said about a method."""
    return cast(MethodSpec, default_registry().spec(MethodSpec, method.partition(":")[0]))


def takes(method: str, option: str) -> bool:
    """Whether an option means something to a method."""
    options = method_spec(method).options
    return options is None or option in options


def methods_with(option: str) -> list[str]:
    """The methods to which an option means something; none for the options of every method."""
    specs = [cast(MethodSpec, spec) for spec in default_registry().specs(MethodSpec)]
    if not any(option in (spec.options or ()) for spec in specs):
        return []
    return [spec.name for spec in specs if spec.options is None or option in spec.options]


def check_parts(way: Configuration) -> None:
    """Refuse names that nobody offers, and policies that cannot be read; imports none of the parts."""
    way.check_names()
    selector = f"{way.selector or LEARNED[0]}:{way.policy}" if way.policy is not None else way.selector
    for part in (selector, way.polisher):
        name, colon, policy = (part or "").partition(":")
        if colon and name in LEARNED:
            from l2s_plugin.policy.library import find_policy

            find_policy(policy)
