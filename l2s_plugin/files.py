"""Reading and writing files so that errors are one line and nothing half-written is left behind."""

from __future__ import annotations

import os
import secrets
import stat
import sys
import tempfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext, suppress
from os import PathLike
from pathlib import Path
from typing import BinaryIO

from l2s_plugin.errors import L2SError

_LARGEST = 2**30  # bytes that are read of one file


def write_text(path: str | Path, text: str) -> None:
    """Like `write_bytes`; what UTF-8 has no bytes for (half a surrogate pair in a name) is written as an escape."""
    write_bytes(path, text.encode(errors="backslashreplace"))


def write_bytes(path: str | PathLike[str], data: bytes) -> None:
    """Write aside, then rename: the file is whole, on the disk, or not there; `-` writes to standard output.

    Links are followed, the mode of a file that is replaced is kept, and what is no regular file (a device, a pipe) is
    written through.
    """
    if path == "-":
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()
        return
    with _explained("write", path):
        target = _regular(path)
        if target is None:
            Path(path).write_bytes(data)
        else:
            _replace(target, data)


def append_text(path: str | Path, text: str) -> None:
    """Add to the end of a file, and to what survives a power cut."""
    with _explained("write", path), open(path, "a", encoding="utf-8", errors="backslashreplace") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())


def check_writable(path: str | Path) -> None:
    """Fail now rather than after a long run."""
    if path == "-":
        return
    with _explained("write", path):
        target = _regular(path)
        if os.path.isdir(path):
            raise ValueError("is a directory")
        if target is None:
            if not os.access(path, os.W_OK):
                raise ValueError("permission denied")
        elif not target.parent.is_dir():
            raise ValueError("no such directory")
        else:  # permissions say too little: what counts is that it can be done
            tempfile.TemporaryFile(dir=target.parent).close()


@contextmanager
def _explained(action: str, path: str | PathLike[str], error_type: type[L2SError] = L2SError) -> Iterator[None]:
    """One line for what goes wrong, also with names that no file can have: a zero byte, half a surrogate pair."""
    try:
        yield
    except (OSError, ValueError) as error:
        reason = (error.strerror if isinstance(error, OSError) else None) or str(error)
        raise error_type(f"cannot {action} {path}: {reason}") from error


def _regular(path: str | PathLike[str]) -> Path | None:
    """The file to make or replace, links followed; None for what has to be written through."""
    target = Path(os.path.realpath(path))
    try:
        there = os.stat(path)
    except FileNotFoundError:
        return target
    # a link of /dev/fd may lead to what has no path: a pipe, or a file that was deleted
    has_path = target.exists() and os.path.samestat(there, target.stat())
    return target if stat.S_ISREG(there.st_mode) and has_path else None


def _replace(target: Path, data: bytes) -> None:
    with _open_aside(target) as file:
        try:
            if target.exists():
                os.chmod(file.name, stat.S_IMODE(target.stat().st_mode))
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
            os.replace(file.name, target)
        except BaseException:
            os.unlink(file.name)
            raise
    with suppress(OSError):  # put the new name on the disk, too, where the system can
        folder = os.open(target.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


def _open_aside(target: Path) -> BinaryIO:
    """A new file beside the target, locked while it is written; removes those that killed writers have left."""
    prefix = f".l2s-{zlib.crc32(os.fsencode(target.name)):08x}-"  # short, whatever the target is called
    for name in os.listdir(target.parent):
        if name.startswith(prefix):
            with suppress(OSError), open(target.parent / name, "rb") as left:
                if _lock(left.fileno(), wait=False):  # nobody is alive to hold it
                    os.unlink(target.parent / name)
    while True:
        file = open(target.parent / f"{prefix}{secrets.token_hex(8)}", "xb")  # noqa: SIM115
        _lock(file.fileno(), wait=True)
        if os.fstat(file.fileno()).st_nlink:
            return file
        file.close()  # another writer was faster than the lock, and removed it


def _lock(handle: int, wait: bool) -> bool:
    """Whether the lock was free; there are systems and folders without locks, where nothing is removed."""
    try:
        import fcntl

        fcntl.flock(handle, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
    except (ImportError, OSError):
        return False
    return True


def read_bytes(path: str | Path, error_type: type[L2SError] = L2SError) -> bytes:
    """Read a file; `-` reads standard input. Devices that never end are no files."""
    with _explained("read", path, error_type):
        with nullcontext(sys.stdin.buffer) if path == "-" else open(path, "rb") as file:
            data = file.read(_LARGEST + 1)
        if len(data) > _LARGEST:
            raise ValueError(f"more than {_LARGEST} bytes")
    return data


def read_text(path: str | Path, error_type: type[L2SError] = L2SError) -> str:
    """Read UTF-8 text."""
    try:
        return read_bytes(path, error_type).decode()
    except UnicodeDecodeError as error:
        raise error_type(f"{path}: not a text file (byte {error.start} is not UTF-8)") from error
