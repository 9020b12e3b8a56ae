"""What notebooks show for a schedule: its picture where one can be drawn, otherwise a table."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterable, Mapping
from contextlib import suppress
from html import escape
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from l2s_plugin.errors import L2SError

if TYPE_CHECKING:
    from l2s_plugin.schedule import Schedule

_MOST_BARS = 2500  # beyond, the drawing is too heavy to keep in a notebook
_MOST_MACHINES = 40
_MOST_JOBS = 30


def schedule_html(schedule: Schedule) -> str:
    """The Gantt chart of the `svg` renderer; without one, a table of the machine orders."""
    if schedule.instance.n_operations <= _MOST_BARS:
        with suppress(L2SError):  # no renderer, or matplotlib is not installed
            return _picture(schedule)
    instance = schedule.instance
    separator = " " if instance.job_names is None else ", "  # names may hold spaces
    rows = ["<th>machine</th><th>jobs in processing order</th>"]
    for machine, order in enumerate(schedule.machine_orders[:_MOST_MACHINES]):
        jobs = separator.join(escape(instance.job_name(job)) for job in instance.job[order[:_MOST_JOBS]])
        name = escape(instance.machine_name(machine))
        rows.append(f"<td>{name}</td><td>{jobs}{' …' if len(order) > _MOST_JOBS else ''}</td>")
    if schedule.instance.n_machines > _MOST_MACHINES:
        rows.append("<td>…</td><td></td>")
    return f"<p>{escape(repr(schedule))}</p>{_table(rows)}"


def name_and_value(values: Mapping[str, Any]) -> str:
    """An HTML table of names and values, one below the other, so that it fits any width."""
    return _table(f"<th>{escape(name)}</th><td>{escape(str(value))}</td>" for name, value in values.items())


def _table(rows: Iterable[str]) -> str:
    return f"<table>{''.join(f'<tr>{row}</tr>' for row in rows)}</table>"


def _picture(schedule: Schedule) -> str:
    """An image of its own: inside the page's tree, the drawing's style sheet would apply to the whole page."""
    with TemporaryDirectory() as folder:
        file = Path(folder, "schedule.svg")
        schedule.gantt(file)
        drawing = b64encode(file.read_bytes()).decode()
    return f'<img src="data:image/svg+xml;base64,{drawing}" alt="{escape(repr(schedule))}" style="max-width: 100%">'
