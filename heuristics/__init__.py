"""Generic search hosts: dispatching, local search, tabu search, many of them side by side, and their results."""

from __future__ import annotations

from typing import TYPE_CHECKING

from l2s_plugin.lazy import lazy

if TYPE_CHECKING:
    from heuristics.batch import local_search_batch, tabu_search_batch
    from heuristics.configuration import Configuration
    from heuristics.cooperation import cooperate
    from heuristics.dispatching import dispatch
    from heuristics.ensemble import EnsembleResult, ensemble_search
    from heuristics.local import local_search
    from heuristics.portfolio_search import Portfolio, Run, portfolio
    from heuristics.processes import ProcessPool
    from heuristics.result import Improvement, Result
    from heuristics.solver import solve
    from heuristics.tabu import tabu_search

__all__ = [
    "Configuration",
    "EnsembleResult",
    "Improvement",
    "Portfolio",
    "ProcessPool",
    "Result",
    "Run",
    "cooperate",
    "dispatch",
    "ensemble_search",
    "local_search",
    "local_search_batch",
    "portfolio",
    "solve",
    "tabu_search",
    "tabu_search_batch",
]

_HOME = {
    "Configuration": "configuration",
    "EnsembleResult": "ensemble",
    "Improvement": "result",
    "Portfolio": "portfolio_search",
    "ProcessPool": "processes",
    "Result": "result",
    "Run": "portfolio_search",
    "cooperate": "cooperation",
    "dispatch": "dispatching",
    "ensemble_search": "ensemble",
    "local_search": "local",
    "local_search_batch": "batch",
    "portfolio": "portfolio_search",
    "solve": "solver",
    "tabu_search": "tabu",
    "tabu_search_batch": "batch",
}

__getattr__, __dir__ = lazy(__name__, _HOME)
