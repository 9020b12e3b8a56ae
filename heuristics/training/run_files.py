"""The folder of a training run: state to resume from, the best policy, and the figures of every batch.

    state.safetensors    weights, optimiser and how far the run is; whole after every batch
    best.safetensors     the policy with the best validation so far
    metrics.jsonl        a line of figures per batch

All files are written aside and renamed, so that a run killed at any moment goes on from its last whole batch.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from heuristics.training.config import TrainingConfig
from l2s_plugin.errors import L2SError
from l2s_plugin.files import append_text, read_text, write_text
from l2s_plugin.policy import tensor_file
from l2s_plugin.records import check, parse_json

_FORMAT = "l2s-training"
_STATE = {
    "config": dict, "batches": int, "seconds": float, "best": dict[str, float] | None, "command": str | None,
}  # fmt: skip
_FIGURES = {"batch": int, "size": str, "improvement": float, "seconds": float}


@dataclass
class RunState:
    """How far a run is; `tensors` are those of network, critic and optimiser."""

    config: TrainingConfig
    batches: int = 0
    seconds: float = 0.0
    best: dict[str, Any] | None = None  # the figures of the best validation
    command: str | None = None  # that it began with
    tensors: Mapping[str, NDArray[Any]] = field(default_factory=dict, repr=False)


class RunFolder:
    """Reads and writes the files of one run."""

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self.state_file = self.path / "state.safetensors"
        self.best_file = self.path / "best.safetensors"
        self.metrics_file = self.path / "metrics.jsonl"

    def create(self) -> None:
        """A new run; a folder that holds one already is refused."""
        if self.state_file.exists():
            raise L2SError(
                f"{self.path} holds a training run already; go on with it (--resume), or name another folder"
            )
        write_text(self.metrics_file, "")

    def save(self, state: RunState) -> None:
        """Keep the state."""
        contents = {key: getattr(state, key) for key in _STATE} | {"config": state.config.to_dict()}
        texts = {key: json.dumps(value) for key, value in contents.items()}
        tensor_file.write(self.state_file, state.tensors, {"format": _FORMAT} | texts)

    def load(self) -> RunState:
        """The last whole state."""
        if not self.state_file.exists():
            raise L2SError(f"{self.path}: no training run to resume (there is no {self.state_file.name})")
        tensors, header = tensor_file.read(self.state_file)
        if header.get("format") != _FORMAT:
            raise L2SError(f"{self.state_file}: not the state of a training run")
        values = tensor_file.parse_texts(self.state_file, header, _STATE)
        try:
            check(values["best"] or {"batch": 0, "validation": 0}, {"batch": int, "validation": float}, "best")
            if values["batches"] < 0 or values["seconds"] < 0:
                raise L2SError("less than nothing was trained")
            config = TrainingConfig().with_changes(values.pop("config"))
        except L2SError as error:
            raise L2SError(f"{self.state_file}: damaged header: {error}") from error
        return RunState(config, tensors=tensors, **values)

    def forget_after(self, batch: int) -> None:
        """Leave out the figures of later batches, which a run that was ended did not keep."""
        kept = [row for row in self.metrics() if row["batch"] <= batch]
        write_text(self.metrics_file, "".join(json.dumps(row) + "\n" for row in kept))

    @contextmanager
    def locked(self, create: bool) -> Iterator[None]:
        """Keep other trainings out of the folder; the lock ends with the process, however that ends."""
        import fcntl

        with ExitStack() as stack:
            try:
                if create:
                    self.path.mkdir(parents=True, exist_ok=True)
                folder = os.open(self.path, os.O_RDONLY)
            except (OSError, ValueError) as error:
                raise L2SError(f"cannot write to {self.path}: {getattr(error, 'strerror', error)}") from error
            stack.callback(os.close, folder)
            try:
                fcntl.flock(folder, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise L2SError(f"{self.path}: another training is running in this folder") from None
            except OSError:  # a file system without locks
                pass
            yield

    def add_metrics(self, row: Mapping[str, Any]) -> None:
        """Append the figures of a batch."""
        append_text(self.metrics_file, json.dumps(row) + "\n")

    def metrics(self) -> list[dict[str, Any]]:
        """The figures of all batches; a line that was cut short by the end of a run is left out."""
        lines = read_text(self.metrics_file).split("\n") if self.metrics_file.exists() else [""]
        rows = []
        for number, line in enumerate(lines[:-1], 1):
            where = f"{self.metrics_file}:{number}"
            row = check(parse_json(line, where), _FIGURES, where)
            rows.append(check(row, {"validation": float} if "validation" in row else {}, where))
        return rows


def check_same_run(kept: TrainingConfig, wanted: TrainingConfig) -> None:
    """Raise when a run is to go on under another configuration than it began with; it may only go on for longer."""
    old, new = kept.to_dict(), wanted.to_dict()
    for name in old:
        if name != "batches" and old[name] != new[name]:
            raise L2SError(f"cannot resume: the run began with {name} {old[name]!r}, not {new[name]!r}")
