"""The golden file made with the code of the paper's authors; tests that need it skip where it is absent."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from l2s_plugin.instance import Instance

FOLDER = Path(__file__).parents[2] / "shared" / "reference"
GOLDEN = FOLDER / "l2s_golden_10x10.npz"


@dataclass(frozen=True)
class GoldenCase:
    """One state: instance, machine orders, times, candidate moves."""

    name: str
    instance: Instance
    machine_orders: list[np.ndarray]
    est: np.ndarray
    lst: np.ndarray
    makespan: int
    moves: np.ndarray


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
                )
            )
    return cases
