"""CP-SAT: improve a schedule further, prove it optimal, or work side by side with the search.

Nothing of OR-Tools is imported until something here is used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from integrations.cp_sat.hybrid_search import hybrid
    from integrations.cp_sat.large_neighbourhoods import Machines, Window
    from integrations.cp_sat.model import JobShopModel
    from integrations.cp_sat.solver import solve

__all__ = ["JobShopModel", "Machines", "Window", "hybrid", "solve"]

_HOME = {
    "JobShopModel": "model",
    "Machines": "large_neighbourhoods",
    "Window": "large_neighbourhoods",
    "hybrid": "hybrid_search",
    "solve": "solver",
}


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOME[name]}"), name)
