"""Gymnasium: the improvement process as an environment, one trajectory or many side by side.

>>> import gymnasium, integrations.gymnasium  # the second registers the environment  # doctest: +SKIP
>>> env = gymnasium.make("l2s_plugin/JobShopImprovement-v0", size="10x10", max_steps=200)  # doctest: +SKIP
>>> envs = gymnasium.make_vec("l2s_plugin/JobShopImprovement-v0", num_envs=32, size="10x10")  # doctest: +SKIP

Importing this package needs `gymnasium` (extra `gymnasium`); the environments load with the first of them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from integrations.libraries import library
from l2s_plugin.lazy import lazy

if TYPE_CHECKING:
    from integrations.gymnasium.environments import JobShopImprovementEnv, JobShopImprovementVectorEnv

__all__ = ["ENVIRONMENT_ID", "JobShopImprovementEnv", "JobShopImprovementVectorEnv"]

ENVIRONMENT_ID = "l2s_plugin/JobShopImprovement-v0"

library("gymnasium", "gymnasium").register(
    ENVIRONMENT_ID,
    entry_point="integrations.gymnasium.environments:JobShopImprovementEnv",
    vector_entry_point="integrations.gymnasium.environments:JobShopImprovementVectorEnv",
)

__getattr__, __dir__ = lazy(__name__, dict.fromkeys(__all__[1:], "environments"))
