"""Tables from finished cells: mean gap and standard error by group, beside the published figures."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Sequence
from importlib.resources import files
from typing import Any

import numpy as np

Row = dict[str, Any]

OURS = "this run"

COLUMNS = ("group", "method", "budget", "runs", "gap %", "s.e.", "at best known", "seconds", "steps/s", "source")


def makespan_at(cell: Row, steps: int) -> int:
    """The incumbent of a run after `steps` steps, read off its history."""
    reached = [makespan for _, step, makespan in cell["history"] if step <= steps]
    return int(reached[-1] if reached else cell["history"][0][2])


def summarise(cells: Iterable[Row], milestones: Sequence[int]) -> list[Row]:
    """One row per group, configuration and milestone (or time limit).

    The gap is to the best known makespan, or to the lower bound where none is known.
    """
    table: dict[tuple[str, str, str], list[tuple[Row, int]]] = {}
    for cell in cells:
        if milestones and cell["method"] != "dispatch":
            for steps in milestones:
                key = (cell["group"], cell["label"], f"{steps} steps")
                table.setdefault(key, []).append((cell, makespan_at(cell, steps)))
        else:
            budget = "-" if cell["method"] == "dispatch" else f"{cell['time_limit']:g} s"
            table.setdefault((cell["group"], cell["label"], budget), []).append((cell, cell["makespan"]))
    return [_row(group, label, budget, runs) for (group, label, budget), runs in table.items()]


def _row(group: str, label: str, budget: str, runs: list[tuple[Row, int]]) -> Row:
    gaps = np.array([100 * (makespan / (cell["upper_bound"] or cell["lower_bound"]) - 1) for cell, makespan in runs])
    seconds = sum(cell["seconds"] for cell, _ in runs)
    error = gaps.std(ddof=1) / np.sqrt(len(gaps)) if len(gaps) > 1 else None
    return {
        "group": group,
        "method": label,
        "budget": budget,
        "runs": len(runs),
        "gap %": round(float(gaps.mean()), 2),
        "s.e.": None if error is None else round(float(error), 2),
        "at best known": int((gaps <= 0).sum()),
        "seconds": round(seconds / len(runs), 3),
        "steps/s": round(sum(cell["steps"] for cell, _ in runs) / seconds) if seconds else None,
        "source": OURS,
    }


def published(groups: Iterable[str]) -> list[Row]:
    """What others report on the same groups."""
    entries = json.loads(files("integrations.bench").joinpath("published.json").read_text())
    return [
        {"group": group, "method": entry["method"], "gap %": entry["gap %"][group], "source": entry["source"]}
        for group in groups
        for entry in entries
        if group in entry["gap %"]
    ]


def markdown(rows: Sequence[Row], groups: Iterable[str]) -> str:
    """A table per set as papers print them: a line per method and budget, a column per group, gaps with errors."""
    by_set: dict[str, list[str]] = {}
    for group in groups:
        by_set.setdefault(group.partition("-")[0], []).append(group)
    return "\n\n".join(_set_table(rows, members) for members in by_set.values())


def _set_table(rows: Sequence[Row], groups: list[str]) -> str:
    lines: dict[tuple[str, str], dict[str, Row]] = {}
    for row in rows:
        if row["group"] in groups:
            lines.setdefault((row["method"], row.get("budget", "")), {})[row["group"]] = row
    ours = any(row["source"] == OURS for row in rows)
    heads = ["gap %", "budget", *groups, *(["seconds", "steps/s"] if ours else []), "source"]
    table = [heads, ["---"] * len(heads)]
    for (method, budget), found in lines.items():
        some = list(found.values())
        speed = [_mean(some, "seconds", 2), _mean(some, "steps/s", 0)] if ours else []
        cells = [_gap(found.get(group)) for group in groups]
        table.append([method, budget, *cells, *speed, some[0]["source"]])
    return "\n".join(f"| {' | '.join(line)} |" for line in table)


def _gap(row: Row | None) -> str:
    if row is None:
        return ""
    return f"{row['gap %']:.2f}" + (f" ± {row['s.e.']:.2f}" if row.get("s.e.") is not None else "")


def _mean(rows: Sequence[Row], name: str, digits: int) -> str:
    values = [row[name] for row in rows if row.get(name) is not None]
    return f"{np.mean(values):,.{digits}f}" if values else ""


def as_csv(rows: Sequence[Row]) -> str:
    """The rows as CSV."""
    text = io.StringIO()
    writer = csv.DictWriter(text, COLUMNS, restval="", lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()


def by_group(rows: Sequence[Row], groups: Iterable[str]) -> list[Row]:
    """Ours and the published rows of each group together."""
    return [row for group in groups for row in rows if row["group"] == group]
