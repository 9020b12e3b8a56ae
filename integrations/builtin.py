"""What the integrations offer, through the same hooks as any plugin."""

from __future__ import annotations

from l2s_plugin.hookspecs import hookimpl
from l2s_plugin.specs import RendererSpec


@hookimpl
def l2s_renderers() -> list[RendererSpec]:
    return [
        RendererSpec("png", "integrations.plots:gantt", "Gantt chart as a picture"),
        RendererSpec("svg", "integrations.plots:gantt", "Gantt chart as a drawing, with text as text"),
        RendererSpec("pdf", "integrations.plots:gantt", "Gantt chart as a document"),
    ]
