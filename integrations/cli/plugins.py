"""`l2s plugins`: who offers what, and what went wrong."""

from __future__ import annotations

import json
from itertools import groupby
from typing import Any

import click

from integrations.cli import example
from integrations.cli.terminal import echo
from l2s_plugin.registry import Plugin, Registry, default_registry


@click.command(epilog=example("l2s plugins"))
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def plugins(as_json: bool) -> None:
    """List plugins: distribution, version, what each offers, failures and names claimed twice."""
    registry = default_registry()
    echo(json.dumps(describe(registry)) if as_json else render(registry))


def describe(registry: Registry) -> dict[str, Any]:
    """The listing as plain data."""
    return {
        "plugins": [plugin.as_dict() for plugin in registry.plugins],
        "conflicts": [
            {"kind": kind, "name": name, "plugins": [owner.id for owner in owners]}
            for (kind, name), owners in registry.conflicts().items()
        ],
    }


def render(registry: Registry) -> str:
    """The listing for people."""
    blocks = [_render_plugin(plugin) for plugin in registry.plugins]
    conflicts = [
        f"  {kind} {name!r} is claimed by {' and '.join(owner.id for owner in owners)}"
        for (kind, name), owners in registry.conflicts().items()
    ]
    if conflicts:
        blocks.append("\n".join(["conflicts (such a name cannot be used)", *conflicts]))
    return "\n\n".join(blocks)


def _render_plugin(plugin: Plugin) -> str:
    lines = [f"{plugin.id} {plugin.version}".rstrip()]
    if plugin.disabled:
        lines.append(f"  {plugin.error}")
    elif plugin.error:
        lines.append(f"  FAILED: {plugin.error}")
    elif not plugin.offers:
        lines.append("  observes searches" if plugin.observes else "  offers nothing")
    width = max((len(spec.name) for spec in plugin.offers), default=0)
    for kind, specs in groupby(plugin.offers, lambda spec: spec.kind):
        lines += [f"  {kind}", *(f"    {spec.name:{width}}  {spec.summary}".rstrip() for spec in specs)]
    return "\n".join(lines)
