"""The report on runs of `l2s solve` or of any search: schedules, convergence, utilisation, parameters."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from heuristics.result import Result
from integrations.report.charts import convergence, machine_utilisation, utilisation
from integrations.report.gantt import gantt
from integrations.report.page import chart, check_report, save_page
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
    data = {"command": command, "results": [section["data"] for section in sections]}
    save_page("results.html", path, title=_title(results), sections=sections, command=command, data=data)


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
        **{key: chart(f"{key}-{number}", *labelled) for key, labelled in charts.items()},
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


Entry = tuple[str, str, Callable[[Any], str]]  # field, what it is called, how it is written

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


def _named(data: dict[str, Any], table: Iterable[Entry]) -> list[tuple[str, str, str]]:
    """Field, label and text of what there is to say."""
    return [(field, label, text(data[field])) for field, label, text in table if data[field] not in (None, "")]


def _title(results: Sequence[Result]) -> str:
    if len(results) == 1:
        return f"{results[0].instance.name}: makespan {results[0].makespan}"
    return f"{len(results)} schedules"
