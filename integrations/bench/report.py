"""Tables and curves from finished cells: mean gap with its error by group, beside published figures, and over time."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Sequence
from importlib.resources import files
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from l2s_plugin.data import benchmark_sets
from l2s_plugin.objectives import LATENESS

Row = dict[str, Any]
By = Literal["steps", "seconds"]

OURS = "this run"

_POINTS = 200  # of a curve
_BEGIN = {"steps": 1.0, "seconds": 0.01}
COLUMNS = ("group", "method", "budget", "runs", "gap %", "s.e.", "at best known", "seconds", "steps/s", "source")


def value_at(cell: Row, steps: int) -> int:
    """The incumbent of a run after `steps` steps, read off its history."""
    history = cell["history"] or [(0, 0, _end(cell))]
    reached = [value for _, step, value in history if step <= steps]
    return int(reached[-1] if reached else history[0][2])


def _end(cell: Row) -> int:
    """The value that a run ended with; rows of old runs hold the makespan only."""
    return int(cell["value" if "value" in cell else "makespan"])


def compared(runs: Iterable[tuple[str, Row]]) -> list[Row]:
    """The runs, each given with its instance, and what all on that instance are measured by: `reference`.

    The best known makespan, or else the best lower bound that one of them has proven.
    """
    runs = list(runs)
    reference: dict[str, int] = {}
    for instance, cell in runs:
        found = cell["upper_bound"] or cell["lower_bound"]
        reference[instance] = max(reference.get(instance, found), found)
    return [cell | {"reference": reference[instance]} for instance, cell in runs]


def gap(cell: Row, value: int) -> float:
    """Percent above the reference; a lateness, which may be 0 or less, in percent of the makespan."""
    reference = cell["reference"]
    whole = cell["makespan"] if cell.get("objective") == LATENESS else reference
    return 100 * (value - reference) / whole if whole else 0.0


def summarise(cells: Iterable[Row], milestones: Sequence[int]) -> list[Row]:
    """One row per group, configuration and milestone (or time limit).

    One run serves all milestones: the seconds until one are its share of the steps.
    """
    table: dict[tuple[str, str, str], list[tuple[float, float, float]]] = {}
    for cell in cells:
        if cell["method"] == "dispatch":
            ends = {"-": (_end(cell), 1.0)}
        elif milestones:
            ends = {f"{n} steps": (value_at(cell, n), n / max(n, cell["steps"])) for n in milestones}
        else:
            ends = {f"{cell['time_limit']:g} s": (_end(cell), 1.0)}
        for budget, (value, share) in ends.items():
            run = (gap(cell, value), cell["seconds"] * share, cell["steps"] * share)
            table.setdefault((cell["group"], cell["label"], budget), []).append(run)
    return [_row(*key, *zip(*runs, strict=True)) for key, runs in table.items()]


def _row(group: str, label: str, budget: str, *runs: tuple[float, ...]) -> Row:
    gaps, (seconds, steps) = np.array(runs[0]), map(sum, runs[1:])
    error = gaps.std(ddof=1) / np.sqrt(len(gaps)) if len(gaps) > 1 else None
    return {
        "group": group,
        "method": label,
        "budget": budget,
        "runs": len(gaps),
        "gap %": round(float(gaps.mean()), 2),
        "s.e.": None if error is None else round(float(error), 2),
        "at best known": int((gaps <= 0).sum()),
        "seconds": round(seconds / len(gaps), 3),
        "steps/s": round(steps / seconds) if steps and seconds else None,
        "source": OURS,
    }


def published(cells: Iterable[Row]) -> list[Row]:
    """What others report on the groups that every configuration has run as a whole: means of less are no match."""
    ran: dict[str, dict[str, set[str]]] = {}
    for cell in cells:
        ran.setdefault(cell["group"], {}).setdefault(cell["label"], set()).add(cell["instance"])
    sets = benchmark_sets()
    groups = [group for group, by_label in ran.items() if all(set(sets.get(group, ())) == x for x in by_label.values())]
    entries = json.loads(files("integrations.bench").joinpath("published.json").read_text())
    return [
        {"group": group, "method": entry["method"], "gap %": entry["gap %"][group], "source": entry["source"]}
        for group in groups
        for entry in entries
        if group in entry["gap %"]
    ]


class Line(NamedTuple):
    """A line of a table as papers print them: a method with its budget, and its row in every group."""

    method: str
    budget: str
    rows: dict[str, Row]  # by group

    @property
    def source(self) -> str:
        return str(next(iter(self.rows.values()))["source"])

    @property
    def ours(self) -> bool:
        return self.source == OURS

    def gap(self, group: str) -> str:
        """The mean gap with its error, as text; nothing where there is none."""
        row = self.rows.get(group)
        if row is None:
            return ""
        if not self.ours:
            return str(row["gap %"])  # with as many digits as were published
        return f"{row['gap %']:.2f}" + (f" ± {row['s.e.']:.2f}" if row["s.e."] is not None else "")

    def mean(self, name: str, digits: int) -> str:
        """A column's mean over the groups, as text; nothing where there is none."""
        values = [row[name] for row in self.rows.values() if row.get(name) is not None]
        return f"{np.mean(values):,.{digits}f}" if values else ""


