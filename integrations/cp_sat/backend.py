"""OR-Tools, imported when it is needed, with one line for those who do not have it."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from l2s_plugin.errors import MissingExtraError, missing_extra

OLDEST = (9, 12)


def load(module: str = "ortools.sat.python.cp_model") -> Any:
    """A module of OR-Tools; raises `MissingExtraError` where it is missing or too old."""
    try:
        version = str(import_module("ortools").__version__)
    except ImportError as error:
        raise missing_extra("ortools", "cp-sat") from error
    if tuple(int(part) for part in version.split(".")[:2]) < OLDEST:
        oldest = ".".join(map(str, OLDEST))
        raise MissingExtraError(
            f"ortools {version} is too old, {oldest} or newer is needed; run: pip install -U 'l2s-plugin[cp-sat]'"
        )
    return import_module(module)
