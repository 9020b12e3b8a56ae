"""HTML reports: one file each that opens offline, with styles, scripts, numbers and plotly.js in it; extra `report`."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from heuristics.result import Result
from integrations.bench.report import By, Row, anytime_curves, tables
from integrations.libraries import library
from integrations.marks import By as Rows
from integrations.marks import last_time, lasting, marks, moment, names, worse
from integrations.report.charts import anytime, convergence, gantt, machine_utilisation, punctuality, utilisation
from l2s_plugin import __version__
from l2s_plugin.errors import L2SError
from l2s_plugin.files import check_writable, write_text
from l2s_plugin.instance import NO_DUE_DATE, Instance
from l2s_plugin.objectives import LATENESS
from l2s_plugin.schedule import Schedule

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

Chart = dict[str, Any]
Entry = tuple[str, str, Callable[[Any], str]]  # field, what it is called, how it is written

ALL_GROUPS = "all groups"
_KEY_FIGURES: tuple[Entry, ...] = (
    ("makespan", "makespan", str),
    ("lower_bound", "lower bound", str),
    ("bound_source", "bound from", str),
    ("claimed_upper_bound", "claimed upper bound, not checked", str),
    ("upper_bound", "best known", str),
    ("gap", "gap to the bound", lambda share: f"{100 * share:.2f} %"),
    ("lateness", "largest lateness", str),
    ("late_jobs", "late jobs", str),
    ("mean_utilisation", "mean utilisation", lambda share: f"{100 * share:.1f} %"),
    ("time_to_best", "time to best", "{:.2f} s".format),
)
# with due dates to meet, what was minimised comes first
_LATENESS_FIGURES: tuple[Entry, ...] = (("value", "largest lateness", str), *_KEY_FIGURES[1:], _KEY_FIGURES[0])
_CHANGES = ("job", "step", "operation", "machine", "from", "to", "by")
_MARKS = {
    "met": "green line: due date, met",
    "late": "red line: due date, missed",
    "waiting": "thin line: the job waits, from its earliest start on",
    "held": "triangle: its earliest start holds the operation",
}
_PARAMETERS: tuple[Entry, ...] = (
    *((name, name, str) for name in ("method", "selector", "neighbourhood", "polisher")),
    ("initial", "first schedule", str),
    *((name, name, str) for name in ("gear", "seed", "workers")),
    ("steps", "steps", "{:,}".format),
    ("seconds", "seconds", "{:.2f}".format),
    ("steps_per_second", "steps per second", "{:,.0f}".format),
    ("stopped_by", "stopped by", str),
)


def check_report(path: str | Path) -> None:
    """Fail now rather than after a long run: wrong ending, no place to write, nothing to draw with."""
    if Path(path).suffix.lower() != ".html":
        raise L2SError(f"cannot write the report {path}: its name must end in .html")
    check_writable(path)
    for package in ("jinja2", "plotly"):
        library(package, "report")


def save_report(
    results: Sequence[Result],
    path: str | Path,
    *,
    command: str | None = None,
    notes: Sequence[str] = (),
    before: Schedule | None = None,
    changes: Sequence[Mapping[str, Any]] | None = None,
) -> None:
    """Write one HTML file about one or more results; it opens offline.

    Parameters
    ----------
    results
        Shown in this order.
    command
        The command line, or several, that `l2s solve` prints to run them again.
    notes
        Sentences to stand at the top of the page.
    before
        Where the first result is a new plan, the old one: shown below it, over the same time.
    changes
        How the two differ: rows with any of job, step, operation, machine, from, to and by. Numbers in the last three
        are times.
    """
    if not results:
        raise L2SError("a report needs at least one result")
    check_report(path)
    sections = [_section(number, result, None if number else before) for number, result in enumerate(results)]
    data: dict[str, Any] = {"command": command, "results": [section["data"] for section in sections]}
    if notes:
        data["notes"] = list(notes)
    if changes is not None:
        data["changes"] = [dict(row) for row in changes]
        sections[0]["changes"] = _changes(results[0].instance, changes)
    _save_page("results.html", path, title=_title(results), sections=sections, command=command, notes=notes, data=data)


def _section(number: int, result: Result, before: Schedule | None) -> dict[str, Any]:
    """What the page says about one result, and the plan before it."""
    data, late = _data(result), result.objective == LATENESS
    name = data["instance"]
    charts = {
        "convergence": (f"{result.objective} over time for {name}", convergence(result)),
        "utilisation": (f"machine utilisation of {name}", machine_utilisation(result.schedule)),
    }
    plans = {"view": result.schedule} | ({} if before is None else {"before": before})
    views: tuple[Rows, ...] = ("machine", "job")
    for by in views:
        end = max(last_time(schedule, by) for schedule in plans.values())
        for plan, schedule in plans.items():
            label = f"Gantt chart of {name}{', the plan before,' * (plan == 'before')} by {by}"
            charts[f"{by}_{plan}"] = (label, gantt(schedule, by, end))
    figures = data | {"bound_source": data["bound_source"] or "not said"}
    if late:
        del figures["lateness"]
    return {
        "anchor": f"result-{number}",
        "data": data,
        "key_figures": _named(figures, _LATENESS_FIGURES if late else _KEY_FIGURES),
        "parameters": _named(data, _PARAMETERS),
        "hints": {by: _hint(result.schedule, by) for by in ("machine", "job")},
        "orders": _orders(result.schedule, before),
        **dict.fromkeys(("changes", "machine_before", "job_before")),
        **{key: _chart(f"{key}-{number}", *labelled) for key, labelled in charts.items()},
    }


def _hint(schedule: Schedule, by: Rows) -> str:
    """How to read a chart."""
    colour: Rows = "job" if by == "machine" else "machine"
    written = "name" if names(schedule.instance, colour) else "number"
    text = (
        f"A row per {by}, a colour per {colour}, its {written} where there is room. Outlined: critical, a delay "
        f"{worse(schedule.instance)}; lines follow one critical path."
    )
    means = _MARKS | ({"late": "red edge: the end of a late job"} if by == "machine" else {})
    for kind in marks(schedule, by).meanings(by):
        text += f" {means[kind].capitalize()}."
    return f"{text} Drag to zoom, double-click to see all."


def _orders(schedule: Schedule, before: Schedule | None) -> list[dict[str, Any]]:
    """Job, due date, end and lateness of every job, and before; the latest first, nothing without due dates."""
    instance, lateness = schedule.instance, schedule.job_lateness
    if instance.due is None or lateness is None:
        return []
    rows = []
    for job in sorted(range(instance.n_jobs), key=lambda job: (-int(lateness[job]), job)):
        row = {
            "job": instance.job_name(job),
            "due": "",
            "end": moment(instance, int(schedule.job_end[job])),
            "late": "",
        }
        if instance.due[job] != NO_DUE_DATE:
            row["due"] = moment(instance, int(instance.due[job]))
            row["late"] = punctuality(instance, int(lateness[job]))
        rows.append(row | {"is_late": lateness[job] > 0})
    if before is not None:
        known = {row["job"]: row["late"] for row in _orders(before, None)}
        return [row | {"before": known.get(row["job"], "")} for row in rows]
    return rows


def _changes(instance: Instance, rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The table of changes: only columns in which something stands."""
    columns = [name for name in _CHANGES if any(row.get(name) not in (None, "") for row in rows)]

    def text(name: str, value: Any) -> str:
        if value is None or isinstance(value, str) or name not in ("from", "to", "by"):
            return "" if value is None else str(value)
        if name == "by":
            return "+" * (value > 0) + lasting(instance, int(value))
        return moment(instance, int(value))

    return {"columns": columns, "rows": [[text(name, row.get(name)) for name in columns] for row in rows]}


