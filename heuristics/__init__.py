"""Generic search hosts: dispatching, local search, tabu search, and their results."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from heuristics.dispatching import dispatch
    from heuristics.local import local_search
    from heuristics.result import Improvement, Result
    from heuristics.solver import solve
    from heuristics.tabu import tabu_search

__all__ = ["Improvement", "Result", "dispatch", "local_search", "solve", "tabu_search"]

_HOME = {
    "Improvement": "result",
    "Result": "result",
    "dispatch": "dispatching",
    "local_search": "local",
    "solve": "solver",
    "tabu_search": "tabu",
}


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOME[name]}"), name)
