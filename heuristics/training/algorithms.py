"""Training algorithms: what a run asks of one, and the table of them. A new algorithm is a file and a line here."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from l2s_plugin.errors import L2SError
from l2s_plugin.instance import Instance
from l2s_plugin.policy.config import AnyConfig, GraphPolicyConfig, MovePolicyConfig, PolicyConfig
from l2s_plugin.specs import Spec

if TYPE_CHECKING:
    from heuristics.training.config import TrainingConfig
    from heuristics.training.torchrun import Processes

Arrays = dict[str, NDArray[Any]]


class TrainingError(L2SError):
    """Training cannot go on; what was reached is kept."""


@dataclass(frozen=True)
class Batch:
    """What to learn from next."""

    number: int  # from 1
    size: str  # of the instances, in words
    instances: list[Instance]
    rng: np.random.Generator
    learning_rate: float
    progress: Callable[[float], None]  # to be told the share of the batch that is done


class Algorithm(Protocol):
    """One way to train; it holds the policy in training."""

    whole_searches: ClassVar[bool]  # True: batches have all sizes, and are not divided among the processes

    def __init__(self, config: TrainingConfig, processes: Processes, device: str) -> None: ...

    def learn(self, batch: Batch) -> dict[str, float]:
        """Make the policy better; returns figures about it, `improvement` among them."""

    def weights(self) -> Arrays:
        """The policy, as a checkpoint holds it."""

    def state(self) -> Arrays:
        """All that a later process needs to go on; names and shapes are the same before the first batch."""

    def restore(self, state: Mapping[str, NDArray[Any]]) -> None:
        """Go on from a state of the right names and shapes, all numbers finite; an `L2SError` if it is none."""


@dataclass(frozen=True)
class AlgorithmSpec(Spec):
    """An algorithm, imported on first use, and the policies that it trains."""

    policy: type[AnyConfig] = PolicyConfig


ALGORITHMS = {
    spec.name: spec
    for spec in (
        AlgorithmSpec("reinforce", "heuristics.training.reinforce:Reinforce"),
        AlgorithmSpec("imitation", "heuristics.training.imitation:Imitation", policy=GraphPolicyConfig),
        AlgorithmSpec("evolution", "heuristics.training.evolution:Evolution", policy=MovePolicyConfig),
        AlgorithmSpec("slopes", "heuristics.training.slopes:Slopes", policy=MovePolicyConfig),
    )
}
