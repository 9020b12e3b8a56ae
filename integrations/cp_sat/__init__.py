"""CP-SAT: improve a schedule further, prove it optimal, or work side by side with the search.

Nothing of OR-Tools is imported until something here is used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from l2s_plugin.lazy import lazy

if TYPE_CHECKING:
    from integrations.cp_sat.hybrid_search import hybrid
    from integrations.cp_sat.model import JobShopModel, Machines, Window
    from integrations.cp_sat.solver import solve

__all__ = ["JobShopModel", "Machines", "Window", "hybrid", "solve"]

_HOME = dict.fromkeys(__all__[:3], "model") | {"hybrid": "hybrid_search", "solve": "solver"}

__getattr__, __dir__ = lazy(__name__, _HOME)
