"""Everything this project raises on purpose derives from `L2SError`: one line, meant for the user."""

from __future__ import annotations

import re
from collections.abc import Iterable
from difflib import get_close_matches
from typing import Any


class L2SError(Exception):
    """Base of all errors a user can cause; the command line prints it and exits with code 2."""


class InstanceError(L2SError):
    """An instance that makes no sense (negative duration, unknown machine, no operations, ...)."""


class InstanceFormatError(L2SError):
    """A file that is not what its format promises; the message names file, line and expectation."""


class ScheduleError(L2SError):
    """A schedule that does not fit its instance or violates one of its constraints."""


class CyclicOrderError(ScheduleError):
    """Machine orders that wait for each other: no schedule can follow them."""


class PluginError(L2SError):
    """A plugin that cannot be loaded or that broke its contract; names plugin, hook and argument."""


class PolicyError(L2SError):
    """A checkpoint that cannot be used: damaged, of another architecture, or asked for what it cannot do."""


class UnknownNameError(L2SError):
    """A name nobody offers; the message lists close matches and failed plugins."""


class MissingExtraError(L2SError):
    """An optional dependency is not installed; the message names the extra to install."""


def whole_number(what: str, value: Any, least: int = 0) -> int:
    """`value` as an int; an error that names `what` unless it is a whole number, `least` or more."""
    if isinstance(value, bool) or not hasattr(value, "__index__") or int(value) < least:
        raise L2SError(f"{what} must be a whole number, {least} or more, got {value!r}")
    return int(value)


def unknown_name(kind: str, name: str, known: Iterable[str], note: str = "") -> UnknownNameError:
    """Build the error for an unknown `name`, with close matches or else everything that is known."""
    known = sorted(known)
    close = [each for each in known if _plain(each) == _plain(name)] or get_close_matches(name, known, n=3, cutoff=0.6)
    if close:
        hint = f"did you mean {' or '.join(close)}?"
    elif len(known) <= 20:
        hint = f"known: {', '.join(known) or 'none'}"
    else:
        hint = f"{len(known)} names are known"
    return UnknownNameError(f"unknown {kind} {name!r}; {hint}{note}")


def _plain(name: str) -> str:
    """Without what people forget: ta1 and TA001 are ta01."""
    return re.sub(r"(?<![0-9])0+(?=[0-9])", "", name.casefold())


def missing_extra(package: str, extra: str) -> MissingExtraError:
    """Build the error for an optional dependency that is not installed."""
    return MissingExtraError(f"{package} is not installed; run: pip install 'l2s-plugin[{extra}]'")
