"""What the core itself offers, through the same hooks as any plugin."""

from __future__ import annotations

from l2s_plugin.hookspecs import hookimpl
from l2s_plugin.specs import InstanceFormatSpec, NeighbourhoodSpec, SelectorSpec


@hookimpl
def l2s_instance_formats() -> list[InstanceFormatSpec]:
    return []


@hookimpl
def l2s_neighbourhoods() -> list[NeighbourhoodSpec]:
    return []


@hookimpl
def l2s_selectors() -> list[SelectorSpec]:
    return []
