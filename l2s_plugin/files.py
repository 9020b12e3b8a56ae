"""Reading and writing files so that errors are one line and nothing half-written is left behind."""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path

from l2s_plugin.errors import L2SError


def write_text(path: str | Path, text: str) -> None:
    """Write aside, then rename: the file is whole or not there."""
    write_bytes(path, text.encode())


def write_bytes(path: str | Path, data: bytes) -> None:
    """Like `write_text`; `-` writes to standard output."""
    if str(path) == "-":
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()
        return
    path = Path(path)
    try:
        handle, aside = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(data)
            os.chmod(aside, 0o666 & ~_umask())
            os.replace(aside, path)
        except BaseException:
            os.unlink(aside)
            raise
    except OSError as error:
        raise L2SError(f"cannot write {path}: {error.strerror}") from error


def check_writable(path: str | Path) -> None:
    """Fail now rather than after a long run."""
    if str(path) == "-":
        return
    path = Path(path)
    if path.is_dir():
        raise L2SError(f"cannot write {path}: is a directory")
    if not path.parent.is_dir():
        raise L2SError(f"cannot write {path}: no such directory")
    try:
        with tempfile.TemporaryFile(dir=path.parent):  # permissions say too little: what counts is that it can be done
            pass
    except OSError as error:
        raise L2SError(f"cannot write {path}: {error.strerror}") from error


def read_bytes(path: str | Path, error_type: type[L2SError] = L2SError) -> bytes:
    """Read a file; `-` reads standard input."""
    if str(path) == "-":
        return sys.stdin.buffer.read()
    try:
        return Path(path).read_bytes()
    except OSError as error:
        raise error_type(f"cannot read {path}: {error.strerror}") from error


def read_text(path: str | Path, error_type: type[L2SError] = L2SError) -> str:
    """Read UTF-8 text."""
    try:
        return read_bytes(path, error_type).decode()
    except UnicodeDecodeError as error:
        raise error_type(f"{path}: not a text file (byte {error.start} is not UTF-8)") from error


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
