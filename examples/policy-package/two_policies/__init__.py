"""Policies as a package: checkpoint files, and a hook that says where they are."""

from pathlib import Path

first = Path(__file__).with_name("first.safetensors")
second = Path(__file__).with_name("second.safetensors")
