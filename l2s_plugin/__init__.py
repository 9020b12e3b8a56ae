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
    from l2s_plugin.errors import L2SError as L2SError
    from l2s_plugin.evaluator import Evaluation as Evaluation
    from l2s_plugin.evaluator import Evaluator as Evaluator
    from l2s_plugin.hookspecs import hookimpl as hookimpl
    from l2s_plugin.hookspecs import hookspec as hookspec
    from l2s_plugin.instance import Instance as Instance
    from l2s_plugin.loader import load as load
    from l2s_plugin.loader import save as save
    from l2s_plugin.registry import Registry as Registry
    from l2s_plugin.registry import default_registry as default_registry
    from l2s_plugin.schedule import Schedule as Schedule
    from l2s_plugin.specs import DispatchingRuleSpec as DispatchingRuleSpec
    from l2s_plugin.specs import InstanceFormatSpec as InstanceFormatSpec
    from l2s_plugin.specs import MethodSpec as MethodSpec
    from l2s_plugin.specs import NeighbourhoodSpec as NeighbourhoodSpec
    from l2s_plugin.specs import PolicySpec as PolicySpec
    from l2s_plugin.specs import RendererSpec as RendererSpec
    from l2s_plugin.specs import SelectorSpec as SelectorSpec
    from l2s_plugin.verification import verify as verify

__version__ = "0.1.0"

_NAMES = {
    "": "bounds generate stop",
    "errors": "L2SError",
    "evaluator": "Evaluation Evaluator",
    "hookspecs": "hookimpl hookspec",
    "instance": "Instance",
    "loader": "load save",
    "registry": "Registry default_registry",
    "schedule": "Schedule",
    "specs": "DispatchingRuleSpec InstanceFormatSpec MethodSpec NeighbourhoodSpec PolicySpec RendererSpec SelectorSpec",
    "verification": "verify",
}
_HOME = {name: home for home, names in _NAMES.items() for name in names.split()}

__all__ = sorted(_HOME)

__getattr__, __dir__ = lazy(__name__, _HOME)
