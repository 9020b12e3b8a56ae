"""`l2s train`: train a policy, or go on training it."""

from __future__ import annotations

import json
import os
import shlex
import sys
from pathlib import Path
from typing import Any

import click

from integrations.cli import example
from integrations.cli.completion import path_option
from integrations.cli.parameters import given_words
from integrations.cli.terminal import TrainingDisplay, echo
from integrations.libraries import library
from l2s_plugin.errors import L2SError
from l2s_plugin.files import read_text
from l2s_plugin.records import parse_toml

_FOR_READERS = {"output", "tensorboard", "as_json"}  # options that change nothing about the policy


@click.command(epilog=example("l2s train --preset fast --size 10x10,15x15 --output out/policy"))
@click.option(
    "--preset", metavar="NAME", help="paper (default), graph, fast, fast-moves or polish; see docs/training.md."
)
@click.option("--size", "sizes", metavar="JxM[,JxM...]", help="Jobs x machines of the random instances.")
@path_option("--config", "config_file", metavar="FILE.toml", help="Any option of the training; see docs/training.md.")
@path_option("--output", metavar="DIR", type=click.Path(path_type=Path), help="Folder of a new run.")
@path_option("--resume", metavar="DIR", type=click.Path(path_type=Path), help="Go on with the run in DIR.")
@click.option("--batches", type=int, metavar="N", help="Batches of instances to train on.")
@click.option("--batch-size", type=int, metavar="N", help="Instances per batch.")
@click.option("--steps", type=int, metavar="N", help="Moves per instance.")
@click.option("--horizon", type=int, metavar="N", help="Moves between two updates.")
@click.option("--learning-rate", type=float, metavar="X", help="Of Adam.")
@click.option("--seed", type=int, metavar="N", help="Same seed, same numbers.")
@click.option("--host", metavar="NAME", help="Whose moves are learned: local-search or tabu.")
@click.option("--device", default="cpu", show_default=True, help="Where the network is trained: cpu, cuda, ...")
@click.option("--threads", type=click.IntRange(1), metavar="N", help="Threads of torch and of validation.")
@click.option("--tensorboard", is_flag=True, help="Also write the figures for TensorBoard, into DIR/tensorboard.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object about the run and nothing else.")
@click.pass_context
def train(
    ctx: click.Context,
    preset: str | None,
    config_file: str | None,
    output: Path | None,
    resume: Path | None,
    device: str,
    threads: int | None,
    tensorboard: bool,
    as_json: bool,
    **options: Any,
) -> None:
    """Train a policy for the learned selector; the best one is DIR/best.safetensors.

    Everything is kept after each batch: a run that was ended in any way goes on with --resume to the same numbers.

    \b
    l2s train --preset fast --size 10x10,15x15 --output out/policy
    l2s solve ta01 --method local-search --selector l2s --policy out/policy/best.safetensors
    """
    from heuristics.training.config import preset as preset_named
    from heuristics.training.run_files import RunFolder

    if (output is None) == (resume is None):
        raise L2SError("give the folder of a new run (--output DIR) or of one to go on with (--resume DIR)")
    if resume is not None:
        if preset is not None:
            raise L2SError("--preset is for a new run; the one in --resume has its own configuration")
        config = RunFolder(resume).load().config
    else:
        config = preset_named(preset or "paper")
    changes = {name: value for name, value in options.items() if value is not None}
    config = config.with_changes((_from_file(config_file) if config_file else {}) | changes)
    folder = resume or output
    assert folder is not None
    command = shlex.join(["l2s", "train", *given_words(ctx, ctx.params.keys() - _FOR_READERS)])
    how: dict[str, Any] = {"resume": resume is not None, "device": device, "threads": threads, "command": command}
    listeners: list[Any] = []
    if not as_json:
        display = TrainingDisplay(sys.stderr, config.batches)
        listeners.append(display.show)
        how["progress"] = display.advance
    if tensorboard:
        listeners.append(_tensorboard_writer(folder))

    from heuristics.training.train import train as run  # with torch, which bad input should not have to wait for

    def listen(figures: dict[str, Any]) -> None:
        for listener in listeners:
            listener(figures)

    try:
        state = run(config, folder, listener=listen, **how)
    except KeyboardInterrupt:
        echo(f"\nstopped; go on with: l2s train --resume {folder}", err=True)
        raise
    if int(os.environ.get("RANK", "0")) > 0:
        return  # of the processes that torchrun started, the first one reports
    curve = _draw_curve(RunFolder(folder).metrics(), folder)
    report = {
        "folder": str(folder),
        "policy": str(folder / "best.safetensors"),
        "batches": state.batches,
        "seconds": state.seconds,
        "best": state.best,
        "config": config.to_dict(),
    }
    if as_json:
        echo(json.dumps(report))
        return
    best = state.best or {}
    echo(f"trained on {state.batches} batches in {state.seconds:.0f} s")
    echo(f"best validation {best['validation']:.2f} % above the lower bound, batch {best['batch']}")
    echo(f"policy: {report['policy']}" + (f", curve: {curve}" if curve else ""))


def _from_file(path: str) -> dict[str, Any]:
    return {key.replace("-", "_"): value for key, value in parse_toml(read_text(path), path).items()}


def _draw_curve(rows: list[dict[str, Any]], folder: Path) -> Path | None:
    """The picture of the run, where matplotlib is installed."""
    from integrations.plots import save_training_curve

    try:
        return save_training_curve(rows, folder / "curve.png")
    except L2SError as error:
        echo(f"no picture of the run: {error}", err=True)
        return None


def _tensorboard_writer(folder: Path) -> Any:
    tensorboard, writer = library("torch.utils.tensorboard", "tensorboard"), None

    def write(figures: dict[str, Any]) -> None:
        nonlocal writer
        if writer is None:  # not before the run has begun; what a run that was ended left of this batch is replaced
            writer = tensorboard.SummaryWriter(str(folder / "tensorboard"), purge_step=figures["batch"])
        for key, value in figures.items():
            if isinstance(value, float):
                writer.add_scalar(key, value, figures["batch"])
        writer.flush()

    return write
