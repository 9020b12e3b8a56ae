"""`--config FILE.toml`: the options of a command in a file, under the names they have on the command line."""

from __future__ import annotations

from typing import Any

import click

from integrations.cli.completion import path_option
from l2s_plugin.errors import L2SError, UnknownNameError, unknown_name
from l2s_plugin.files import read_text
from l2s_plugin.records import parse_toml

_NAME = f"{__name__}.file"  # where a context keeps the name of its configuration file
_TAKES: dict[type, tuple[tuple[type, ...], str]] = {  # what an option takes in a file, and how to say that
    click.types.BoolParamType: ((bool,), "true or false"),
    click.types.IntParamType: ((int,), "a whole number"),
    click.types.FloatParamType: ((int, float), "a number"),
}


def _apply(ctx: click.Context, parameter: click.Parameter, path: str | None) -> None:
    if path is not None and not ctx.resilient_parsing:
        ctx.default_map = {**(ctx.default_map or {}), **read_config(ctx, path)}
        ctx.meta[_NAME] = path


config_option = path_option(  # what the command line says wins over the file, key by key
    "--config",
    metavar="FILE.toml",
    is_eager=True,
    expose_value=False,
    callback=_apply,
    help="Options in a file: time-limit = 30; the command line wins.",
)


def config_file(ctx: click.Context) -> str | None:
    """The configuration file that a command was given."""
    name: str | None = ctx.meta.get(_NAME)
    return name


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
        if not isinstance(each, types) or (isinstance(each, bool) and bool not in types):
            raise L2SError(f"{where} must be {expected}, got {each!r}")
    value = values if several else value
    try:
        parameter.type_cast_value(ctx, value)
    except click.BadParameter as error:
        raise L2SError(f"{where}: {error.message}") from error
    return value
