"""`l2s policies`: which policies there are and what is known about them, and an importer for the authors' files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

from integrations.cli import example
from integrations.cli.completion import files as complete_files
from integrations.cli.completion import path_option
from integrations.cli.terminal import echo


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
    from functools import partial

    from l2s_plugin.policy.checkpoint import load_policy
    from l2s_plugin.policy.library import describe, installed_policies

    entries = [describe(name, load) | {"installed": True} for name, load in installed_policies()]
    for file in files:
        entries.append(describe(Path(file).stem, partial(load_policy, file)) | {"source": file, "installed": False})
    if as_json:
        echo(json.dumps({"policies": entries}))
    elif entries:
        echo("\n\n".join(render(entry) for entry in entries))
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
    echo(render(policy.to_dict() | {"error": None}))
    echo(f"wrote {output}")


def render(entry: dict[str, Any]) -> str:
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
