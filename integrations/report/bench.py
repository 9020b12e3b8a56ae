"""The report on `l2s bench`: tables beside the published figures, and how the gaps fall."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from integrations.bench.curves import By, anytime_curves
from integrations.bench.report import Row, tables
from integrations.report.charts import anytime
from integrations.report.page import Chart, chart, check_report, save_page

ALL_GROUPS = "all groups"


def save_bench_report(report: Mapping[str, Any], path: str | Path) -> None:
    """Write one HTML file about a benchmark; it opens offline.

    Parameters
    ----------
    report
        What `l2s bench --json` prints: `command`, `finished`, `table` and `cells`.
    path
        Where to write; must end in `.html`.
    """
    check_report(path)
    cells = report["cells"]
    by: By = "steps" if any(cell["step_limit"] is not None for cell in cells) else "seconds"
    groups = list(dict.fromkeys(row["group"] for row in report["table"]))
    save_page(
        "bench.html",
        path,
        title=f"Benchmark on {', '.join(groups)}" if len(groups) <= 4 else f"Benchmark on {len(groups)} groups",
        command=shlex.join(["l2s", *report["command"]]),
        finished=report["finished"],
        tables=tables(report["table"], groups),
        by=by,
        charts=_charts(cells, by),
        data={key: report[key] for key in ("command", "finished", "table")},
    )


def _charts(cells: list[Row], by: By) -> dict[str, Chart]:
    """A chart over all cells and, where there are several groups, one for each."""
    by_group: dict[str, list[Row]] = {}
    for cell in cells:
        by_group.setdefault(cell["group"], []).append(cell)
    chosen = by_group if len(by_group) == 1 else {ALL_GROUPS: cells, **by_group}
    return {
        group: chart(f"anytime-{number}", f"mean gap over {by}, {group}", anytime(curves, by))
        for number, (group, members) in enumerate(chosen.items())
        if (curves := anytime_curves(members, by))
    }
