"""What this package offers. Nothing heavy is imported here: the targets are, when a user asks for them."""

from __future__ import annotations

from l2s_plugin import DispatchingRuleSpec, MethodSpec, NeighbourhoodSpec, SelectorSpec, hookimpl


@hookimpl
def l2s_dispatching_rules() -> list[DispatchingRuleSpec]:
    return [DispatchingRuleSpec("example-earliest", "l2s_example.rule:Earliest", "what can start first, first")]


@hookimpl
def l2s_methods() -> list[MethodSpec]:
    return [MethodSpec("example-annealing", "l2s_example.host:anneal", "simulated annealing")]


@hookimpl
def l2s_neighbourhoods() -> list[NeighbourhoodSpec]:
    return [
        NeighbourhoodSpec("example-adjacent", "l2s_example.neighbourhood:create", "all neighbours of a critical block")
    ]


@hookimpl
def l2s_selectors() -> list[SelectorSpec]:
    return [
        SelectorSpec("example-smallest", "l2s_example.selector:Smallest", "the smallest estimate, in Python"),
        SelectorSpec("example-compiled", "l2s_example.selector:compiled", "the smallest estimate, short ones first"),
    ]
