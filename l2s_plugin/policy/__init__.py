"""The learned policy: its network, in a form to train and in forms to search with, and its checkpoints.

Names are loaded on first use: reading and listing checkpoints needs no torch.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from l2s_plugin.lazy import lazy

if TYPE_CHECKING:
    from l2s_plugin.policy.checkpoint import Policy, load_policy, save_policy
    from l2s_plugin.policy.config import PolicyConfig
    from l2s_plugin.policy.importer import import_policy
    from l2s_plugin.policy.library import find_policy
    from l2s_plugin.policy.selector import L2SSelector

__all__ = ["L2SSelector", "Policy", "PolicyConfig", "find_policy", "import_policy", "load_policy", "save_policy"]

_HOME = {
    "L2SSelector": "selector",
    "Policy": "checkpoint",
    "PolicyConfig": "config",
    "find_policy": "library",
    "import_policy": "importer",
    "load_policy": "checkpoint",
    "save_policy": "checkpoint",
}

__getattr__, __dir__ = lazy(__name__, _HOME)
