"""Helpers for the formats: numbered lines, integers, JSON with line numbers, and one-line errors."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import PurePath
from typing import Any, NamedTuple

from l2s_plugin.errors import InstanceError, InstanceFormatError, L2SError
from l2s_plugin.instance import MAX_TOTAL_DURATION, Instance
from l2s_plugin.records import parse_json

# far beyond any shop; keeps a wrong number in a header from asking for all memory
MAX_SIZE = 10_000_000

_NUMBERS = re.compile(r"[-0-9\s]+")
_INTEGER = re.compile(r"-?[0-9]+")
_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[\[\]{},:]|[^\s\[\]{},:"]+')


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


def lines(text: str, comment: str = "#") -> list[Line]:
    """The lines that say something, comments removed."""
    stripped = (Line(number, row.partition(comment)[0].strip()) for number, row in enumerate(text.split("\n"), 1))
    return [line for line in stripped if line.text]


def detected_text(data: bytes) -> str:
    """For `detect`: the text of a file without blanks around it, empty where there is none."""
    with suppress(InstanceFormatError):
        return decode(data, "").strip()
    return ""


def detected_lines(data: bytes) -> list[Line]:
    """For `detect`: the lines of a text, none where it is empty, binary or JSON."""
    text = detected_text(data)
    return [] if text.startswith(("{", "[")) else lines(text)


class Rows:
    """The lines of a text file, taken one after the other; errors name the line that was taken last."""

    def __init__(self, data: bytes, source: str) -> None:
        self.source, self.lines = source, lines(decode(data, source))
        self.taken = 0

    def fail(self, message: str) -> InstanceFormatError:
        return fail(self.source, self.lines[self.taken - 1].number if self.lines else 1, message)

    def take(self, otherwise: str) -> Line:
        """The next line; without one, the error says `otherwise`."""
        if self.taken == len(self.lines):
            raise self.fail(otherwise)
        self.taken += 1
        return self.lines[self.taken - 1]

    def integers(self, otherwise: str) -> list[int]:
        """The numbers of the next line, all of them integers that fit."""
        line = self.take(otherwise)
        words = line.text.split()
        for word in words if not line.is_numeric or "-" in line.text else ():
            if not _INTEGER.fullmatch(word):
                raise self.fail(f"{word[:40]!r}, expected an integer")
        if any(len(word) > 11 for word in words):
            raise self.fail(f"number too large, expected at most {MAX_TOTAL_DURATION}")
        return [int(word) for word in words]

    def size(self, n_jobs: int, n_machines: int) -> tuple[int, int]:
        """Refuse sizes that no instance can have."""
        if not (0 < n_jobs <= MAX_SIZE and 0 < n_machines <= MAX_SIZE):
            raise self.fail(f"{n_jobs} jobs and {n_machines} machines, expected from 1 to {MAX_SIZE} of each")
        return n_jobs, n_machines


def detected_object(data: bytes, *keys: str) -> dict[str, Any]:
    """For `detect`: the JSON object in a file that has all `keys` at its top level, else {}.

    A damaged document counts when the keys are in its text, so that its reader can say where the damage is.
    """
    text = detected_text(data)
    found = {key: match[1] for key in keys if (match := re.search(rf'"{key}"\s*:\s*"?([^",\s]*)', text))}
    if not text.startswith("{") or len(found) < len(keys):
        return {}
    with suppress(L2SError):
        found = parse_json(text, "")
    return found if all(key in found for key in keys) else {}


class Document:
    """A JSON object whose parts are checked one by one; errors name the line they are on."""

    def __init__(self, data: bytes, source: str) -> None:
        self.source = source
        self._text = decode(data, source)
        self.values = parse_json(self._text, source, InstanceFormatError)
        if not isinstance(self.values, dict):
            raise fail(source, 1, "expected a JSON object")

    def line(self, *path: str | int) -> int:
        return line_of(self._text, path)

    def fail(self, message: str, *path: str | int) -> InstanceFormatError:
        return fail(self.source, self.line(*path), message)

    def get(self, kind: type, *path: str | int, what: str = "", optional: bool = False) -> Any:
        """The part at `path` (`"jobs", 3`) if it is of that kind; an optional one may be absent or null: None."""
        value: Any = self.values
        for step in path:
            missing = value is None or (isinstance(value, dict) and step not in value)
            value = None if missing else value[step]
        if value is None and optional:
            return None
        if type(value) is not kind or value == []:  # not isinstance: True is no integer
            found = "nothing" if missing else json.dumps(value)[:40]
            raise self.fail(f"{what or path[-1]} is {found}, expected {_KINDS[kind]}", *path)
        return value


_KINDS = {str: "a string", int: "an integer", list: "a list that is not empty", dict: "an object"}


def line_of(text: str, path: Sequence[str | int]) -> int:
    """The line where a part of a valid JSON document begins (`["jobs", 3]`), as near as the path exists."""
    nearest = 0
    here: list[Any] = []  # the path of the value that comes next; None where a key comes first
    for token in _TOKEN.finditer(text):
        sign = token[0]
        if sign in "]}":
            here.pop()
        elif sign == ",":
            here[-1] = here[-1] + 1 if isinstance(here[-1], int) else None
        elif here and here[-1] is None:
            here[-1] = json.loads(sign)
        elif sign != ":":
            nearest = token.start() if here == list(path[: len(here)]) else nearest
            if sign in "[{":
                here.append(0 if sign == "[" else None)
    return text.count("\n", 0, nearest) + 1


def refuse_dates(instance: Instance, format_: str) -> None:
    """For `write` of formats without a place for dates: an error rather than another instance when it is read."""
    for what, there in (
        ("release dates", instance.earliest is not None),
        ("due dates", instance.due is not None),
        ("machine orders that are kept", bool(instance.kept)),
    ):
        if there:
            raise InstanceFormatError(f"{instance.name}: {what}, which the {format_} format cannot hold; use l2s-json")


def stem(source: str) -> str:
    """A name for an instance that has none, from the file it is in."""
    return PurePath(source).stem.removesuffix(".jsl") or "instance"


def build(
    source: str,
    jobs: list[list[tuple[int, int]]],
    n_machines: int,
    line: Callable[[str, int, int], int],
    /,
    first: int = 0,
    **details: Any,
) -> Instance:
    """An instance from the (machine, duration) pairs of its jobs, machines counted from `first`, all numbers judged.

    `line("machine" | "duration", job, index)` says where a number stands that is wrong, `line("bounds", 0, 0)` and
    `line("n_machines", 0, 0)` likewise. What is wrong with the instance as a whole is reported at line 1.
    """
    if not 0 < n_machines <= MAX_SIZE:
        raise fail(source, line("n_machines", 0, 0), f"n_machines is {n_machines}, expected 1 to {MAX_SIZE}")
    lower, upper = bounds = details.get("lower_bound"), details.get("upper_bound")
    for name, bound in zip(("lower", "upper"), bounds, strict=True):
        if bound is not None and bound < 0:
            raise fail(source, line("bounds", 0, 0), f"{name} bound {bound}, expected 0 or more")
    if lower is not None and upper is not None and lower > upper:
        raise fail(source, line("bounds", 0, 0), f"lower bound {lower}, expected at most the upper bound {upper}")
    last = first + n_machines - 1
    for job, row in enumerate(jobs):
        for index, (machine, duration) in enumerate(row):
            if first <= machine <= last and 0 <= duration <= MAX_TOTAL_DURATION:
                continue
            part, problem = "duration", f"duration {duration}, expected 0 to {MAX_TOTAL_DURATION}"
            if not first <= machine <= last:
                part, problem = "machine", f"machine {machine}, expected {first} to {last}"
                if machine == last + 1 and all(other > first for each in jobs for other, _ in each):
                    problem += f" (this file counts machines from {first + 1}, the format from {first})"
            raise fail(source, line(part, job, index), f"job {job}, index {index}: {problem}")
    if first:
        jobs = [[(machine - first, duration) for machine, duration in row] for row in jobs]
    known = {key: value for key, value in details.items() if value is not None}
    try:
        return Instance.from_jobs(jobs, n_machines, **{"name": stem(source), "source": PurePath(source).name} | known)
    except InstanceError as error:
        raise fail(source, 1, f"{error}") from error
