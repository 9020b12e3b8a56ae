"""The safetensors container, read and written without torch and without trust.

Not by the library of that name: it hands out the table of texts, which says what a policy is, only of files that it
maps into memory (one that is cut meanwhile ends the process), takes a tensor named twice, and leaves shapes such
as [0, 2**62, 2**62] to numpy's errors. Without it, the base installation reads policies.

Eight bytes with the length of a JSON header, the header (name, type, shape and place of every tensor, and a table of
texts called `__metadata__`), then the numbers. Nothing in such a file can be executed. Every length is checked against
the size of the file before anything is allocated.
"""

from __future__ import annotations

import json
import math
import struct
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from l2s_plugin.errors import L2SError, PolicyError
from l2s_plugin.files import read_bytes, write_bytes
from l2s_plugin.records import check, parse_json

_METADATA = "__metadata__"
_LONGEST_HEADER = 10_000_000
_ENTRY = {"dtype": str, "shape": list[int], "data_offsets": tuple[int, int]}
_MOST_AXES, _LARGEST = 8, 2**32  # of a tensor
_DTYPES = {"F64": "<f8", "F32": "<f4", "F16": "<f2", "I64": "<i8", "I32": "<i4"}


def write(path: str | Path, tensors: Mapping[str, NDArray[Any]], metadata: Mapping[str, str]) -> None:
    """Write aside, then rename; the same content always gives the same bytes."""
    header: dict[str, Any] = {_METADATA: dict(metadata)}
    numbers = bytearray()
    for name in sorted(tensors):
        array = np.asarray(tensors[name])
        code = next((code for code, dtype in _DTYPES.items() if array.dtype == dtype), None)
        if code is None:
            raise PolicyError(f"tensor {name!r} has type {array.dtype}, expected one of {', '.join(_DTYPES)}")
        begin = len(numbers)
        numbers += array.astype(_DTYPES[code]).tobytes()
        header[name] = {"dtype": code, "shape": list(array.shape), "data_offsets": [begin, len(numbers)]}
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)  # the format wants the numbers aligned
    write_bytes(path, struct.pack("<Q", len(text)) + text + numbers)


def read(path: str | Path) -> tuple[dict[str, NDArray[Any]], dict[str, str]]:
    """All tensors and the table of texts; one line about anything that is wrong."""
    contents = read_bytes(path, PolicyError)
    header, begin = _header(path, contents)
    metadata = check(header.pop(_METADATA, {}), dict[str, str], f"{path}: {_METADATA}", PolicyError)
    entries = {name: _entry(path, name, entry, len(contents) - begin) for name, entry in header.items()}
    position = 0
    for start, stop in sorted(place for _, _, place in entries.values()):
        if start != position:
            break
        position = stop
    if begin + position != len(contents):
        raise PolicyError(f"{path}: the tensors do not fill the file; it is damaged")
    return {
        name: np.frombuffer(contents[begin + start : begin + stop], dtype).reshape(shape)
        for name, (dtype, shape, (start, stop)) in entries.items()
    }, metadata


def parse_texts(path: str | Path, texts: Mapping[str, str], shapes: Mapping[str, Any]) -> dict[str, Any]:
    """The values of the texts that are JSON documents, of the shapes that they must have."""
    values = {}
    for key, shape in shapes.items():
        if key not in texts:
            raise PolicyError(f"{path}: damaged header: {key} is missing")
        try:
            values[key] = check(parse_json(texts[key], key), shape, key)
        except L2SError as error:
            raise PolicyError(f"{path}: damaged header: {error}") from error
    return values


def _header(path: str | Path, contents: bytes) -> tuple[dict[str, Any], int]:
    """The JSON header, and where the numbers begin."""
    length = int.from_bytes(contents[:8], "little")
    if len(contents) < 8 or not 2 <= length <= _LONGEST_HEADER:
        if contents.startswith((b"PK", b"\x80\x02", b"\x80\x04", b"\x80\x05")):
            raise PolicyError(
                f"{path}: a pickle or PyTorch file, not a safetensors file; pickle files are never opened here "
                "(checkpoints of the paper's authors: l2s policies import)"
            )
        raise PolicyError(f"{path}: not a safetensors file")
    if 8 + length > len(contents):
        raise PolicyError(f"{path}: truncated: the header should have {length} bytes, the file has {len(contents)}")
    try:
        header = parse_json(contents[8 : 8 + length], "header", PolicyError)
    except PolicyError as error:
        raise PolicyError(f"{path}: not a safetensors file (its header is no JSON: {error})") from error
    if not isinstance(header, dict):
        raise PolicyError(f"{path}: not a safetensors file (its header is no JSON object)")
    return header, 8 + length


def _entry(path: str | Path, name: str, entry: Any, available: int) -> tuple[str, tuple[int, ...], tuple[int, int]]:
    """Type, shape and place of one tensor, checked."""

    def refusal(problem: str) -> PolicyError:
        return PolicyError(f"{path}: tensor {name!r} {problem}")

    try:
        check(entry, _ENTRY, name, PolicyError)
    except PolicyError as error:
        raise refusal(f"is described wrongly in the header ({error})") from error
    code, shape, (start, stop) = entry["dtype"], tuple(entry["shape"]), entry["data_offsets"]
    if min(0, start, stop, *shape) < 0:
        raise refusal("is described wrongly in the header (negative numbers)")
    if code not in _DTYPES:
        raise refusal(f"has type {code!r}, expected one of {', '.join(_DTYPES)}")
    dtype = _DTYPES[code]
    if stop - start != math.prod(shape) * np.dtype(dtype).itemsize:
        raise refusal(f"has shape {list(shape)}, which does not fit its {stop - start} bytes")
    if stop > available:
        raise PolicyError(f"{path}: truncated: tensor {name!r} ends {stop - available} bytes behind the file")
    if len(shape) > _MOST_AXES or math.prod(extent or 1 for extent in shape) > _LARGEST:  # an extent of 0 hides others
        raise refusal(f"has shape {str(list(shape))[:60]}, which nothing can have")
    return dtype, shape, (start, stop)
