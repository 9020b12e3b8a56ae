"""Generic search hosts: dispatching, local search, tabu search, many of them side by side, and their results."""

from __future__ import annotations

from typing import TYPE_CHECKING

from l2s_plugin.lazy import lazy

if TYPE_CHECKING:
    from heuristics.configuration import Configuration as Configuration
    from heuristics.configuration import run as run
    from heuristics.hosts.dispatching import dispatch as dispatch
    from heuristics.hosts.ensemble import EnsembleResult as EnsembleResult
    from heuristics.hosts.ensemble import ensemble_search as ensemble_search
    from heuristics.hosts.trajectories import local_search as local_search
    from heuristics.hosts.trajectories import local_search_batch as local_search_batch
    from heuristics.hosts.trajectories import tabu_search as tabu_search
    from heuristics.hosts.trajectories import tabu_search_batch as tabu_search_batch
    from heuristics.population import solve as solve
    from heuristics.replanning import Replan as Replan
    from heuristics.replanning import replan as replan
    from heuristics.result import Improvement as Improvement
    from heuristics.result import Result as Result
    from heuristics.workers.cooperation import cooperate as cooperate
    from heuristics.workers.portfolio import Portfolio as Portfolio
    from heuristics.workers.portfolio import Run as Run
    from heuristics.workers.portfolio import portfolio as portfolio
    from heuristics.workers.processes import ProcessPool as ProcessPool

_NAMES = {
    "configuration": ("Configuration", "run"),
    "hosts.dispatching": ("dispatch",),
    "hosts.ensemble": ("EnsembleResult", "ensemble_search"),
    "hosts.trajectories": ("local_search", "local_search_batch", "tabu_search", "tabu_search_batch"),
    "population": ("solve",),
    "replanning": ("Replan", "replan"),
    "result": ("Improvement", "Result"),
    "workers.cooperation": ("cooperate",),
    "workers.portfolio": ("Portfolio", "Run", "portfolio"),
    "workers.processes": ("ProcessPool",),
}
_HOME = {name: module for module, names in _NAMES.items() for name in names}

__all__ = sorted(_HOME)

__getattr__, __dir__ = lazy(__name__, _HOME)
