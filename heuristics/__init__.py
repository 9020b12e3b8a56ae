"""Generic search hosts: dispatching, local search, tabu search, many of them side by side, and their results."""

from __future__ import annotations

from typing import TYPE_CHECKING

from l2s_plugin.lazy import lazy

if TYPE_CHECKING:
    from heuristics.configuration import Configuration, run
    from heuristics.hosts.dispatching import dispatch
    from heuristics.hosts.ensemble import EnsembleResult, ensemble_search
    from heuristics.hosts.trajectories import local_search, local_search_batch, tabu_search, tabu_search_batch
    from heuristics.population import solve
    from heuristics.result import Improvement, Result
    from heuristics.workers.cooperation import cooperate
    from heuristics.workers.portfolio import Portfolio, Run, portfolio
    from heuristics.workers.processes import ProcessPool

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
    "run",
    "solve",
    "tabu_search",
    "tabu_search_batch",
]

_HOME = {
    "Configuration": "configuration",
    "EnsembleResult": "hosts.ensemble",
    "Improvement": "result",
    "Portfolio": "workers.portfolio",
    "ProcessPool": "workers.processes",
    "Result": "result",
    "Run": "workers.portfolio",
    "cooperate": "workers.cooperation",
    "dispatch": "hosts.dispatching",
    "ensemble_search": "hosts.ensemble",
    "local_search": "hosts.trajectories",
    "local_search_batch": "hosts.trajectories",
    "portfolio": "workers.portfolio",
    "run": "configuration",
    "solve": "population",
    "tabu_search": "hosts.trajectories",
    "tabu_search_batch": "hosts.trajectories",
}

__getattr__, __dir__ = lazy(__name__, _HOME)
