"""Where the checkpoints are: a path, or a function that returns one."""

from __future__ import annotations

from pathlib import Path

example_random = Path(__file__).with_name("example_random.safetensors")


def forgotten() -> Path:
    return Path(__file__).with_name("forgotten.safetensors")
