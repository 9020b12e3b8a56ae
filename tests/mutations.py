"""Damaged files for every reader: valid ones, mutated from fixed seeds. Only an `L2SError` may come out, or success."""

from __future__ import annotations

import io
import json
import random
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import click

from l2s_plugin.errors import L2SError
from l2s_plugin.instance import Instance
from l2s_plugin.loader import encode, load_all
from l2s_plugin.schedule import Schedule

SHOP = Instance.from_jobs([[(0, 3), (1, 2)], [(1, 4), (0, 5)]], name="shop", lower_bound=9, upper_bound=11)
FORMATS = ("standard", "taillard", "l2s-json", "job-shop-lib", "npy")
NASTY = (
    b"0", b"-1", b"1e999", b"NaN", b"null", b"true", b"[]", b"{}", b'""', b'"\\ud800"', b'"\\u0000"', b"9" * 25,
    b"9" * 4301, b"4611686018427387904", b"[" * 120 + b"]" * 120, b"[" * 3000, b"10000000", b"0.5", b"\xe4", b"\0",
    b"inf", b"x", b",", b":", b"\n", b"\xff\xfe", b"[0,4611686018427387904,4611686018427387904]",
)  # fmt: skip
_TOKEN = re.compile(rb'-?[0-9.]+|"[^"]{0,80}"|\[[^\[\]]{0,200}\]|[a-zA-Z_]+|[\x80-\xff\0]+')


def mutate(data: bytes, rng: random.Random) -> bytes:
    """One to three kinds of damage: cut, flip, double, drop, swap, or something nasty in place of a word."""
    for _ in range(rng.choice((1, 1, 2, 3))):
        kind, at, length = rng.randrange(7), rng.randrange(len(data) + 1), rng.randrange(1, 17)
        if kind == 0:
            data = data[:at]
        elif kind == 1:
            data = data[:at] + bytes(rng.randrange(256) for _ in range(length % 4 + 1)) + data[at + length % 4 + 1 :]
        elif kind == 2:
            data = data[:at] + data[at : at + length] * 2 + data[at + length :]
        elif kind == 3:
            data = data[:at] + data[at + length :]
        else:
            words = list(_TOKEN.finditer(data[:50_000]))
            if words:
                word = rng.choice(words)
                other = rng.choice(words)[0] if kind == 4 else rng.choice(NASTY)
                data = data[: word.start()] + other + data[word.end() :]
    return data


def mutate_safetensors(data: bytes, rng: random.Random) -> bytes:
    """Half of the time damage the header alone and keep its length right, so that what follows is reached."""
    if rng.random() < 0.5:
        return mutate(data, rng)
    length = int.from_bytes(data[:8], "little")
    header = mutate(data[8 : 8 + length], rng)
    return len(header).to_bytes(8, "little") + header + data[8 + length :]


class Reader(NamedTuple):
    """A reader, a valid file for it, and how to damage that."""

    name: str
    read: Callable[[bytes], Any]
    valid: bytes
    mutate: Callable[[bytes, random.Random], bytes] = mutate


def readers(folder: Path) -> Iterator[Reader]:
    """Every reader of the project; files are written to `folder`."""

    def through(name: str, read: Callable[[Path], Any]) -> Callable[[bytes], Any]:
        def write_and_read(data: bytes) -> Any:
            (folder / name).write_bytes(data)
            return read(folder / name)

        return write_and_read

    for name in FORMATS:
        yield Reader(f"instance {name}", through("instance", load_all), encode(SHOP, name))
    schedule = Schedule.from_starts(SHOP, [0, 4, 0, 4])
    text = json.dumps(schedule.to_dict()).encode()
    yield Reader("schedule", through("schedule.json", lambda path: Schedule.load(SHOP, path)), text)
    yield from _policy_readers(folder, through)
    yield from _training_readers(folder, through)
    yield from _configuration_readers(through)
    yield _bench_reader(folder)


def _policy_readers(folder: Path, through: Any) -> Iterator[Reader]:
    import torch

    from integrations.cli.plugins import render_policy
    from l2s_plugin.policy.checkpoint import load_policy, save_policy
    from l2s_plugin.policy.config import MovePolicyConfig
    from l2s_plugin.policy.importer import read_authors_file
    from tests.l2s_plugin.policy.test_importer import authors_weights

    config = MovePolicyConfig()
    weights = {"rule": torch.zeros(28)}
    save_policy(folder / "valid", config, weights, {"note": "a", "curve": [[1, 2.5]]}, neighbourhoods=["n5"])

    def listed(path: Path) -> str:
        return render_policy(load_policy(path).to_dict() | {"error": None})

    yield Reader("policy", through("p.safetensors", listed), (folder / "valid").read_bytes(), mutate_safetensors)
    stream = io.BytesIO()
    torch.save(authors_weights(), stream)
    yield Reader(".pth", through("p.pth", read_authors_file), stream.getvalue())


