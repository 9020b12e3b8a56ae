"""Policies for tests: fixed random weights of small networks. Nothing here is trained."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from l2s_plugin.policy.checkpoint import Policy, save_policy
from l2s_plugin.policy.config import AnyConfig, PolicyConfig

TINY = PolicyConfig(width=8, layers=2, action_width=8, action_layers=1)


def random_weights(config: AnyConfig = TINY, seed: int = 0) -> dict[str, np.ndarray]:
    """Weights of a size that gives scores which differ."""
    rng = np.random.default_rng(seed)
    weights: dict[str, np.ndarray] = {}
    for name, shape in config.shapes().items():
        if name.endswith("num_batches_tracked"):
            weights[name] = np.zeros(shape, np.int64)
        elif name.endswith("running_var"):
            weights[name] = rng.uniform(0.5, 2, shape).astype(np.float32)
        else:
            weights[name] = rng.normal(0, 1 / np.sqrt(max(shape[-1], 1)), shape).astype(np.float32)
    return weights


def random_policy(config: AnyConfig = TINY, seed: int = 0, **details: Any) -> Policy:
    return Policy(details.pop("name", f"random-{seed}"), config, random_weights(config, seed), **details)


def write_random_policy(path: Path, config: AnyConfig = TINY, seed: int = 0, **details: Any) -> Path:
    save_policy(path, config, random_weights(config, seed), {"note": "random weights, not trained"}, **details)
    return path
