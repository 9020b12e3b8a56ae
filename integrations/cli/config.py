"""`--config FILE.toml`: the options of a command in a file, under the names they have on the command line."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

from integrations.cli.completion import files
from l2s_plugin.errors import L2SError, UnknownNameError, unknown_name
from l2s_plugin.files import read_text
from l2s_plugin.records import parse_toml

Function = TypeVar("Function", bound=Callable[..., Any])

_NAME = f"{__name__}.file"  # where a context keeps the name of its configuration file


def config_option(function: Function) -> Function:
    """Give a command the option `--config`; what the command line says wins over the file, key by key."""
    option = click.option(
        "--config",
        metavar="FILE.toml",
        is_eager=True,
        expose_value=False,
        callback=_apply,
        shell_complete=files,
        help="Options in a file: time-limit = 30; the command line wins.",
    )
    return option(function)


def config_file(ctx: click.Context) -> str | None:
    """The configuration file that a command was given."""
    name: str | None = ctx.meta.get(_NAME)
    return name


def read_config(ctx: click.Context, path: str) -> dict[str, Any]:
    """The values in a file by parameter of the command, each checked against what the option takes."""
    entries = parse_toml(read_text(path), path)
    known = _keys(ctx.command)
    values: dict[str, Any] = {}
    for key, value in entries.items():
        spelling = key.replace("_", "-")
        if spelling not in known:
            raise UnknownNameError(f"{path}: {unknown_name('key', key, known)}")
        parameter, switched_on = known[spelling]
        assert parameter.name is not None
        if parameter.name in values:
            raise L2SError(f"{path}: {key} says again what another key has said")
        checked = _checked(ctx, parameter, value, f"{path}: {key}")
        values[parameter.name] = checked if switched_on else not checked
    return values


def _apply(ctx: click.Context, parameter: click.Parameter, path: str | None) -> None:
    if path is not None and not ctx.resilient_parsing:
        ctx.default_map = {**(ctx.default_map or {}), **read_config(ctx, path)}
        ctx.meta[_NAME] = path


def _keys(command: click.Command) -> dict[str, tuple[click.Parameter, bool]]:
    """Every key with its parameter; False marks the spelling that switches a flag off."""
    keys: dict[str, tuple[click.Parameter, bool]] = {}
    for parameter in command.params:
        if parameter.expose_value:
            keys |= {word.lstrip("-"): (parameter, True) for word in parameter.opts}
            keys |= {word.lstrip("-"): (parameter, False) for word in parameter.secondary_opts}
    return keys


def _checked(ctx: click.Context, parameter: click.Parameter, value: Any, where: str) -> Any:
    """The value itself: a wrong type is refused where click would turn it into text or a number in silence."""
    types, expected = _expected(parameter)
    values = value if isinstance(value, list) and _takes_several(parameter) else [value]
    for each in values:
        if not isinstance(each, types) or (isinstance(each, bool) and bool not in types):
            raise L2SError(f"{where} must be {expected}, got {each!r}")
    try:
        parameter.type_cast_value(ctx, values if _takes_several(parameter) else value)
    except click.BadParameter as error:
        raise L2SError(f"{where}: {error.message}") from error
    return values if _takes_several(parameter) else value


def _takes_several(parameter: click.Parameter) -> bool:
    return parameter.nargs == -1 or bool(getattr(parameter, "multiple", False))


def _expected(parameter: click.Parameter) -> tuple[tuple[type, ...], str]:
    """The types that a parameter takes in a file, and how to say that."""
    kind = parameter.type
    if isinstance(kind, click.types.BoolParamType):
        return (bool,), "true or false"
    if isinstance(kind, click.types.IntParamType):
        return (int,), "a whole number"
    if isinstance(kind, click.types.FloatParamType):
        return (int, float), "a number"
    return (str,), "text or a list of texts" if _takes_several(parameter) else "text"
