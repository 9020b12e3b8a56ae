"""The golden file made with the code of the paper's authors; tests that need it skip where it is absent."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from l2s_plugin.instance import Instance

FOLDER = Path(__file__).parents[2] / "shared" / "reference"
GOLDEN = FOLDER / "l2s_golden_10x10.npz"
AUTHORS = FOLDER / "l2s_authors_10x10.pth"
NORMALISATIONS = ("batch", "running")


@dataclass(frozen=True)
class GoldenCase:
    """One state: instance, machine orders, times, candidate moves.

    `scores` of the moves and `graph_embedding` (256, TPM : CAM) of the authors' network are for each of the two
    normalisations, "batch" and "running".
    """

    name: str
    instance: Instance
    machine_orders: list[np.ndarray]
    est: np.ndarray
    lst: np.ndarray
    makespan: int
    moves: np.ndarray
    scores: dict[str, np.ndarray]
    graph_embedding: dict[str, np.ndarray]


def golden_policy(normalisation: str) -> tuple[Any, dict[str, Any]]:
    """Architecture and weights of the authors' network for 10x10; skips the test that asks where they are absent."""
    torch = pytest.importorskip("torch")
    if not AUTHORS.exists():
        pytest.skip("reference data is not here")
    from l2s_plugin.policy.config import PolicyConfig
    from l2s_plugin.policy.importer import map_authors_keys

    weights = torch.load(AUTHORS, map_location="cpu", weights_only=True)
    return PolicyConfig(action_width=128, normalisation=normalisation), map_authors_keys(weights)


def golden_cases() -> list:
    """All golden states, or one skipped parameter."""
    if not GOLDEN.exists():
        return [pytest.param(None, marks=pytest.mark.skip(reason="reference data is not here"), id="absent")]
    cases = []
    with np.load(GOLDEN, allow_pickle=False) as data:
        for name in data["cases"].tolist():
            machines, durations = data[f"{name}/machines"], data[f"{name}/durations"]
            jobs = [list(zip(m.tolist(), p.tolist(), strict=True)) for m, p in zip(machines, durations, strict=True)]
            cases.append(
                GoldenCase(
                    name=name,
                    instance=Instance.from_jobs(jobs, machines.shape[1], name=name),
                    machine_orders=list(data[f"{name}/orders"]),
                    est=data[f"{name}/est"],
                    lst=data[f"{name}/lst"],
                    makespan=int(data[f"{name}/makespan"]),
                    moves=data[f"{name}/moves_excluding_last_undo"],
                    scores={mode: data[f"{name}/scores_{mode}_statistics"] for mode in NORMALISATIONS},
                    graph_embedding={
                        mode: data[f"{name}/graph_embedding_{mode}_statistics"] for mode in NORMALISATIONS
                    },
                )
            )
    return cases
