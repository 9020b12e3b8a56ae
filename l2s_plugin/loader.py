"""Loading instances by name or from files of any known format, and saving them."""

from __future__ import annotations

import os
from contextlib import AbstractContextManager
from os import PathLike
from pathlib import Path
from typing import IO, Any

from l2s_plugin import data as benchmarks
from l2s_plugin.containment import contained
from l2s_plugin.errors import InstanceError, InstanceFormatError, L2SError, PluginError, unknown_name
from l2s_plugin.files import read_bytes, write_bytes
from l2s_plugin.formats import InstanceFormat
from l2s_plugin.formats.parsing import decode
from l2s_plugin.instance import Instance
from l2s_plugin.registry import Registry, default_registry
from l2s_plugin.specs import InstanceFormatSpec

Source = str | PathLike[str] | IO[Any]


def load(
    source: Source,
    format: str | InstanceFormat | None = None,  # noqa: A002
    registry: Registry | None = None,
) -> Instance:
    """Load one instance.

    Parameters
    ----------
    source
        A benchmark name (`"ta01"`), the path of a file, an open file, or `"-"` for standard input. A name
        wins over a file called the same: write `"./ta01"` for the file. `"file.npy#3"` is the instance at
        index 3 of a file with several.
    format
        Name of the file's format; None: the one format that recognises the contents.
    registry
        Where formats are looked up; None: all installed plugins.
    """
    path = str(source) if isinstance(source, str | PathLike) else ""
    file, _, index = path.rpartition("#")
    if file and index.isdecimal() and not os.path.exists(path) and os.path.exists(file):
        found = load_all(Path(file), format, registry)  # never a benchmark called the same
        if int(index) < len(found):
            return found[int(index)]
        raise InstanceFormatError(f"{path}: {file} holds {len(found)} instances, expected an index below that")
    found = load_all(source, format, registry)
    label = path or found[0].source
    if len(found) > 1:
        choice = f"pick one as {label}#0, {label}#1, ..."
        raise InstanceFormatError(f"{label}: {len(found)} instances, expected one; {choice}")
    return found[0]


def load_all(
    source: Source,
    format: str | InstanceFormat | None = None,  # noqa: A002
    registry: Registry | None = None,
) -> list[Instance]:
    """Load every instance of a file (or the one benchmark instance of that name); see `load`."""
    if isinstance(source, str) and format is None and source in benchmarks.benchmark_names():
        return [benchmarks.benchmark(source)]
    registry = registry or default_registry()
    contents, label = _contents(source)
    reader = registry.create(InstanceFormatSpec, _detect(contents, label, registry) if format is None else format)
    try:
        with _contained(reader, "read"):
            found = reader.read(contents, label)
    except InstanceError as error:
        raise InstanceFormatError(f"{label}:1: {error}") from error
    instances = found if isinstance(found, list) else [found]
    if not instances or not all(isinstance(each, Instance) for each in instances):
        raise PluginError(f"instance format {reader.name!r}: read must return an Instance or a list of them")
    return instances


def save(
    instance: Instance,
    path: str | PathLike[str],
    format: str | InstanceFormat | None = None,  # noqa: A002
    registry: Registry | None = None,
) -> None:
    """Save an instance, in the format of that name or else of the path's ending.

    `"-"` writes to standard output, in the standard text format unless another is named.
    """
    registry = registry or default_registry()
    if format is None:
        format = "standard" if path == "-" else format_of(str(path), registry)  # noqa: A001
    write_bytes(path, encode(instance, format, registry))


def encode(instance: Instance, format: str | InstanceFormat, registry: Registry | None = None) -> bytes:  # noqa: A002
    """The contents of a file that holds `instance` in one format."""
    writer = (registry or default_registry()).create(InstanceFormatSpec, format)
    with _contained(writer, "write"):
        return writer.write(instance)


def format_of(path: str, registry: Registry | None = None) -> InstanceFormat:
    """The format that claims the path's ending; the longest ending wins."""
    registry = registry or default_registry()
    claims = [(suffix, each) for each in _all_formats(registry)[0] for suffix in each.suffixes]
    fitting = [claim for claim in claims if path.lower().endswith(claim[0])]
    longest = max((len(suffix) for suffix, _ in fitting), default=0)
    owners = [each for suffix, each in fitting if len(suffix) == longest]
    if len(owners) > 1:
        names = " and ".join(each.name for each in owners)
        raise InstanceFormatError(f"{path}: the formats {names} claim this ending, expected one; name the format")
    if not owners:
        known = ", ".join(f"{suffix} ({each.name})" for suffix, each in claims)
        raise InstanceFormatError(f"{path}: no format has this ending, expected one of {known}; or name the format")
    return owners[0]


def _contents(source: Source) -> tuple[bytes, str]:
    """The bytes behind a source, and what to call it in messages."""
    if isinstance(source, str | PathLike):
        if source == "-":
            return read_bytes(source), "stdin"
        if isinstance(source, str) and not os.path.exists(source):
            raise unknown_name("instance", source, benchmarks.benchmark_names(), " (and there is no such file)")
        return read_bytes(Path(source), InstanceFormatError), os.fspath(source)
    if not hasattr(source, "read"):
        raise InstanceFormatError(f"expected a benchmark name, a path or an open file, got {source!r}")
    name = getattr(source, "name", None)
    label = name if isinstance(name, str) else "file"
    try:
        contents = source.read()
        return contents.encode() if isinstance(contents, str) else bytes(contents), label
    except UnicodeDecodeError as error:
        raise InstanceFormatError(f"{label}:1: binary file, expected it opened in binary mode") from error
    except (OSError, TypeError, ValueError) as error:
        raise InstanceFormatError(f"{label}: cannot be read: {error}") from error


def _detect(contents: bytes, label: str, registry: Registry) -> InstanceFormat:
    """The one format that recognises the file; none or several is an error."""
    formats, failures = _all_formats(registry)
    found = []
    for each in formats:
        with _contained(each, "detect"):
            found += [each] if each.detect(contents, label) else []
    if len(found) == 1:
        return found[0]
    if found:
        names = " and ".join(each.name for each in found)
        raise InstanceFormatError(f"{label}:1: recognised as {names}, expected one format; name the one it is in")
    if b"\0" not in contents:
        decode(contents, label)  # refuses what is empty or no UTF-8
    kind = "binary file in no known format" if b"\0" in contents else "not in any known format"
    expected = ", ".join(f"{getattr(each, 'expects', 'its contents')} ({each.name})" for each in formats)
    raise InstanceFormatError(f"{label}:1: {kind}, expected one of: {expected}{failures}")


def _all_formats(registry: Registry) -> tuple[list[InstanceFormat], str]:
    """Every format that can be used, and a remark on those that cannot: the others must work."""
    formats, failures = [], ""
    for name in dict.fromkeys(spec.name for spec in registry.specs(InstanceFormatSpec)):
        try:
            formats.append(registry.create(InstanceFormatSpec, name))
        except L2SError as error:
            failures += f"; {error}"
    return formats, failures + registry.failures()


def _contained(format_: InstanceFormat, method: str) -> AbstractContextManager[None]:
    return contained(f"instance format {getattr(format_, 'name', type(format_).__name__)!r}: {method} raised")
