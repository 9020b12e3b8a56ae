"""`l2s plugins` and `l2s policies`: who offers what, what is known about it, and what went wrong."""

from __future__ import annotations

import json
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import Any

import click

from integrations.cli import example
from integrations.cli.completion import files as complete_files
from integrations.cli.completion import path_option
from integrations.cli.terminal import echo
from l2s_plugin.registry import Plugin, default_registry


@click.command(epilog=example("l2s plugins"))
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def plugins(as_json: bool) -> None:
    """List plugins: distribution, version, what each offers, failures and names claimed twice."""
    registry = default_registry()
    conflicts = [
        {"kind": kind, "name": name, "plugins": [owner.id for owner in owners]}
        for (kind, name), owners in registry.conflicts().items()
    ]
    if as_json:
        echo(json.dumps({"plugins": [plugin.as_dict() for plugin in registry.plugins], "conflicts": conflicts}))
        return
    blocks = [_render_plugin(plugin) for plugin in registry.plugins]
    if conflicts:
        claims = [
            f"  {each['kind']} {each['name']!r} is claimed by {' and '.join(each['plugins'])}" for each in conflicts
        ]
        blocks.append("\n".join(["conflicts (such a name cannot be used)", *claims]))
    echo("\n\n".join(blocks))


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


class ListingGroup(click.Group):
    """A group that lists when no other command of its is named: `l2s policies FILE --json`."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if not args or (args[0] not in self.commands and args[0] not in ctx.help_option_names):
            args = ["list", *args]
        return super().parse_args(ctx, args)


@click.group(cls=ListingGroup, epilog=example("l2s policies --json"))
def policies() -> None:
    """List policies, installed ones and files, or import one of the paper's authors.

    `l2s policies [FILE ...] [--json]` is short for `l2s policies list`.
    """


@policies.command("list", epilog=example("l2s policies list mine.safetensors"))
@click.argument("files", nargs=-1, metavar="[FILE ...]", shell_complete=complete_files)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def list_policies(files: tuple[str, ...], as_json: bool) -> None:
    """List installed policies and those in FILEs: architecture, size and training record.

    A policy that cannot be used is listed with the reason; for one of the FILEs the exit code is 1, too.
    """
    from l2s_plugin.policy.checkpoint import load_policy
    from l2s_plugin.policy.library import describe, installed_policies

    entries = [describe(name, load) | {"installed": True} for name, load in installed_policies()]
    for file in files:
        entries.append(describe(Path(file).stem, partial(load_policy, file)) | {"source": file, "installed": False})
    if as_json:
        echo(json.dumps({"policies": entries}))
    elif entries:
        echo("\n\n".join(render_policy(entry) for entry in entries))
    else:
        echo("No policy is installed. Packages can ship them, and any FILE can be given: see docs/policies.md.")
    if any(entry["error"] and not entry["installed"] for entry in entries):
        click.get_current_context().exit(1)


@policies.command("import", epilog=example("l2s policies import 10x10.pth --output paper.safetensors"))
@click.argument("file", metavar="FILE.pth", shell_complete=complete_files)
@path_option("--output", "-o", required=True, metavar="NAME.safetensors", help="The policy file to write.")
@click.option(
    "--normalisation",
    type=click.Choice(["running", "batch"]),
    default="running",
    show_default=True,
    help="Statistics of batch normalisation: those from training, or of each graph alone.",
)
def import_policy(file: str, output: str, normalisation: str) -> None:
    """Turn FILE.pth, a checkpoint of the paper's authors, into a policy file.

    Only tensors are read from it; nothing in it is executed.
    """
    from l2s_plugin.policy.importer import import_policy as convert

    policy = convert(file, output, normalisation)
    echo(render_policy(policy.to_dict() | {"error": None}))
    echo(f"wrote {output}")


def render_policy(entry: dict[str, Any]) -> str:
    """One policy for people."""
    if entry["error"]:
        return f"{entry['name']}\n  FAILED: {entry['error']}"
    architecture = ", ".join(f"{key} {value}" for key, value in entry["architecture"].items())
    known = entry["neighbourhoods"]
    lines = [
        entry["name"],
        f"  file            {entry['source']}",
        f"  architecture    {entry['network']}: {architecture}",
        f"  parameters      {entry['parameters']:,}",
        f"  neighbourhoods  {'any' if known is None else ', '.join(known)}",
    ]
    if entry["host"]:
        lines.append(f"  trained in      {', '.join(f'{key} {_text(value)}' for key, value in entry['host'].items())}")
    lines += [f"  record          {key}: {_text(value)}" for key, value in entry["record"].items()]
    if not entry["record"]:
        lines.append("  record          none")
    return "\n".join(lines)


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)
