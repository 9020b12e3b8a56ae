"""What the heuristics offer, through the same hooks as any plugin."""

from __future__ import annotations

from heuristics.configuration import LIMITS
from l2s_plugin.hookspecs import hookimpl
from l2s_plugin.specs import DispatchingRuleSpec, MethodSpec

_FOLLOW = "heuristics.hosts.trajectories:follow"
_RULES = "heuristics.hosts.dispatching:"

TRAJECTORY = LIMITS | {"selector", "policy", "neighbourhood", "initial", "warm_start", "gear"}
POPULATION = TRAJECTORY | {"tenure", "workers", "population", "horizon", "anneal", "patience", "polisher"}


@hookimpl
def l2s_methods() -> list[MethodSpec]:
    return [
        MethodSpec("memetic", "heuristics.population:memetic", "tabu search on a population", POPULATION),
        MethodSpec("tabu", _FOLLOW, "one tabu search trajectory", TRAJECTORY | {"tenure", "evaluator"}),
        MethodSpec(
            "local-search",
            _FOLLOW,
            "one trajectory that may go back where it came from",
            TRAJECTORY | {"forbid_undo", "recent", "annealing", "evaluator"},
        ),
        MethodSpec("dispatch", _RULES + "dispatch_method", "a dispatching rule alone", frozenset({"initial"})),
    ]


@hookimpl
def l2s_dispatching_rules() -> list[DispatchingRuleSpec]:
    plain = {
        "spt": "shortest processing time first",
        "lpt": "longest processing time first",
        "mwkr": "most work remaining in the job first",
        "lwkr": "least work remaining in the job first",
        "mopnr": "most operations remaining in the job first",
        "edd": "earliest due date first, of the operation: that of its job minus the work that follows",
        "fifo": "first come, first served",
        "random": "any waiting operation",
    }
    summary = "smallest ratio of flow due date to work remaining, inserted into the earliest gap"
    first = DispatchingRuleSpec("fdd/mwkr", _RULES + "FlowDueDatePerWorkRemaining", summary)
    return [first, *(DispatchingRuleSpec(name, _RULES + name, summary) for name, summary in plain.items())]