def _data(result: Result) -> dict[str, Any]:
    shares = utilisation(result.schedule)[:, 0]
    return result.to_dict() | {
        "verdict": result.verdict,
        "jobs": result.instance.n_jobs,
        "machines": result.instance.n_machines,
        "operations": result.instance.n_operations,
        "utilisation": shares.round(6).tolist(),
        "mean_utilisation": round(float(shares.mean()), 6),
        "schedule": result.schedule.to_dict(),
    }


def _named(data: dict[str, Any], table: Iterable[Entry]) -> list[tuple[str, str, str]]:
    """Field, label and text of what there is to say."""
    return [(field, label, text(data[field])) for field, label, text in table if data.get(field) not in (None, "")]


def _title(results: Sequence[Result]) -> str:
    if len(results) == 1:
        what = "largest lateness" if results[0].objective == LATENESS else "makespan"
        return f"{results[0].instance.name}: {what} {results[0].value}"
    return f"{len(results)} schedules"


def save_bench_report(report: Mapping[str, Any], path: str | Path) -> None:
    """Write one HTML file about a benchmark; it opens offline.

    `report` is what `l2s bench --json` prints: `command`, `finished`, `table` and `cells`.
    """
    check_report(path)
    cells = report["cells"]
    by: By = "steps" if any(cell["step_limit"] is not None for cell in cells) else "seconds"
    groups = list(dict.fromkeys(row["group"] for row in report["table"]))
    _save_page(
        "bench.html",
        path,
        title=f"Benchmark on {', '.join(groups)}" if len(groups) <= 4 else f"Benchmark on {len(groups)} groups",
        command=shlex.join(["l2s", *report["command"]]),
        finished=report["finished"],
        tables=tables(report["table"], groups),
        by=by,
        charts=_anytime_charts(cells, by),
        data={key: report[key] for key in ("command", "finished", "table")},
    )


def _anytime_charts(cells: list[Row], by: By) -> dict[str, Chart]:
    """A chart over all cells and, where there are several groups, one for each."""
    by_group: dict[str, list[Row]] = {}
    for cell in cells:
        by_group.setdefault(cell["group"], []).append(cell)
    chosen = by_group if len(by_group) == 1 else {ALL_GROUPS: cells, **by_group}
    return {
        group: _chart(f"anytime-{number}", f"mean gap over {by}, {group}", anytime(curves, by))
        for number, (group, members) in enumerate(chosen.items())
        if (curves := anytime_curves(members, by))
    }


def _chart(name: str, label: str, figure: Figure) -> Chart:
    """A figure and its place on the page: its own `name`, and a `label` for those who cannot see it."""
    from markupsafe import Markup

    json = figure.to_json().replace("<", "\\u003c").replace(">", "\\u003e")  # nothing can end the script element
    return {"name": name, "label": label, "height": figure.layout.height, "figure": Markup(json)}


def _save_page(template: str, path: str | Path, **context: Any) -> None:
    """Fill a template and write it, aside first and then renamed.

    Templates escape everything they are given, and `tojson` does so for scripts; `_chart` for figures.
    """
    from jinja2 import Environment, PackageLoader, StrictUndefined
    from plotly.offline import get_plotlyjs

    environment = Environment(
        loader=PackageLoader("integrations.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    page = environment.get_template(template).render(plotly_js=get_plotlyjs(), version=__version__, **context)
    write_text(path, page)
