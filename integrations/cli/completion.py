"""What the shell offers when Tab is pressed, and `l2s completion`, which teaches it to.

Everything here runs at the press of a key: names come from the index of benchmarks and from the specs of plugins, and
nothing behind them is imported.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import click
from click.shell_completion import CompletionItem, get_completion_class

from integrations.cli import example
from integrations.cli.terminal import echo
from l2s_plugin.specs import Spec

PROGRAM = "l2s"
SHELLS = ("bash", "zsh", "fish")

Completer = Callable[[click.Context, click.Parameter, str], list[CompletionItem]]


@click.command(epilog=example('eval "$(l2s completion bash)"'))
@click.argument("shell", type=click.Choice(SHELLS))
@click.pass_context
def completion(ctx: click.Context, shell: str) -> None:
    """Print the lines that let a shell complete commands, options, instances, selectors, policies and rules.

    \b
    bash   eval "$(l2s completion bash)"     in ~/.bashrc
    zsh    eval "$(l2s completion zsh)"      in ~/.zshrc, after compinit
    fish   l2s completion fish | source      in ~/.config/fish/config.fish
    """
    script = get_completion_class(shell)
    assert script is not None
    echo(script(ctx.find_root().command, {}, PROGRAM, f"_{PROGRAM.upper()}_COMPLETE").source())


def _paths(kind: str) -> Completer:
    """Let the shell complete a path."""
    return lambda ctx, parameter, incomplete: [CompletionItem(incomplete, type=kind)]


files, folders = _paths("file"), _paths("dir")


def path_option(*names: str, metavar: str, **details: Any) -> Callable[[Any], Any]:
    """An option that takes a file, or a folder where the metavar says DIR."""
    return click.option(*names, metavar=metavar, shell_complete=folders if metavar == "DIR" else files, **details)


def instances(ctx: click.Context, parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Benchmark instances, or else files."""
    from l2s_plugin.data import benchmark_info, benchmark_names

    names = [(name, benchmark_info(name).size) for name in benchmark_names()]
    return _beginning_with(incomplete, names) or files(ctx, parameter, incomplete)


def sets_and_instances(ctx: click.Context, parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Sets (`ta`), groups (`ta:15x15`), `paper` and benchmark instances, or else files."""
    from integrations.bench.sets import set_words

    return _beginning_with(incomplete, ((word, "") for word in set_words())) + instances(ctx, parameter, incomplete)


def names_of(kind: type[Spec], or_files: bool = False) -> Completer:
    """The names that plugins offer for one kind of thing."""

    def complete(ctx: click.Context, parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
        from l2s_plugin.registry import default_registry

        found = _beginning_with(incomplete, ((spec.name, spec.summary) for spec in default_registry().specs(kind)))
        return found or (files(ctx, parameter, incomplete) if or_files else [])

    return complete


def _beginning_with(incomplete: str, names: Iterable[tuple[str, str]]) -> list[CompletionItem]:
    return [CompletionItem(name, help=summary or None) for name, summary in names if name.startswith(incomplete)]
