"""The policies that come with this package; docs/policies.md has their training records and figures."""

from __future__ import annotations

from pathlib import Path

_FOLDER = Path(__file__).parents[1] / "data" / "policies"

L2S = _FOLDER / "l2s.safetensors"
L2S_FAST = _FOLDER / "l2s-fast.safetensors"
