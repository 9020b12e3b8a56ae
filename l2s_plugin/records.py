"""JSON and TOML from files that nobody vouches for: parsed without surprises, and held against the expected shape.

What the parsers here return can be shown, counted with and written again: no nesting beyond 100 levels, no number
beyond 64 bits, no NaN, no text with half a character, no key twice.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterable, Mapping
from types import NoneType, UnionType
from typing import Any, NoReturn, Union, get_args, get_origin

from l2s_plugin.errors import L2SError

_HALF = re.compile("[\ud800-\udfff]")
_HALF_OR_NUL = re.compile("[\0\ud800-\udfff]")
_DEEPEST = 100
_LARGEST = 2**63
_TYPES: dict[Any, tuple[type, ...]] = {float: (int, float), tuple: (list, tuple), None: (NoneType,)}
_KINDS = {
    int: "a whole number", float: "a number", str: "text", bool: "true or false", list: "a list", tuple: "a list",
    dict: "a table", NoneType: "nothing",
}  # fmt: skip


def parse_json(text: str | bytes, where: str, error_type: type[L2SError] = L2SError) -> Any:
    """The value of a JSON document; one line that begins with `where` (and the line number) when there is none."""
    try:
        if isinstance(text, bytes):
            text = text.decode()
        value = json.loads(text, object_pairs_hook=_no_duplicates, parse_constant=_no_constant)
    except json.JSONDecodeError as error:
        raise error_type(f"{where}:{error.lineno}: not JSON: {error.msg}, expected a JSON document") from error
    except UnicodeDecodeError as error:
        raise error_type(f"{where}:1: byte {error.start} is not UTF-8, expected a JSON document") from error
    except (ValueError, RecursionError) as error:  # thousands of digits or brackets, or one of our own
        reason = str(error).partition(";")[0]
        raise error_type(f"{where}:1: unreadable JSON: {reason}, expected a plain document") from error
    return _check_contents(value, f"{where}:1: unreadable JSON", error_type, _HALF)


def parse_toml(text: str, where: str, error_type: type[L2SError] = L2SError) -> dict[str, Any]:
    """The table of a TOML document, likewise; its texts are names and paths, which hold no NUL."""
    try:
        table = tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        raise error_type(f"{where}: not TOML: {error}") from error
    return _check_contents(table, f"{where}: not TOML that can be used", error_type, _HALF_OR_NUL)


def check(value: Any, shape: Any, where: str, error_type: type[L2SError] = L2SError) -> Any:
    """Return `value` if it has the `shape`; otherwise one line says where it has not.

    A shape is `int`, `float` (whole numbers, too), `str`, `bool`, `list`, `dict`, None or `Any`; a union of shapes;
    `list[shape]`, `tuple[shape, ...]` (a list as well), `tuple[shape, shape]`; `dict[str, shape]`; or a table of the
    keys that a dictionary must have, with their shapes (others may be there).
    """

    kind, inner = (dict, ()) if isinstance(shape, Mapping) else (get_origin(shape) or shape, get_args(shape))
    if kind is Any:
        return value
    if kind in (Union, UnionType):
        fits = any(_fits(value, each) for each in inner)
    else:
        fits = type(value) in _TYPES.get(kind, (kind,))
    one_by_one = kind is tuple and inner and inner[-1] is not Ellipsis
    if not fits or (one_by_one and len(value) != len(inner)):
        expected = f"a list of {len(inner)}" if fits else _name(kind if isinstance(shape, Mapping) else shape)
        raise error_type(f"{where} must be {expected}, got {repr(value)[:60]}")
    parts: Iterable[tuple[str, Any, Any]] = ()
    if isinstance(shape, Mapping):
        for key in shape:
            if key not in value:
                raise error_type(f"{where}: {key} is missing")
        parts = ((f"{where}: {key}", value[key], each) for key, each in shape.items())
    elif one_by_one:
        parts = ((where, each, own) for each, own in zip(value, inner, strict=True))
    elif kind in (list, tuple) and inner:
        parts = ((f"{where}[{index}]", each, inner[0]) for index, each in enumerate(value))
    elif kind is dict and inner:
        parts = ((f"{where}: {key}", each, inner[1]) for key, each in value.items())
    for place, each, own in parts:
        check(each, own, place, error_type)
    return value


def _fits(value: Any, shape: Any) -> bool:
    try:
        check(value, shape, "")
    except L2SError:
        return False
    return True


def _name(shape: Any) -> str:
    if get_origin(shape) in (Union, UnionType):
        return " or ".join(_name(each) for each in get_args(shape))
    kind = get_origin(shape) or shape
    return _KINDS.get(kind, str(kind))


def _check_contents(value: Any, where: str, error_type: type[L2SError], no_text: re.Pattern[str]) -> Any:
    """Refuse, level by level, what would break whoever works with the value."""
    level = [value]
    for _ in range(_DEEPEST):
        below: list[Any] = []
        for each in level:
            if isinstance(each, dict):
                below += each
                below += each.values()
            elif isinstance(each, list):
                below += each
            elif isinstance(each, int | float) and not -_LARGEST <= each < _LARGEST:
                raise error_type(f"{where}: a number, expected at most 64 bits")
            elif isinstance(each, str) and no_text.search(each):
                raise error_type(f"{where}: {ascii(each)[:60]} holds no characters, expected text")
        if not below:
            return value
        level = below
    raise error_type(f"{where}: nested too deep, expected at most {_DEEPEST} levels")


def _no_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    table: dict[str, Any] = {}
    for name, value in pairs:
        if name in table:
            raise ValueError(f"{name[:40]!a} occurs twice")
        table[name] = value
    return table


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no number")
