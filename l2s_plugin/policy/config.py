"""The architectures of policies, as a checkpoint's header stores them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any, ClassVar, Self, get_type_hints

import numpy as np

from l2s_plugin.errors import L2SError, unknown_name
from l2s_plugin.kernels.move_features import FEWEST_MOVE_FEATURES, N_ARC_FEATURES, N_MOVE_FEATURES, N_NODE_FEATURES
from l2s_plugin.records import check

Shape = tuple[int, ...]

N_FEATURES = 3  # of a node

_CHOICES = {
    "embedding": ("both", "tpm", "cam"),
    "aggregation": ("mean", "sum"),
    "normalisation": ("batch", "running"),
    "features": ("paper", "scaled"),
}
_LIMITS = {
    "width": (1, 4096), "layers": (1, 64), "heads": (1, 64), "action_width": (1, 4096), "action_layers": (1, 64),
    "hidden": (1, 4096), "head": (1, 4096),
}  # fmt: skip


def check_options(
    options: Any, prefix: str, limits: Mapping[str, tuple[float, float]], choices: Mapping[str, Sequence[str]]
) -> None:
    """Raise unless all options of a dataclass have their types, and lie within limits or among choices."""
    shapes = get_type_hints(type(options))
    for name in (field.name for field in fields(options)):
        value, where = getattr(options, name), prefix + name
        if name in choices:
            if value not in choices[name]:
                raise L2SError(f"{where} must be {' or '.join(choices[name])}, got {value!r}")
            continue
        check(value, shapes[name], where)
        least, most = limits.get(name, (None, None))
        if least is not None and not least <= value <= most:
            kind = "a whole number" if shapes[name] is int else "a number"
            range_ = f", {least} or more" if most == math.inf else f" from {least} to {most}"
            raise L2SError(f"{where} must be {kind}{range_}, got {value!r}")


class _Architecture:
    """What the headers need."""

    network: ClassVar[str]
    gone: ClassVar[Mapping[str, Any]] = {}  # keys of older headers, and the value that says nothing

    def to_dict(self) -> dict[str, Any]:
        """For a JSON header."""
        return asdict(self)  # type: ignore[call-overload]

    def completed(self, weights: Mapping[str, Any]) -> Mapping[str, Any]:
        """The weights of a file, which may be older than some of what the architecture has now."""
        return weights

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """Read a JSON header; absent keys take their defaults, unknown ones are an error."""
        if not isinstance(data, Mapping):
            raise L2SError(f"a policy's architecture must be an object, got {data!r}")
        known = [field.name for field in fields(cls)]  # type: ignore[arg-type]
        for name, value in data.items():
            if name in cls.gone and value != cls.gone[name]:
                raise L2SError(f"policies with {name} {value!r} are no longer supported")
            if name not in known and name not in cls.gone:
                raise unknown_name("architecture key", str(name), known)
        return cls(**{name: value for name, value in data.items() if name in known})


@dataclass(frozen=True)
class PolicyConfig(_Architecture):
    """The paper's network over the graph of a schedule: what to build; the weights fill it."""

    network: ClassVar[str] = "tpm+cam"
    gone: ClassVar[Mapping[str, Any]] = {"hints": False}

    width: int = 128  # length p of the embedding of a node in each of the two modules
    layers: int = 4  # iterations K of both modules
    heads: int = 1  # of attention in the context-aware module; each computes `width / heads` of the numbers
    embedding: str = "both"  # modules, or only the topological ("tpm") or the context-aware one ("cam")
    # Neighbourhood of the topological module: "mean" over the predecessors and the node itself, plus the node, as in
    # the authors' code; "sum": the node plus the sum of its predecessors (paper, eq. 2).
    aggregation: str = "mean"
    # Batch normalisation at inference: with the statistics of the graph itself ("batch") or with those gathered in
    # training ("running").
    normalisation: str = "batch"
    action_width: int = 64  # length q of the latent vectors whose product is the score
    action_layers: int = 4  # blocks of the action network, each a linear layer, tanh, a linear layer
    # "paper": p / 99, est / 1000, lst / 1000. "scaled": the same after all times have been rescaled so that the longest
    # duration of the instance is 99.
    features: str = "paper"

    def __post_init__(self) -> None:
        check_options(self, "policy ", _LIMITS, _CHOICES)
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

    def shapes(self) -> dict[str, Shape]:
        """As in the `state_dict` of `l2s_plugin.policy.tpm_cam.network.PolicyNetwork`."""
        shapes: dict[str, Shape] = {}
        width, heads, q = self.width, self.heads, self.action_width
        for layer in range(self.layers):
            inputs = width if layer else N_FEATURES
            if self.has_tpm:
                home = f"tpm.layers.{layer}"
                shapes |= {f"{home}.linear1.weight": (width, inputs), f"{home}.linear1.bias": (width,)}
                norm = ("weight", "bias", "running_mean", "running_var")
                shapes |= {f"{home}.norm.{part}": (width,) for part in norm}
                shapes |= {f"{home}.norm.num_batches_tracked": ()}
                shapes |= {f"{home}.linear2.weight": (width, width), f"{home}.linear2.bias": (width,)}
            for part in ("job", "machine") if self.has_cam else ():
                home = f"cam.layers.{layer}.{part}"
                attention = (1, heads, width // heads)
                shapes |= {f"{home}.att_src": attention, f"{home}.att_dst": attention}
                shapes |= {f"{home}.lin.weight": (width, inputs), f"{home}.bias": (width,)}
        for layer in range(2 * self.action_layers):
            inputs = q if layer else 2 * self.embedding_width
            shapes |= {f"action.layers.{layer}.weight": (q, inputs), f"action.layers.{layer}.bias": (q,)}
        return shapes


@dataclass(frozen=True)
class GraphPolicyConfig(_Architecture):
    """Our network over the surroundings of moves (`l2s_plugin.policy.graph.network`)."""

    network: ClassVar[str] = "graph"

    width: int = 32  # numbers per operation
    hidden: int = 32  # numbers in the middle of a layer
    layers: int = 2  # arcs that a message travels
    head: int = 64  # numbers in the middle of what scores a pair of operations
    features: str = (
        "1"  # version of the inputs (`l2s_plugin.kernels.graph`); a network knows those that it learned with
    )

    def __post_init__(self) -> None:
        check_options(self, "policy ", _LIMITS, {"features": ("1",)})

    def shapes(self) -> dict[str, Shape]:
        """As in the `state_dict` of `GraphNetwork`."""
        width, hidden, head = self.width, self.hidden, self.head
        shapes: dict[str, Shape] = {"embed.weight": (width, N_NODE_FEATURES), "embed.bias": (width,)}
        for layer in range(self.layers):
            at = f"layers.{layer}"
            shapes |= {f"{at}.norm.weight": (width,), f"{at}.norm.bias": (width,)}
            shapes |= {f"{at}.inward.weight": (hidden, 5 * width), f"{at}.inward.bias": (hidden,)}
            shapes |= {f"{at}.outward.weight": (width, hidden), f"{at}.outward.bias": (width,)}
        shapes |= {"first.weight": (head, 2 * width + N_ARC_FEATURES), "first.bias": (head,)}
        return shapes | {"last.weight": (1, head), "last.bias": (1,)}


@dataclass(frozen=True)
class MovePolicyConfig(_Architecture):
    """A weighted sum of numbers about each move, quick enough for the compiled loop (`kernels.move_rule`)."""

    network: ClassVar[str] = "moves"
    gone: ClassVar[Mapping[str, Any]] = {"hidden": 0}

    # Only moves whose estimate is within so many mean durations of the best admissible one are looked at.
    margin: float = 1.0
    # Whether the rule depends on where the search is: rule + gap * drift[0] + age * drift[1], by how far the makespan
    # is above the incumbent and how long ago that was found (see `MoveFeature`).
    drift: bool = False

    def __post_init__(self) -> None:
        check_options(self, "policy ", {"margin": (0, 1000)}, {})

    def shapes(self) -> dict[str, Shape]:
        """The rule, and by how much it depends on where the search is."""
        shapes: dict[str, Shape] = {"rule": (N_MOVE_FEATURES,)}
        return shapes | {"drift": (2, N_MOVE_FEATURES)} if self.drift else shapes

    def completed(self, weights: Mapping[str, Any]) -> Mapping[str, Any]:
        """With the weight 0 for features that were not there when the file was written."""

        def complete(rules: Any) -> Any:
            known = rules.shape[-1] if rules.ndim else 0
            if not FEWEST_MOVE_FEATURES <= known < N_MOVE_FEATURES:
                return rules
            return np.pad(rules, [(0, 0)] * (rules.ndim - 1) + [(0, N_MOVE_FEATURES - known)])

        return {name: complete(rules) for name, rules in weights.items()}


AnyConfig = PolicyConfig | GraphPolicyConfig | MovePolicyConfig
ARCHITECTURES: dict[str, type[AnyConfig]] = {
    config.network: config for config in (PolicyConfig, GraphPolicyConfig, MovePolicyConfig)
}
