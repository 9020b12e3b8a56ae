"""Plugins may fail in any way, `SystemExit` and `KeyboardInterrupt` included: that never ends the program."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from l2s_plugin.errors import L2SError, PluginError


class CtrlC(KeyboardInterrupt):
    """The user's Ctrl-C; any other `KeyboardInterrupt` is one that a plugin has raised itself."""


@contextmanager
def ctrl_c_told_apart() -> Iterator[None]:
    """Let Ctrl-C raise `CtrlC`, unless a handler of the program's own is in place."""
    ours = (
        threading.current_thread() is threading.main_thread()
        and signal.getsignal(signal.SIGINT) is signal.default_int_handler
    )
    if ours:
        signal.signal(signal.SIGINT, raise_ctrl_c)
    try:
        yield
    finally:
        if ours:
            signal.signal(signal.SIGINT, signal.default_int_handler)


def raise_ctrl_c(number: int, frame: FrameType | None) -> None:
    raise CtrlC


@contextmanager
def contained(who: str) -> Iterator[None]:
    """Code of a plugin runs in here: what it raises becomes a `PluginError` that names it; our own errors pass."""
    with ctrl_c_told_apart():
        try:
            yield
        except (L2SError, CtrlC):
            raise
        except BaseException as error:
            raise PluginError(f"{who} {describe(error)}") from error


def describe(error: BaseException) -> str:
    """An exception in one line."""
    return str(error) if isinstance(error, L2SError) else f"{type(error).__name__}: {error}"
