"""Options: those that say how to search, made from `heuristics.configuration`, and where the user may set them.

`--config FILE.toml` holds the options of a command under the names they have on the command line, which wins.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from typing import Any, TypeVar, cast

import click
from click.core import ParameterSource

from heuristics.configuration import COMMAND_LINE, Configuration
from integrations.cli.completion import names_of, path_option
from l2s_plugin.clock import UNITS, Clock
from l2s_plugin.errors import L2SError, UnknownNameError, unknown_name
from l2s_plugin.files import read_text
from l2s_plugin.records import parse_toml
from l2s_plugin.registry import default_registry
from l2s_plugin.specs import MethodSpec, PolicySpec

Function = TypeVar("Function", bound=Callable[..., Any])

AUTOMATIC = ("memetic", "hybrid", "cooperation")  # from which `l2s solve` takes one where the user names none
LEARNED = ("l2s", "l2s-greedy", "l2s-fast")  # the selectors that follow a policy
CONFIG_FILE = f"{__name__}.file"  # where the `meta` of a context keeps the name of its configuration file
_TAKES: dict[type, tuple[tuple[type, ...], str]] = {  # what an option takes in a file, and how to say that
    click.types.BoolParamType: ((bool,), "true or false"),
    click.types.IntParamType: ((int,), "a whole number"),
    click.types.FloatParamType: ((int, float), "a number"),
}


class MethodName(click.ParamType):  # type: ignore[type-arg, unused-ignore]
    """One of the methods that plugins offer; another word is answered with those that are close to it."""

    name = "method"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        try:
            Configuration(str(value)).spec()
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


def clock_options(function: Function) -> Function:
    """The options that say what times mean."""
    unit = click.option("--unit", type=click.Choice(UNITS), help="What a time of 1 lasts, with --start-at; minutes.")
    start = click.option(
        "--start-at", metavar="TIME", help="The moment of time 0, such as 2026-11-23T06:00: tables and charts show it."
    )
    return start(unit(function))


def clock(options: dict[str, Any]) -> Clock | None:
    """The clock that the user asks for."""
    start, unit = options["start_at"], options["unit"]
    if start is None:
        if unit is not None:
            raise click.UsageError("--unit says what a time of 1 lasts after --start-at; give that, too")
        return None
    try:
        return Clock.of(start, unit or "minutes")
    except L2SError as error:
        raise click.UsageError(f"--start-at: {error}") from error


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


def takes(method: str, option: str) -> bool:
    """Whether an option means something to a method."""
    spec = Configuration(method).spec()
    return spec is None or spec.options is None or option in spec.options


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


def _apply(ctx: click.Context, parameter: click.Parameter, path: str | None) -> None:
    if path is not None and not ctx.resilient_parsing:
        ctx.default_map = {**(ctx.default_map or {}), **read_config(ctx, path)}
        ctx.meta[CONFIG_FILE] = path


config_option = path_option(
    "--config",
    metavar="FILE.toml",
    is_eager=True,
    expose_value=False,
    callback=_apply,
    help="Options in a file: time-limit = 30; the command line wins.",
)


def read_config(ctx: click.Context, path: str) -> dict[str, Any]:
    """The values in a file by parameter of the command, each checked against what the option takes."""
    parameters = [parameter for parameter in ctx.command.params if parameter.expose_value]
    known = {word.lstrip("-"): each for each in parameters for word in (*each.opts, *each.secondary_opts)}
    values: dict[str, Any] = {}
    for key, value in parse_toml(read_text(path), path).items():
        spelling = key.replace("_", "-")
        if spelling not in known:
            raise UnknownNameError(f"{path}: {unknown_name('key', key, known)}")
        parameter = known[spelling]
        assert parameter.name is not None
        if parameter.name in values:
            raise L2SError(f"{path}: {key} says again what another key has said")
        checked = _checked(ctx, parameter, value, f"{path}: {key}")
        values[parameter.name] = not checked if f"--{spelling}" in parameter.secondary_opts else checked
    return values


def _checked(ctx: click.Context, parameter: click.Parameter, value: Any, where: str) -> Any:
    """The value itself: a wrong type is refused where click would turn it into text or a number in silence."""
    several = parameter.nargs == -1 or getattr(parameter, "multiple", False)
    texts = (str,), "text or a list of texts" if several else "text"
    types, expected = next((_TAKES[kind] for kind in _TAKES if isinstance(parameter.type, kind)), texts)
    values = value if several and isinstance(value, list) else [value]
    for each in values:
        if type(each) not in types:
            raise L2SError(f"{where} must be {expected}, got {each!r}")
    value = values if several else value
    try:
        parameter.type_cast_value(ctx, value)
    except click.BadParameter as error:
        raise L2SError(f"{where}: {error.message}") from error
    return value


def given_words(ctx: click.Context, wanted: Collection[str]) -> list[str]:
    """The options that the user set, of those that are wanted, as words of a command line."""
    words: list[str] = []
    for name, spelling, _ in given_options(ctx):
        if name in wanted:
            value = ctx.params[name]
            for each in value if isinstance(value, tuple) else (value,):
                words += [spelling] if isinstance(each, bool) else [spelling, str(each)]
    return words


def given_options(ctx: click.Context) -> Iterator[tuple[str, str, str | None]]:
    """Name, spelling (of a flag that is off: its second one) and file of the options that the user set."""
    files = {ParameterSource.COMMANDLINE: None, ParameterSource.DEFAULT_MAP: ctx.meta.get(CONFIG_FILE)}
    for parameter in ctx.command.params:
        source = ctx.get_parameter_source(parameter.name or "")
        if isinstance(parameter, click.Option) and parameter.name in ctx.params and source in files:
            switched_off = ctx.params[parameter.name] is False and parameter.secondary_opts
            yield parameter.name, (parameter.secondary_opts if switched_off else parameter.opts)[0], files[source]
