"""OR-Tools, imported when it is needed, with one line for those who do not have it."""

from __future__ import annotations

from typing import Any

from integrations.libraries import library
from l2s_plugin.errors import MissingExtraError

OLDEST = (9, 12)


def load(module: str = "ortools.sat.python.cp_model") -> Any:
    """A module of OR-Tools; raises `MissingExtraError` where it is missing or too old."""
    version = str(library("ortools", "cp-sat").__version__)
    if tuple(int(part) for part in version.split(".")[:2]) < OLDEST:
        oldest = ".".join(map(str, OLDEST))
        raise MissingExtraError(
            f"ortools {version} is too old, {oldest} or newer is needed; run: pip install -U 'l2s-plugin[cp-sat]'"
        )
    return library(module, "cp-sat")
