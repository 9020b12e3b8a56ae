"""The report on runs of `l2s solve` or of any search: schedules, convergence, utilisation, parameters."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from heuristics.result import Result
from integrations.report.charts import convergence, machine_utilisation, utilisation
from integrations.report.gantt import gantt
from integrations.report.page import Chart, check_report, save_page
from l2s_plugin.errors import L2SError


def save_report(results: Sequence[Result], path: str | Path, *, command: str | None = None) -> None:
    """Write one HTML file about one or more results; it opens offline.

    Parameters
    ----------
    results
        What to show, in this order.
    path
        Where to write; must end in `.html`.
    command
        The command line, or several, that `l2s solve` prints to run these searches again.
    """
    if not results:
        raise L2SError("a report needs at least one result")
    check_report(path)
    sections = [_section(number, result) for number, result in enumerate(results)]
    data = {"command": command, "results": [section.data for section in sections]}
    save_page("results.html", path, title=_title(results), sections=sections, command=command, data=data)


class Section(NamedTuple):
    """What the page says about one result."""

    anchor: str
    data: dict[str, Any]  # what `--json` prints, and more
    key_figures: list[tuple[str, str, str]]  # field of `data`, what it is called, its value
    parameters: list[tuple[str, str, str]]
    machine_view: Chart
    job_view: Chart
    convergence: Chart
    utilisation: Chart


def _section(number: int, result: Result) -> Section:
    data = _data(result)
    name = data["instance"]
    charts = {
        "machine_view": (f"Gantt chart of {name} by machine", gantt(result.schedule, "machine")),
        "job_view": (f"Gantt chart of {name} by job", gantt(result.schedule, "job")),
        "convergence": (f"makespan over time for {name}", convergence(result)),
        "utilisation": (f"machine utilisation of {name}", machine_utilisation(result.schedule)),
    }
    return Section(
        anchor=f"result-{number}",
        data=data,
        key_figures=_key_figures(data),
        parameters=_parameters(data),
        **{key: Chart.of(f"{key}-{number}", *chart) for key, chart in charts.items()},
    )


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


def _key_figures(data: dict[str, Any]) -> list[tuple[str, str, str]]:
    rows = [
        ("makespan", "makespan", f"{data['makespan']}"),
        ("lower_bound", "lower bound", f"{data['lower_bound']}"),
        ("bound_source", "source of the bound", data["bound_source"] or "not said"),
        ("gap", "gap to the bound", f"{100 * data['gap']:.2f} %"),
        ("mean_utilisation", "mean utilisation", f"{100 * data['mean_utilisation']:.1f} %"),
        ("time_to_best", "time to best", f"{data['time_to_best']:.2f} s"),
    ]
    for field, label in (("upper_bound", "best known"), ("claimed_upper_bound", "claimed upper bound, not checked")):
        if data[field] is not None:
            rows.insert(3, (field, label, f"{data[field]}"))
    return rows


def _parameters(data: dict[str, Any]) -> list[tuple[str, str, str]]:
    rows = [
        ("method", "method", data["method"]),
        ("selector", "selector", data["selector"]),
        ("neighbourhood", "neighbourhood", data["neighbourhood"]),
        ("polisher", "polisher", data["polisher"]),
        ("initial", "first schedule", data["initial"]),
        ("gear", "gear", data["gear"]),
        ("seed", "seed", data["seed"]),
        ("workers", "workers", data["workers"]),
        ("steps", "steps", f"{data['steps']:,}"),
        ("seconds", "seconds", f"{data['seconds']:.2f}"),
        ("steps_per_second", "steps per second", f"{data['steps_per_second']:,.0f}"),
        ("stopped_by", "stopped by", data["stopped_by"]),
    ]
    return [(field, label, str(value)) for field, label, value in rows if value not in (None, "")]


def _title(results: Sequence[Result]) -> str:
    if len(results) == 1:
        return f"{results[0].instance.name}: makespan {results[0].makespan}"
    return f"{len(results)} schedules"
