"""What the integrations offer, through the same hooks as any plugin."""

from __future__ import annotations

from heuristics.builtin import LIMITS, POPULATION
from l2s_plugin.hookspecs import hookimpl
from l2s_plugin.specs import MethodSpec, RendererSpec

_CP_SAT = frozenset({"time_limit", "target", "initial", "warm_start", "workers", "parameters", "log"})


@hookimpl
def l2s_methods() -> list[MethodSpec]:
    return [
        MethodSpec(
            "hybrid",
            "integrations.cp_sat.hybrid_search:hybrid_method",
            "memetic search and CP-SAT side by side",
            POPULATION | _CP_SAT,
            repeatable=False,
        ),
        MethodSpec(
            "cp-sat",
            "integrations.cp_sat.solver:cp_sat_method",
            "CP-SAT, also from a schedule",
            _CP_SAT,
            repeatable=False,
        ),
        MethodSpec(
            "ortools-local-search",
            "integrations.ortools_local_search:ortools_method",
            "OR-Tools' own local search on our moves; a metaheuristic after a colon",
            LIMITS | {"selector", "policy", "neighbourhood", "initial", "warm_start"},
        ),
        MethodSpec(
            "cooperation",
            "integrations.cluster:cooperation_method",
            "a population on every worker of a cluster",
            POPULATION - {"anneal"} | {"exchange", "scheduler"},
        ),
    ]


@hookimpl
def l2s_renderers() -> list[RendererSpec]:
    forms = {"png": "a picture", "svg": "a drawing, with text as text", "pdf": "a document"}
    return [RendererSpec(name, "integrations.plots:gantt", f"Gantt chart as {form}") for name, form in forms.items()]
