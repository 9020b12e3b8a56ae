"""From a template to a file that needs nothing else: styles, scripts, numbers and plotly.js are inside."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from integrations.libraries import library
from l2s_plugin import __version__
from l2s_plugin.errors import L2SError
from l2s_plugin.files import check_writable, write_text

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

Chart = dict[str, Any]


def check_report(path: str | Path) -> None:
    """Fail now rather than after a long run: wrong ending, no place to write, nothing to draw with."""
    if Path(path).suffix.lower() != ".html":
        raise L2SError(f"cannot write the report {path}: its name must end in .html")
    check_writable(path)
    for package in ("jinja2", "plotly"):
        library(package, "report")


def chart(name: str, label: str, figure: Figure) -> Chart:
    """A figure and its place on the page: its own `name`, and a `label` for those who cannot see it."""
    from markupsafe import Markup

    json = figure.to_json().replace("<", "\\u003c").replace(">", "\\u003e")  # nothing can end the script element
    return {"name": name, "label": label, "height": figure.layout.height, "figure": Markup(json)}


def save_page(template: str, path: str | Path, **context: Any) -> None:
    """Fill a template and write it, aside first and then renamed.

    Templates escape everything they are given, and `tojson` does so for scripts; `chart` for figures.
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