def _training_readers(folder: Path, through: Any) -> Iterator[Reader]:
    from heuristics.training.config import TrainingConfig
    from heuristics.training.run_files import RunFolder
    from heuristics.training.train import Trainer

    small = {"width": 4, "layers": 1, "action_width": 4, "action_layers": 1}
    config = TrainingConfig().with_changes({"sizes": "3x3", "batches": 2, "policy": small})
    run = RunFolder(folder)
    trainer = Trainer(config, run)
    trainer.state.best, trainer.state.tensors = {"batch": 1, "validation": 2.5}, trainer.algorithm.state()
    run.save(trainer.state)
    run.metrics_file.write_text("")

    def resume(path: Path) -> None:
        Trainer(RunFolder(path.parent).load().config.with_changes({"policy": small}), run).resume()

    yield Reader(
        "training state", through("state.safetensors", resume), run.state_file.read_bytes(), mutate_safetensors
    )
    row = json.dumps({"batch": 1, "size": "3x3", "improvement": 2.5, "seconds": 1.5, "validation": 3.5}) + "\n"
    yield Reader("training figures", through("metrics.jsonl", lambda path: run.metrics()), row.encode() * 2)


def _configuration_readers(through: Any) -> Iterator[Reader]:
    from heuristics.training.config import TrainingConfig
    from integrations.cli.parameters import read_config
    from integrations.cli.solve import solve
    from integrations.cli.train import _from_file

    def solve_with(path: Path) -> Any:
        return read_config(click.Context(solve), str(path))

    text = b'time-limit = 2.5\nseed = 3\nmethod = "tabu"\nquiet = true\noutput = "a.json"\n'
    yield Reader("solve TOML", through("solve.toml", solve_with), text)
    text = b'sizes = ["4x3"]\nbatches = 3\nfeatures = ["change"]\nlearning-rate = 0.5\nhost = "tabu"\n'
    text += b'[policy]\nwidth = 8\nnetwork = "tpm+cam"\n'
    yield Reader(
        "train TOML", through("train.toml", lambda path: TrainingConfig().with_changes(_from_file(str(path)))), text
    )


def _bench_reader(folder: Path) -> Reader:
    from integrations.bench import report
    from integrations.bench.cells import Store

    def tables(data: bytes) -> None:
        (folder / "cells.jsonl").write_bytes(data)
        rows = report.compared((row["instance"], row) for row in Store(folder).rows.values())
        groups = dict.fromkeys(row["group"] for row in rows)
        report.as_csv(report.summarise([row for row in rows if row["time_limit"] is not None], []))
        report.markdown(report.summarise(rows, [1, 100]), groups)
        report.anytime_curves(rows, "steps")

    row = {
        "key": "k", "group": "g", "label": "l", "instance": "i", "method": "tabu", "seed": 1, "makespan": 11,
        "lower_bound": 9, "upper_bound": None, "steps": 5, "seconds": 0.5, "time_limit": 1.0, "step_limit": None,
        "history": [[0.1, 0, 12], [0.2, 3, 11]],
    }  # fmt: skip
    other = json.dumps(row | {"key": "m", "seed": 2}) + "\n"
    return Reader("bench store", tables, (json.dumps(row) + "\n" + other).encode())


def attack(reader: Reader, inputs: int, seed: int) -> dict[str, Any]:
    """Counts of what came out, and the inputs that gave anything but an answer or an `L2SError` of one line."""
    rng = random.Random(f"{reader.name} {seed}")
    reader.read(reader.valid)
    counts: dict[str, Any] = {"reader": reader.name, "inputs": inputs, "accepted": 0, "refused": 0, "failures": []}
    for _ in range(inputs):
        data = reader.mutate(reader.valid, rng)
        try:
            reader.read(data)
            counts["accepted"] += 1
        except L2SError as error:
            if len(str(error).splitlines()) == 1:
                counts["refused"] += 1
            else:
                counts["failures"].append((data, error))
        except Exception as error:
            counts["failures"].append((data, error))
    return counts
