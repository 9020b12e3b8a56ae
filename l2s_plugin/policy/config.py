"""The architecture of a policy network, as a checkpoint's header stores it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any

from l2s_plugin.errors import L2SError, unknown_name

_CHOICES = {
    "embedding": ("both", "tpm", "cam"),
    "aggregation": ("mean", "sum"),
    "normalisation": ("batch", "running"),
    "features": ("paper", "scaled"),
}
_COUNTS = {"width": 4096, "layers": 64, "heads": 64, "action_width": 4096, "action_layers": 64}


@dataclass(frozen=True)
class PolicyConfig:
    """What to build; the weights fill it.

    Parameters
    ----------
    width
        Length p of the embedding of a node in each of the two modules.
    layers
        Iterations K of both modules.
    heads
        Attention heads of the context-aware module; each computes `width / heads` of the numbers.
    embedding
        `"both"` modules, or only the topological (`"tpm"`) or the context-aware one (`"cam"`).
    aggregation
        Neighbourhood of the topological module: `"mean"` over the predecessors and the node itself, plus the
        node, as in the authors' code; `"sum"`: the node plus the sum of its predecessors (paper, eq. 2).
    normalisation
        Batch normalisation at inference: with the statistics of the graph itself (`"batch"`) or with those
        gathered in training (`"running"`).
    action_width
        Length q of the latent vectors whose product is the score.
    action_layers
        Blocks of the action network, each a linear layer, tanh, a linear layer.
    features
        `"paper"`: p / 99, est / 1000, lst / 1000. `"scaled"`: the same after all times have been rescaled so
        that the longest duration of the instance is 99.
    hints
        Whether what the host knows about a move is added to its score, times learned weights: how much it promises to
        lower the makespan, and how recently what it brings back was changed (see `l2s_plugin.kernels.hints`). The
        network then learns what to do otherwise than that rule.
    """

    width: int = 128
    layers: int = 4
    heads: int = 1
    embedding: str = "both"
    aggregation: str = "mean"
    normalisation: str = "batch"
    action_width: int = 64
    action_layers: int = 4
    features: str = "paper"
    hints: bool = False

    def __post_init__(self) -> None:
        for name, most in _COUNTS.items():
            value = getattr(self, name)
            if not isinstance(value, int) or isinstance(value, bool) or not 1 <= value <= most:
                raise L2SError(f"policy {name} must be a whole number from 1 to {most}, got {value!r}")
        for name, choices in _CHOICES.items():
            value = getattr(self, name)
            if value not in choices:
                raise L2SError(f"policy {name} must be {' or '.join(choices)}, got {value!r}")
        if not isinstance(self.hints, bool):
            raise L2SError(f"policy hints must be true or false, got {self.hints!r}")
        if self.width % self.heads:
            raise L2SError(f"policy width {self.width} is not a multiple of its {self.heads} heads")

    @property
    def has_tpm(self) -> bool:
        """Whether the topological module is there."""
        return self.embedding != "cam"

    @property
    def has_cam(self) -> bool:
        """Whether the context-aware module is there."""
        return self.embedding != "tpm"

    @property
    def embedding_width(self) -> int:
        """Numbers per node, and per graph, that the modules give together."""
        return self.width * (self.has_tpm + self.has_cam)

    def to_dict(self) -> dict[str, Any]:
        """For a JSON header."""
        return asdict(self)

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> PolicyConfig:
        """Read a JSON header; absent keys take their defaults, unknown ones are an error."""
        if not isinstance(data, Mapping):
            raise L2SError(f"a policy's architecture must be an object, got {data!r}")
        known = [field.name for field in fields(cls)]
        for name in data:
            if name not in known:
                raise unknown_name("architecture key", str(name), known)
        return cls(**data)
