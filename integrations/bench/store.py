"""Finished cells on disk: one JSON line each, appended as they finish, so that a killed run loses one cell at most."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from l2s_plugin.errors import L2SError
from l2s_plugin.files import append_text


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
                row = json.loads(line)
                self.rows[row["key"]] = row
            except (ValueError, KeyError, TypeError) as error:
                raise L2SError(f"{path}:{number}: not a finished cell; remove the line to run it again") from error
        if lines[-1]:
            with path.open("rb+") as file:
                file.truncate(sum(len(line) + 1 for line in whole))

    def add(self, row: dict[str, Any]) -> None:
        """Keep a finished cell."""
        self.rows[row["key"]] = row
        if self.folder is not None:
            append_text(self.folder / "cells.jsonl", json.dumps(row) + "\n")
