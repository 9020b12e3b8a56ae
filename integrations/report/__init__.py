"""HTML reports: one file each that opens offline, with styles, scripts, numbers and plotly.js in it; extra `report`."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from heuristics.result import Result
from integrations.bench.report import By, Row, anytime_curves, tables
from integrations.libraries import library
from integrations.report.charts import anytime, convergence, gantt, machine_utilisation, utilisation
from l2s_plugin import __version__
from l2s_plugin.errors import L2SError
from l2s_plugin.files import check_writable, write_text

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

Chart = dict[str, Any]
Entry = tuple[str, str, Callable[[Any], str]]  # field, what it is called, how it is written

ALL_GROUPS = "all groups"
_KEY_FIGURES: tuple[Entry, ...] = (
    ("makespan", "makespan", str),
    ("lower_bound", "lower bound", str),
    ("bound_source", "source of the bound", str),
    ("claimed_upper_bound", "claimed upper bound, not checked", str),
    ("upper_bound", "best known", str),
    ("gap", "gap to the bound", lambda share: f"{100 * share:.2f} %"),
    ("mean_utilisation", "mean utilisation", lambda share: f"{100 * share:.1f} %"),
    ("time_to_best", "time to best", "{:.2f} s".format),
)
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


def save_report(results: Sequence[Result], path: str | Path, *, command: str | None = None) -> None:
    """Write one HTML file about one or more results; it opens offline.

    They are shown in this order; `command` is the command line, or several, that `l2s solve` prints to run them again.
    """
    if not results:
        raise L2SError("a report needs at least one result")
    check_report(path)
    sections = [_section(number, result) for number, result in enumerate(results)]
    data = {"command": command, "results": [section["data"] for section in sections]}
    _save_page("results.html", path, title=_title(results), sections=sections, command=command, data=data)


def _section(number: int, result: Result) -> dict[str, Any]:
    """What the page says about one result."""
    data = _data(result)
    name = data["instance"]
    charts = {
        "machine_view": (f"Gantt chart of {name} by machine", gantt(result.schedule, "machine")),
        "job_view": (f"Gantt chart of {name} by job", gantt(result.schedule, "job")),
        "convergence": (f"makespan over time for {name}", convergence(result)),
        "utilisation": (f"machine utilisation of {name}", machine_utilisation(result.schedule)),
    }
    return {
        "anchor": f"result-{number}",
        "data": data,
        "key_figures": _named(data | {"bound_source": data["bound_source"] or "not said"}, _KEY_FIGURES),
        "parameters": _named(data, _PARAMETERS),
        **{key: _chart(f"{key}-{number}", *labelled) for key, labelled in charts.items()},
    }


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
    return [(field, label, text(data[field])) for field, label, text in table if data[field] not in (None, "")]


def _title(results: Sequence[Result]) -> str:
    if len(results) == 1:
        return f"{results[0].instance.name}: makespan {results[0].makespan}"
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
