"""Finished cells on disk: one JSON line each, appended as they finish, so that a killed run loses one cell at most."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from l2s_plugin.errors import L2SError
from l2s_plugin.files import append_text
from l2s_plugin.records import check, parse_json

_ROW = {  # what the tables and curves are made of; a row holds more
    "key": str, "group": str, "label": str, "instance": str, "method": str, "seed": int, "makespan": int,
    "lower_bound": int, "upper_bound": int | None, "steps": int, "seconds": float, "time_limit": float | None,
    "history": list[tuple[float, int, int]],
}  # fmt: skip


class Store:
    """The results of a benchmark in a folder; without a folder they are kept in memory only."""

    def __init__(self, folder: Path | None) -> None:
        self.folder = folder
        self.rows: dict[str, dict[str, Any]] = {}
        if folder is not None:
            try:
                folder.mkdir(parents=True, exist_ok=True)
                self._read(folder / "cells.jsonl")
            except OSError as error:
                raise L2SError(f"cannot use {folder}: {error.strerror}") from error

    def _read(self, path: Path) -> None:
        if not path.exists():
            return
        lines = path.read_bytes().split(b"\n")
        whole = lines[:-1]  # what follows the last line end is a line that was being written when the run was killed
        for number, line in enumerate(whole, 1):
            try:
                row = check(parse_json(line, "line"), _ROW, "cell")
                if min(row["makespan"], row["steps"], row["seconds"]) < 0:
                    raise L2SError("numbers below 0")
            except L2SError as error:
                message = f"{path}:{number}: not a finished cell ({error}); remove the line to run it again"
                raise L2SError(message) from error
            self.rows[row["key"]] = row
        if lines[-1]:
            with path.open("rb+") as file:
                file.truncate(sum(len(line) + 1 for line in whole))

    def add(self, row: dict[str, Any]) -> None:
        """Keep a finished cell."""
        self.rows[row["key"]] = row
        if self.folder is not None:
            append_text(self.folder / "cells.jsonl", json.dumps(row) + "\n")
