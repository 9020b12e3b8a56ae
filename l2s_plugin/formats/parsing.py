"""Helpers for the formats: numbered lines, integers, JSON with line numbers, and one-line errors."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from pathlib import PurePath
from typing import Any, NamedTuple

from l2s_plugin.errors import InstanceError, InstanceFormatError, L2SError
from l2s_plugin.instance import MAX_TOTAL_DURATION, Instance
from l2s_plugin.records import parse_json

# far beyond any shop; keeps a wrong number in a header from asking for all memory
MAX_SIZE = 10_000_000

_NUMBERS = re.compile(r"[-0-9\s]+")
_INTEGER = re.compile(r"-?[0-9]+")
_WHITESPACE = re.compile(r"[ \t\n\r]*")


class Line(NamedTuple):
    """A line that is not blank, without its comment."""

    number: int
    text: str

    @property
    def is_numeric(self) -> bool:
        return _NUMBERS.fullmatch(self.text) is not None


def fail(source: str, line: int, message: str) -> InstanceFormatError:
    """The error for one place in a file."""
    return InstanceFormatError(f"{source}:{line}: {message}")


def decode(data: bytes, source: str) -> str:
    """The text of a file, with plain line ends; refuses what is empty or binary."""
    if not data.strip():
        raise fail(source, 1, "empty file, expected an instance")
    binary_at = data.find(b"\0")
    if binary_at >= 0:
        raise fail(source, data[:binary_at].count(b"\n") + 1, "binary file, expected text")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        raise fail(source, line, f"not UTF-8 (byte 0x{data[error.start]:02x}), expected text in UTF-8") from error
    return text.replace("\r\n", "\n").replace("\r", "\n")


def text_or_none(data: bytes) -> str | None:
    """The text of a file for `detect`, or None where it is empty or binary."""
    try:
        return decode(data, "")
    except InstanceFormatError:
        return None


def lines(text: str, comment: str = "#") -> list[Line]:
    """The lines that say something, comments removed."""
    stripped = (Line(number, row.partition(comment)[0].strip()) for number, row in enumerate(text.split("\n"), 1))
    return [line for line in stripped if line.text]


def integers(line: Line, source: str) -> list[int]:
    """The numbers of a line, all of them integers that fit."""
    words = line.text.split()
    for word in words if not line.is_numeric or "-" in line.text else ():
        if not _INTEGER.fullmatch(word):
            raise fail(source, line.number, f"{word[:40]!r}, expected an integer")
    if any(len(word) > 11 for word in words):
        raise fail(source, line.number, f"number too large, expected at most {MAX_TOTAL_DURATION}")
    return [int(word) for word in words]


def load_json(data: bytes, source: str) -> tuple[Any, str]:
    """The parsed document and its text, which `line_of` needs."""
    text = decode(data, source)
    return parse_json(text, source, InstanceFormatError), text


def json_keys(data: bytes, *keys: str) -> dict[str, Any] | None:
    """For `detect`: the top-level values of a JSON object that has all `keys`, else None.

    A damaged document counts when the keys are in its text, so that its reader can say where the damage is.
    """
    text = text_or_none(data)
    if text is None or not text.lstrip().startswith("{") or not all(f'"{key}"' in text for key in keys):
        return None
    try:
        document = parse_json(text, "")
    except L2SError:
        found = {key: re.search(rf'"{key}"\s*:\s*"?([^",\s]*)', text) for key in keys}
        return {key: match[1] for key, match in found.items() if match} if all(found.values()) else None
    return document if all(key in document for key in keys) else None


def line_of(text: str, path: Sequence[str | int]) -> int:
    """The line where a part of a valid JSON document begins (`["jobs", 3]`), as near as the path exists."""
    position = _skip(text, 0)
    for step in path:
        found = next((at for key, at in _children(text, position) if key == step), None)
        if found is None:
            break
        position = found
    return text.count("\n", 0, position) + 1


def _children(text: str, position: int) -> Iterator[tuple[str | int, int]]:
    """Key or index of every child of the object or array at `position`, and where its value begins."""
    decoder, opening = json.JSONDecoder(), text[position]
    if opening not in "{[":
        return
    key: str | int = -1
    position = _skip(text, position + 1)
    while text[position] not in "]}":
        if opening == "{":
            key, position = decoder.raw_decode(text, position)
            position = _skip(text, _skip(text, position) + 1)  # past the colon
        else:
            assert isinstance(key, int)
            key += 1
        yield key, position
        position = _skip(text, decoder.raw_decode(text, position)[1])
        if text[position] == ",":
            position = _skip(text, position + 1)


def _skip(text: str, position: int) -> int:
    match = _WHITESPACE.match(text, position)
    return match.end() if match else position


def stem(source: str) -> str:
    """A name for an instance that has none, from the file it is in."""
    return PurePath(source).stem.removesuffix(".jsl") or "instance"


def check_size(source: str, line: int, n_jobs: int, n_machines: int) -> None:
    """Refuse sizes that no instance can have."""
    if not (0 < n_jobs <= MAX_SIZE and 0 < n_machines <= MAX_SIZE):
        raise fail(source, line, f"{n_jobs} jobs and {n_machines} machines, expected from 1 to {MAX_SIZE} of each")


def operation_problem(machine: int, duration: int, n_machines: int, first: int = 0) -> str | None:
    """What is wrong with an operation, if anything; machines are numbered from `first`."""
    if not first <= machine < first + n_machines:
        return f"machine {machine}, expected {first} to {first + n_machines - 1}"
    if not 0 <= duration <= MAX_TOTAL_DURATION:
        return f"duration {duration}, expected 0 to {MAX_TOTAL_DURATION}"
    return None


def bounds_problem(lower: int | None, upper: int | None) -> str | None:
    """What is wrong with a pair of bounds, if anything."""
    for name, bound in (("lower", lower), ("upper", upper)):
        if bound is not None and bound < 0:
            return f"{name} bound {bound}, expected 0 or more"
    if lower is not None and upper is not None and lower > upper:
        return f"lower bound {lower}, expected at most the upper bound {upper}"
    return None


class Document:
    """A JSON object whose parts are checked one by one; errors name the line they are on."""

    def __init__(self, data: bytes, source: str) -> None:
        self.source = source
        self.values, self._text = load_json(data, source)
        if not isinstance(self.values, dict):
            raise fail(source, 1, "expected a JSON object")

    def fail(self, message: str, *path: str | int) -> InstanceFormatError:
        return fail(self.source, line_of(self._text, path), message)

    def get(self, key: str, kind: type, required: bool = False) -> Any:
        """A top-level value of the wanted type; absent and null are None unless required."""
        value = self.values.get(key)
        if value is None and not required:
            return None
        if type(value) is not kind:  # not isinstance: True is no integer
            found = "nothing" if key not in self.values else json.dumps(value)[:40]
            raise self.fail(f"{key} is {found}, expected {_JSON_KINDS[kind]}", key)
        return value

    def check_integer(self, value: Any, what: str, *path: str | int) -> int:
        if type(value) is not int:
            raise self.fail(f"{what} is {json.dumps(value)[:40]}, expected an integer", *path)
        return value

    def check_list(self, value: Any, what: str, *path: str | int) -> list[Any]:
        if not isinstance(value, list) or not value:
            raise self.fail(f"{what} is {json.dumps(value)[:40]}, expected a list that is not empty", *path)
        return value

    def check_bounds(self, lower: int | None, upper: int | None, *path: str | int) -> None:
        problem = bounds_problem(lower, upper)
        if problem:
            raise self.fail(problem, *path)


_JSON_KINDS = {str: "a string", int: "an integer", list: "a list", dict: "an object"}


def build(jobs: list[list[tuple[int, int]]], n_machines: int, source: str, /, **details: Any) -> Instance:
    """An instance from checked rows; what is still wrong with it as a whole is reported at line 1."""
    details = {"name": stem(source), "source": PurePath(source).name} | details
    try:
        return Instance.from_jobs(jobs, n_machines, **details)
    except InstanceError as error:
        raise fail(source, 1, f"{error}") from error
