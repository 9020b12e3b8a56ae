"""Optional libraries, imported when they are needed, with one line for those who do not have them."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from l2s_plugin.errors import L2SError, MissingExtraError, missing_extra

OLDEST_ORTOOLS = (9, 12)


def library(module: str, extra: str) -> Any:
    """The module; raises `MissingExtraError` with the extra to install."""
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        raise missing_extra(str(error.name or module), extra) from error
    except ImportError as error:
        raise L2SError(f"{module} cannot be imported: {' '.join(str(error).split())}") from error


def ortools(module: str = "ortools.sat.python.cp_model") -> Any:
    """A module of OR-Tools, if it is new enough."""
    version = str(library("ortools", "cp-sat").__version__)
    if tuple(int(part) for part in version.split(".")[:2]) < OLDEST_ORTOOLS:
        needed = "{}.{} or newer is needed; run: pip install -U 'l2s-plugin[cp-sat]'".format(*OLDEST_ORTOOLS)
        raise MissingExtraError(f"ortools {version} is too old, {needed}")
    return library(module, "cp-sat")


def expect(given: Any, kind: type, error: type[L2SError]) -> None:
    """Refuse what is of another kind, such as a model where its data is meant."""
    if not isinstance(given, kind):
        found = "None" if given is None else f"{_package(type(given))}{type(given).__name__}"
        raise error(f"expected {_package(kind)}{kind.__name__}, got {found}")


def _package(kind: type) -> str:
    package = kind.__module__.partition(".")[0]
    return "" if package == "builtins" else f"{package}."
