"""From a template to a file that needs nothing else: styles, scripts, numbers and plotly.js are inside."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from l2s_plugin import __version__
from l2s_plugin.errors import L2SError, missing_extra
from l2s_plugin.files import check_writable, write_text

if TYPE_CHECKING:
    from markupsafe import Markup
    from plotly.graph_objects import Figure

EXTRA = "report"


def check_report(path: str | Path) -> None:
    """Fail now rather than after a long run: wrong ending, no place to write, nothing to draw with."""
    if Path(path).suffix.lower() != ".html":
        raise L2SError(f"cannot write the report {path}: its name must end in .html")
    check_writable(path)
    for package in ("jinja2", "plotly"):
        try:
            import_module(package)
        except ImportError as error:
            raise missing_extra(package, EXTRA) from error


class Chart(NamedTuple):
    """A figure and the place that the page keeps for it."""

    name: str  # unique on the page
    label: str  # for those who cannot see it
    height: int  # pixels
    figure: Markup  # JSON

    @classmethod
    def of(cls, name: str, label: str, figure: Figure) -> Chart:
        return cls(name, label, figure.layout.height, _inside_script(figure.to_json()))


def save_page(template: str, path: str | Path, **context: Any) -> None:
    """Fill a template and write it, aside first and then renamed.

    Templates escape everything they are given, and `tojson` does so for scripts; `Chart.of` for figures.
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


def _inside_script(json: str) -> Markup:
    """JSON in which nothing can end the script element around it."""
    from markupsafe import Markup

    return Markup(json.replace("<", "\\u003c").replace(">", "\\u003e"))