class Table(NamedTuple):
    """The lines about the groups of one set."""

    groups: list[str]
    lines: list[Line]

    def best(self, group: str) -> float | None:
        """The smallest gap of this run's lines."""
        gaps = [line.rows[group]["gap %"] for line in self.lines if line.ours and group in line.rows]
        return min(gaps, default=None)


def tables(rows: Sequence[Row], groups: Iterable[str]) -> list[Table]:
    """A table per set: a line per method and budget, a column per group."""
    by_set: dict[str, Table] = {}
    lines: dict[tuple[str, ...], Line] = {}
    for group in groups:
        name = group.partition("-")[0]
        table = by_set.setdefault(name, Table([], []))
        table.groups.append(group)
        for row in rows:
            if row["group"] == group:
                key = (name, row["method"], row.get("budget", ""), row["source"])
                if key not in lines:
                    lines[key] = Line(row["method"], row.get("budget", ""), {})
                    table.lines.append(lines[key])
                lines[key].rows[group] = row
    return list(by_set.values())


def markdown(rows: Sequence[Row], groups: Iterable[str]) -> str:
    """The tables for files."""
    texts = [_texts(table) for table in tables(rows, groups)]
    ruled = [(heads, ["---"] * len(heads), *lines) for heads, *lines in texts]
    return "\n\n".join("\n".join(f"| {' | '.join(cells)} |" for cells in lines) for lines in ruled)


def aligned(rows: Sequence[Row], groups: Iterable[str]) -> str:
    """The tables for terminals: words to the left, numbers to the right."""
    blocks = []
    for lines in map(_texts, tables(rows, groups)):
        widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
        sides = "<<" + ">" * (len(widths) - 3) + "<"
        template = "  ".join(f"{{:{side}{width}}}" for side, width in zip(sides, widths, strict=True))
        blocks.append("\n".join(template.format(*cells).rstrip() for cells in lines))
    return "\n\n".join(blocks)


def _texts(table: Table) -> list[list[str]]:
    """Heads and cells as text, line by line."""
    ours = any(line.ours for line in table.lines)
    texts = [["gap %", "budget", *table.groups, *(["seconds", "steps/s"] if ours else []), "source"]]
    for line in table.lines:
        speed = [line.mean("seconds", 2), line.mean("steps/s", 0)] if ours else []
        texts.append([line.method, line.budget, *map(line.gap, table.groups), *speed, line.source])
    return texts


def as_csv(rows: Sequence[Row]) -> str:
    """The rows as CSV."""
    text = io.StringIO()
    writer = csv.DictWriter(text, COLUMNS, restval="", lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()


class Curve(NamedTuple):
    """Mean gap in percent over all runs of a configuration, at growing numbers of steps or seconds."""

    at: NDArray[np.float64]
    gap: NDArray[np.float64]
    runs: int


def anytime_curves(cells: Iterable[Row], by: By) -> dict[str, Curve]:
    """A curve for every configuration that searches, by label."""
    runs: dict[str, list[Row]] = {}
    for cell in cells:
        if cell["history"] and cell["method"] != "dispatch":
            runs.setdefault(cell["label"], []).append(cell)
    return {label: _mean(members, by) for label, members in runs.items()}


def _mean(members: list[Row], by: By) -> Curve:
    begin = _BEGIN[by]
    end = max(cell[by] for cell in members)
    grid = np.geomspace(begin, max(end, 2 * begin), _POINTS)
    if by == "steps":
        grid = np.unique(grid.round())
    return Curve(grid, np.mean([_gaps(cell, by, grid) for cell in members], axis=0), len(members))


def _gaps(cell: Row, by: By, grid: NDArray[np.float64]) -> NDArray[np.float64]:
    """Gap of one run at each point of the grid."""
    points = np.array([entry[1 if by == "steps" else 0] for entry in cell["history"]])
    gaps = np.array([gap(cell, entry[2]) for entry in cell["history"]])
    return gaps[np.maximum(np.searchsorted(points, grid, side="right") - 1, 0)]
