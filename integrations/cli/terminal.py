"""Everything that the command line prints for people or programs goes through here."""

from __future__ import annotations

import io
import os
import re
import sys
import warnings
from contextlib import suppress

import click

# control characters but tab and line end, what turns the direction of text around, and halves of surrogate pairs
_UNSAFE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")


def shown(text: str) -> str:
    """The text without power over the terminal: names come from files. The escapes are those of JSON."""
    return _UNSAFE.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


def echo(text: str, err: bool = False) -> None:
    """Print a line; nobody has to read standard error, but a standard output that fails is an `OSError`."""
    try:
        click.echo(shown(text), err=err)
    except OSError:
        if not err:
            raise


class _Unheard(io.TextIOWrapper):
    """A standard error that never fails: its reader may leave, and the run goes on."""

    def write(self, text: str) -> int:
        with suppress(OSError):
            super().write(text)
        return len(text)

    def flush(self) -> None:
        with suppress(OSError):
            super().flush()


def prepare_streams() -> None:
    """Make the standard streams safe to use, whatever they are connected to.

    A stream that was closed (`>&-`) is opened again, so that no file gets its number: standard output fails from then
    on, standard error is silent.
    """
    for number, (name, mode) in enumerate((("stdin", os.O_RDONLY), ("stdout", os.O_RDONLY), ("stderr", os.O_WRONLY))):
        if getattr(sys, name) is None:
            os.dup2(os.open(os.devnull, mode), number)
            setattr(sys, name, open(number, "w" if number else "r", closefd=False))  # noqa: SIM115
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")
    binary = open(2, "wb", closefd=False)  # noqa: SIM115
    sys.stderr = _Unheard(binary, sys.stderr.encoding, "backslashreplace", line_buffering=True)
    warnings.formatwarning = _one_line


def _one_line(
    message: Warning | str, category: type[Warning], filename: str, lineno: int, line: str | None = None
) -> str:
    return f"{category.__name__}: {shown(' '.join(str(message).split()))}\n"
