"""What the heuristics offer, through the same hooks as any plugin."""

from __future__ import annotations

from heuristics.configuration import LIMITS
from l2s_plugin.hookspecs import hookimpl
from l2s_plugin.specs import DispatchingRuleSpec, MethodSpec

_FOLLOW = "heuristics.hosts.trajectories:follow"
_RULES = "heuristics.hosts.dispatching:"

TRAJECTORY = LIMITS | {"selector", "policy", "neighbourhood", "initial", "warm_start", "gear"}
POPULATION = TRAJECTORY | {"tenure", "workers", "population", "patience", "polisher"}


@hookimpl
def l2s_methods() -> list[MethodSpec]:
    return [
        MethodSpec("memetic", "heuristics.population.memetic:memetic", "tabu search on a population", POPULATION),
        MethodSpec("tabu", _FOLLOW, "one tabu search trajectory", TRAJECTORY | {"tenure"}),
        MethodSpec(
            "local-search",
            _FOLLOW,
            "one trajectory that may go back where it came from",
            TRAJECTORY | {"forbid_undo", "recent", "annealing"},
        ),
        MethodSpec("dispatch", _RULES + "dispatch_method", "a dispatching rule alone", frozenset({"initial"})),
    ]


@hookimpl
def l2s_dispatching_rules() -> list[DispatchingRuleSpec]:
    return [
        DispatchingRuleSpec(
            "fdd/mwkr",
            _RULES + "FlowDueDatePerWorkRemaining",
            "smallest ratio of flow due date to work remaining, inserted into the earliest gap",
        ),
        DispatchingRuleSpec("spt", _RULES + "ShortestProcessingTime", "shortest processing time first"),
        DispatchingRuleSpec("lpt", _RULES + "LongestProcessingTime", "longest processing time first"),
        DispatchingRuleSpec("mwkr", _RULES + "MostWorkRemaining", "most work remaining in the job first"),
        DispatchingRuleSpec("lwkr", _RULES + "LeastWorkRemaining", "least work remaining in the job first"),
        DispatchingRuleSpec("mopnr", _RULES + "MostOperationsRemaining", "most operations remaining in the job first"),
        DispatchingRuleSpec("fifo", _RULES + "FirstInFirstOut", "first come, first served"),
        DispatchingRuleSpec("random", _RULES + "Random", "any waiting operation"),
    ]
