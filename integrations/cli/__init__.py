"""The command line: `l2s COMMAND ...`.

Commands live in modules of their own, imported when they are called: `l2s --help` needs only the table below.
"""

from __future__ import annotations

import errno
import os
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any

import click
from click.shell_completion import CompletionItem

import integrations.cli.packages  # noqa: F401  (first: it looks whether what follows is ours)
from integrations.cli.terminal import echo, prepare_streams
from l2s_plugin import __version__
from l2s_plugin.errors import L2SError, unknown_name

DEBUG_VARIABLE = "L2S_DEBUG"
EXIT_BAD_INPUT = 2
EXIT_BUG = 70  # EX_SOFTWARE: neither "a check failed" nor "bad input"
EXIT_INTERRUPTED = 130  # 128 + SIGINT, as shells have it
EXIT_BROKEN_PIPE = 141  # 128 + SIGPIPE
_OUTPUT_ERRORS = {errno.EPIPE, errno.ENOSPC, errno.EBADF, errno.EIO, errno.EFBIG, errno.EDQUOT}
_HELP = {"help_option_names": ["-h", "--help"]}


COMMANDS = {  # the module of a command, and what `l2s --help` says about it
    "solve": ("solve", "Find good schedules for instances."),
    "replan": ("replan", "Plan the rest of a schedule again, after what happened."),
    "bench": ("bench", "Compare methods on sets of instances."),
    "train": ("train", "Train a policy for the learned selector."),
    "check": ("instances", "Verify a schedule, independently of how it was found."),
    "instances": ("instances", "List the benchmark instances by name."),
    "generate": ("instances", "Make random instances, reproducibly."),
    "convert": ("instances", "Turn an instance file into another format."),
    "policies": ("plugins", "List policies, or import one of the paper's authors."),
    "plugins": ("plugins", "List plugins, what they offer, and what failed."),
    "completion": ("completion", "Print what a shell needs to complete words of this program."),
}


def example(command: str) -> str:
    """The end of a help text; the sign in front keeps click from wrapping it."""
    return f"\b\nExample:\n  {command}"


class LazyGroup(click.Group):
    """A group that imports a command when it is called, and reports every error in one line."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        command: click.Command = getattr(import_module(f"{__name__}.{COMMANDS[cmd_name][0]}"), cmd_name)
        command.context_settings.update(_HELP)  # click keeps the first help option it makes, whoever asked for it
        return command

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """From the table: click would import every command to ask for its summary."""
        commands = [
            CompletionItem(name, help=summary) for name, (_, summary) in COMMANDS.items() if name.startswith(incomplete)
        ]
        return commands + click.Command.shell_complete(self, ctx, incomplete)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        name = args[0]
        if name not in COMMANDS and not name.startswith("-") and not ctx.resilient_parsing:
            raise click.UsageError(str(unknown_name("command", name, COMMANDS)), ctx)
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, summary) for name, (_, summary) in COMMANDS.items()])

    # click reports some errors in its own way, with exit code 1, which means here that a check failed: none gets there

    def main(self, *args: Any, **extra: Any) -> Any:
        with _errors_in_one_line():  # of completion
            return super().main(*args, **extra)

    def make_context(self, *args: Any, **extra: Any) -> click.Context:
        with _errors_in_one_line():  # --help and --version print here
            return super().make_context(*args, **extra)

    def invoke(self, ctx: click.Context) -> None:
        with _errors_in_one_line():
            super().invoke(ctx)
            sys.stdout.flush()


@contextmanager
def _errors_in_one_line() -> Iterator[None]:
    """End the program with the exit code of an error and one line about it."""
    try:
        yield
    except click.exceptions.Exit:
        raise
    except click.ClickException as error:
        ctx = error.ctx if isinstance(error, click.UsageError) else None
        where = f" (see {ctx.command_path} --help)" if ctx else ""
        _fail(error, error.format_message().rstrip(".") + where, error.exit_code)
    except L2SError as error:
        _fail(error, str(error), EXIT_BAD_INPUT)
    except (click.Abort, KeyboardInterrupt):
        echo("Interrupted.", err=True)
        sys.exit(EXIT_INTERRUPTED)
    except Exception as error:
        # all other files are written by `l2s_plugin.files`: this is standard output
        if isinstance(error, OSError) and error.errno in _OUTPUT_ERRORS and error.filename is None:
            # Python must not complain when it flushes at exit
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            if isinstance(error, BrokenPipeError):  # its reader left, as in `l2s instances | head -1`
                sys.exit(EXIT_BROKEN_PIPE)
            _fail(error, f"cannot write to standard output: {error.strerror}", EXIT_BAD_INPUT)
        text = f"internal error: {type(error).__name__}: {error} (set {DEBUG_VARIABLE}=1 to see where)"
        _fail(error, text, EXIT_BUG)


def _fail(error: Exception, message: str, code: int) -> None:
    if os.environ.get(DEBUG_VARIABLE):
        traceback.print_exception(error)
    echo(f"Error: {' '.join(message.split())}", err=True)
    sys.exit(code)


@click.group(cls=LazyGroup, invoke_without_command=True, context_settings=_HELP, epilog=example("l2s solve ft06"))
@click.version_option(__version__, "--version", prog_name="l2s", message="%(prog)s %(version)s")
@click.pass_context
def l2s(ctx: click.Context) -> None:
    """Job-shop scheduling with pluggable parts.

    INSTANCE is everywhere a benchmark name (ta01, la16, ft06, ...), a file in any known format, or - for
    standard input. `l2s COMMAND --help` has the details.
    """
    if ctx.invoked_subcommand is None:
        echo(ctx.get_help())


def main() -> None:
    """Entry point of the `l2s` script."""
    prepare_streams()
    l2s.main(prog_name="l2s")
