"""Job-shop scheduling with pluggable, learnable move selection: the core and the plugin API.

Everything public is reachable from here and loaded on first use, so that importing the package stays quick.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from l2s_plugin.lazy import lazy

if TYPE_CHECKING:
    from l2s_plugin import bounds as bounds
    from l2s_plugin import generate as generate
    from l2s_plugin import stop as stop
    from l2s_plugin.errors import L2SError
    from l2s_plugin.evaluator import Evaluation, Evaluator
    from l2s_plugin.hookspecs import hookimpl, hookspec
    from l2s_plugin.instance import Instance
    from l2s_plugin.loader import load, save
    from l2s_plugin.registry import Registry, default_registry
    from l2s_plugin.schedule import Schedule
    from l2s_plugin.specs import (
        DispatchingRuleSpec,
        InstanceFormatSpec,
        MethodSpec,
        NeighbourhoodSpec,
        PolicySpec,
        RendererSpec,
        SelectorSpec,
    )
    from l2s_plugin.verification import verify

__version__ = "0.1.0"

_HOME = {
    "DispatchingRuleSpec": "specs",
    "Evaluation": "evaluator",
    "Evaluator": "evaluator",
    "Instance": "instance",
    "InstanceFormatSpec": "specs",
    "L2SError": "errors",
    "MethodSpec": "specs",
    "NeighbourhoodSpec": "specs",
    "PolicySpec": "specs",
    "Registry": "registry",
    "RendererSpec": "specs",
    "Schedule": "schedule",
    "SelectorSpec": "specs",
    "bounds": "",
    "default_registry": "registry",
    "generate": "",
    "hookimpl": "hookspecs",
    "hookspec": "hookspecs",
    "load": "loader",
    "save": "loader",
    "stop": "",
    "verify": "verification",
}

__all__ = [
    "DispatchingRuleSpec",
    "Evaluation",
    "Evaluator",
    "Instance",
    "InstanceFormatSpec",
    "L2SError",
    "MethodSpec",
    "NeighbourhoodSpec",
    "PolicySpec",
    "Registry",
    "RendererSpec",
    "Schedule",
    "SelectorSpec",
    "bounds",
    "default_registry",
    "generate",
    "hookimpl",
    "hookspec",
    "load",
    "save",
    "stop",
    "verify",
]

__getattr__, __dir__ = lazy(__name__, _HOME)
