"""The safetensors container, read and written without torch and without trust.

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

from l2s_plugin.errors import PolicyError
from l2s_plugin.files import write_bytes

Tensors = dict[str, NDArray[Any]]

_METADATA = "__metadata__"
_LONGEST_HEADER = 10_000_000
_DTYPES = {"F64": "<f8", "F32": "<f4", "F16": "<f2", "I64": "<i8", "I32": "<i4"}


def write(path: str | Path, tensors: Mapping[str, NDArray[Any]], metadata: Mapping[str, str]) -> None:
    """Write aside, then rename; the same content always gives the same bytes."""
    header: dict[str, Any] = {_METADATA: dict(metadata)}
    chunks: list[bytes] = []
    position = 0
    for name in sorted(tensors):
        array = np.asarray(tensors[name])
        code = next((code for code, dtype in _DTYPES.items() if array.dtype == dtype), None)
        if code is None:
            raise PolicyError(f"tensor {name!r} has type {array.dtype}, expected one of {', '.join(_DTYPES)}")
        chunk = array.astype(_DTYPES[code]).tobytes()
        place = [position, position + len(chunk)]
        header[name] = {"dtype": code, "shape": list(array.shape), "data_offsets": place}
        chunks.append(chunk)
        position += len(chunk)
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)  # the format wants the numbers aligned
    write_bytes(path, b"".join([struct.pack("<Q", len(text)), text, *chunks]))


def read(path: str | Path) -> tuple[Tensors, dict[str, str]]:
    """All tensors and the table of texts; one line about anything that is wrong."""
    header, begin, size = _read_header(path)
    metadata = _metadata(path, header)
    tensors: Tensors = {}
    try:
        with open(path, "rb") as file:
            file.seek(begin)
            data = file.read(size - begin)
    except OSError as error:
        raise _unreadable(path, error) from error
    for name, entry in header.items():
        dtype, shape, (start, stop) = _entry(path, name, entry, len(data))
        tensors[name] = np.frombuffer(data[start:stop], dtype).reshape(shape)
    if sum(array.nbytes for array in tensors.values()) != len(data):
        raise PolicyError(f"{path}: the tensors do not fill the file; it is damaged")
    return tensors, metadata


def read_shapes(path: str | Path) -> tuple[dict[str, tuple[int, ...]], dict[str, str]]:
    """Names and shapes of the tensors and the table of texts, without reading the numbers."""
    header, begin, size = _read_header(path)
    metadata = _metadata(path, header)
    return {name: _entry(path, name, entry, size - begin)[1] for name, entry in header.items()}, metadata


def _read_header(path: str | Path) -> tuple[dict[str, Any], int, int]:
    """The JSON header, where the numbers begin, and the size of the file."""
    path = Path(path)
    try:
        if path.is_dir():
            raise PolicyError(f"cannot read {path}: is a directory")
        size = path.stat().st_size
        with path.open("rb") as file:
            start = file.read(8)
            length = int.from_bytes(start, "little")
            if start[:2] in (b"PK", b"\x80\x02", b"\x80\x04", b"\x80\x05"):
                raise PolicyError(
                    f"{path}: a pickle or PyTorch file, not a safetensors file; pickle files are never opened here "
                    "(checkpoints of the paper's authors: l2s policies import)"
                )
            if len(start) < 8 or not 2 <= length <= _LONGEST_HEADER:
                raise PolicyError(f"{path}: not a safetensors file")
            if 8 + length > size:
                raise PolicyError(f"{path}: truncated: the header should have {length} bytes, the file has {size}")
            text = file.read(length)
    except OSError as error:
        raise _unreadable(path, error) from error
    try:
        header = json.loads(text, object_pairs_hook=_no_duplicates)
    except (ValueError, RecursionError) as error:
        raise PolicyError(f"{path}: not a safetensors file (its header is no JSON)") from error
    if not isinstance(header, dict):
        raise PolicyError(f"{path}: not a safetensors file (its header is no JSON object)")
    return header, 8 + length, size


def _metadata(path: str | Path, header: dict[str, Any]) -> dict[str, str]:
    metadata = header.pop(_METADATA, {})
    if not isinstance(metadata, dict) or not all(isinstance(value, str) for value in metadata.values()):
        raise PolicyError(f"{path}: {_METADATA} must be a table of texts")
    return metadata


def _entry(path: str | Path, name: str, entry: Any, available: int) -> tuple[str, tuple[int, ...], tuple[int, int]]:
    """Type, shape and place of one tensor, checked."""
    try:
        code, shape, (start, stop) = entry["dtype"], tuple(entry["shape"]), entry["data_offsets"]
        if not all(type(number) is int and number >= 0 for number in (*shape, start, stop)):
            raise ValueError
    except (TypeError, KeyError, ValueError) as error:
        raise PolicyError(f"{path}: tensor {name!r} is described wrongly in the header") from error
    if not isinstance(code, str) or code not in _DTYPES:
        raise PolicyError(f"{path}: tensor {name!r} has type {code!r}, expected one of {', '.join(_DTYPES)}")
    dtype = _DTYPES[code]
    if stop - start != math.prod(shape) * np.dtype(dtype).itemsize:
        raise PolicyError(
            f"{path}: tensor {name!r} has shape {list(shape)}, which does not fit its {stop - start} bytes"
        )
    if stop > available:
        raise PolicyError(f"{path}: truncated: tensor {name!r} ends {stop - available} bytes behind the file")
    return dtype, shape, (start, stop)


def _no_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    table = dict(pairs)
    if len(table) < len(pairs):
        raise ValueError("a name occurs twice")
    return table


def _unreadable(path: str | Path, error: OSError) -> PolicyError:
    return PolicyError(f"cannot read {path}: {error.strerror}")
