"""What the heuristics offer, through the same hooks as any plugin."""

from __future__ import annotations

from l2s_plugin.hookspecs import hookimpl
from l2s_plugin.specs import DispatchingRuleSpec


@hookimpl
def l2s_dispatching_rules() -> list[DispatchingRuleSpec]:
    return []
