"""What a training run does; every option is explained here, where it is declared."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from typing import Any

from heuristics.training.algorithms import ALGORITHMS
from heuristics.training.environment import HOSTS, REWARDS
from heuristics.training.instances import parse_size
from l2s_plugin.errors import L2SError, unknown_name
from l2s_plugin.kernels.move_features import MoveFeature
from l2s_plugin.policy.config import (
    ARCHITECTURES,
    AnyConfig,
    GraphPolicyConfig,
    MovePolicyConfig,
    PolicyConfig,
    check_options,
)
from l2s_plugin.records import check

_CHOICES = {
    "algorithm": tuple(ALGORITHMS), "host": HOSTS, "reward": REWARDS,
    "baseline": ("returns", "critic"),
}  # fmt: skip
POPULATION = "population"  # where searches may begin, beside dispatching rules
_COUNTS = (
    "batches", "batch_size", "steps", "horizon", "population", "start_steps",
    "validation_instances", "validation_steps", "validation_every",
)  # fmt: skip
_LIMITS = dict.fromkeys(_COUNTS, (1, math.inf)) | {
    "learning_rate": (0, 100), "discount": (0, 1), "trace": (0, 1), "entropy": (0, 100),
    "largest_gradient": (0, 10**9), "seed": (0, math.inf),
}  # fmt: skip


@dataclass(frozen=True)
class TrainingConfig:
    """One training run. The defaults are the paper's (appendices A and B)."""

    # Jobs x machines of the random instances ("20x10/2": jobs pass one half of the machines before the other). Each
    # batch is of one of them, in turn; with "evolution" and "slopes", of all.
    sizes: tuple[str, ...] = ("10x10",)
    batches: int = 2000  # every batch is new
    batch_size: int = 64  # instances
    steps: int = 500  # moves T per instance
    horizon: int = 10  # moves n between two updates of the weights
    learning_rate: float = 5e-5  # of Adam, or what "slopes" are multiplied by; the paper keeps it constant
    decay: bool = False  # whether it falls linearly to zero over the run
    # "reinforce": n-step REINFORCE (paper, algorithm 1). For networks over graphs of our own: "imitation" of a rule
    # (see imitation.py). For policies over moves: "evolution" of their rule by the cross-entropy method (see
    # evolution.py), or by its "slopes" from mirrored trials (see slopes.py).
    algorithm: str = "reinforce"
    teacher: str = "l2s"  # whom "imitation" learns from: "boltzmann", or a policy over moves
    population: int = 48  # how many weights "evolution" tries per batch
    # The move features (names of `MoveFeature` in small letters) that "slopes" gives weights to; all when empty.
    # Features without a weight cost a search nothing.
    features: tuple[str, ...] = ()
    reward: str = "incumbent"  # (paper, eq. 1) or "decrement"; see `Environment`
    discount: float = 1.0  # of rewards, per move
    # What returns are compared with: "returns" of the same instance over the n moves, which they are normalised with,
    # as the authors do; or the value that a "critic" learns to predict from the graph embedding.
    baseline: str = "returns"
    trace: float = 0.95  # lambda of generalised advantages (Schulman et al. 2016), for the critic
    entropy: float = 0.0  # weight of an entropy bonus
    largest_gradient: float = 0.0  # norm to which gradients are cut; 0 leaves them as they are
    # Where moves are made; see `Environment`. With "evolution" and "slopes", several neighbourhoods may be named, as in
    # "n7,n5", for the instances in turn.
    host: str = "local-search"
    neighbourhood: str = "n5"
    # The schedule that searches begin with: of a dispatching rule; or, in trials of whole tabu searches, a child of a
    # "population" of their instance, which was improved for up to so many steps (see starts.py).
    start: str = "fdd/mwkr"
    start_steps: int = 1_000_000
    begin_with: str = ""  # "evolution" and "slopes": the policy, by name or file, whose weights training begins with
    # Every so many batches, the policy searches on the same random instances; the best one is kept. An empty size is
    # the first of `sizes`.
    validation_size: str = ""
    validation_instances: int = 100
    validation_steps: int = 500
    validation_every: int = 10
    seed: int = 0  # of everything; same seed, same numbers, on the same number of processes and threads
    policy: AnyConfig = field(default_factory=lambda: PolicyConfig(normalisation="running"))  # the architecture

    def __post_init__(self) -> None:
        check_options(self, "", _LIMITS, _CHOICES)
        if not self.sizes:
            raise L2SError("sizes must name at least one size, such as 10x10")
        for text in (*self.sizes, self.validation_size or self.sizes[0]):
            parse_size(text)
        known = [feature.name.lower() for feature in MoveFeature]
        for name in self.features:
            if name not in known:
                raise unknown_name("move feature", name, known)
        trained = ALGORITHMS[self.algorithm].policy
        if not isinstance(self.policy, trained):
            raise L2SError(
                f"algorithm {self.algorithm} trains networks of kind {trained.network}, not {self.policy.network}"
            )
        for option, chosen in (("start population", self.start == POPULATION), ("begin_with", self.begin_with)):
            if chosen and trained is not MovePolicyConfig:
                raise L2SError(f"{option} goes with algorithms that try out whole searches, not with {self.algorithm}")
        if self.start == POPULATION and self.host != "tabu":
            raise L2SError(f"start population goes with host tabu, not with {self.host}")
        if self.steps < self.horizon:
            raise L2SError(f"steps ({self.steps}) must not be fewer than the horizon ({self.horizon})")

    def with_changes(self, changes: Mapping[str, Any]) -> TrainingConfig:
        """The same with some options changed; `policy` is a table of architecture options to change."""
        known = [option.name for option in fields(self)]
        for name in changes:
            if name not in known:
                raise unknown_name("training option", name, known)
        changes = dict(changes)
        if "policy" in changes:
            changes["policy"] = _changed(self.policy, check(changes["policy"], dict, "policy"))
        if isinstance(changes.get("sizes"), str):
            changes["sizes"] = changes["sizes"].split(",")
        for name in ("sizes", "features"):
            if isinstance(changes.get(name), list):
                changes[name] = tuple(changes[name])
        return replace(self, **changes)

    def to_dict(self) -> dict[str, Any]:
        """For a JSON header; `with_changes` reads it."""
        policy = {"network": self.policy.network, **self.policy.to_dict()}
        return asdict(self) | {"sizes": list(self.sizes), "features": list(self.features), "policy": policy}


def _changed(policy: AnyConfig, changes: Mapping[str, Any]) -> AnyConfig:
    """An architecture with some options changed; another kind of network begins with the defaults of that kind."""
    changes = dict(changes)
    network = check(changes.pop("network", policy.network), str, "network")
    if network not in ARCHITECTURES:
        raise unknown_name("network", network, ARCHITECTURES)
    options = policy.to_dict() if network == policy.network else {}
    return ARCHITECTURES[network].from_dict(options | changes)


PRESETS = {
    "paper": TrainingConfig(),
    "graph": TrainingConfig(
        sizes=("10x10", "15x10", "15x15", "20x10", "20x15"),
        batches=120,
        steps=200,
        horizon=1,
        learning_rate=1e-3,
        decay=True,
        algorithm="imitation",
        validation_size="15x15",
        validation_instances=200,
        policy=GraphPolicyConfig(),
    ),
    "fast": TrainingConfig(
        sizes=("10x10", "15x15", "20x15", "20x10", "30x15", "20x20"),
        batches=30,
        batch_size=24,
        algorithm="evolution",
        validation_size="15x15",
        validation_instances=200,
        validation_every=5,
        policy=MovePolicyConfig(margin=2.0),
    ),
    "fast-moves": TrainingConfig(
        sizes=("15x15", "20x15", "20x20", "15x15", "20x15", "20x20", "30x15", "30x20", "20x10/2", "20x15/2", "10x10"),
        batches=14,
        batch_size=800,
        steps=5000,
        learning_rate=1.8,
        decay=True,
        algorithm="slopes",
        features=(
            "change", "above_best", "recency_16", "recency_64", "recency_512", "duration_u", "duration_v",
            "slack_after_u", "slack_after_v", "returns", "moved_16_u", "moved_16_v", "moved_128_u", "moved_128_v",
            "as_incumbent", "shorter_path",
        ),
        host="tabu",
        neighbourhood="n7,n5",
        validation_size="20x15",
        validation_instances=400,
        validation_steps=2000,
        validation_every=2,
        policy=MovePolicyConfig(margin=0.6, drift=True),
    ),
}  # fmt: skip
PRESETS["polish"] = replace(
    PRESETS["fast-moves"],
    sizes=("15x15", "20x20", "20x10/2", "20x15", "30x20", "20x15/2"),
    batches=24,
    batch_size=320,
    steps=8000,
    learning_rate=1.4,
    features=(*PRESETS["fast-moves"].features, "as_drawn_to"),
    neighbourhood="n7",
    start=POPULATION,
    start_steps=2_000_000,
    begin_with="l2s-fast",
    validation_size="20x20",
    validation_instances=320,
    validation_steps=8000,
    validation_every=4,
)


def preset(name: str) -> TrainingConfig:
    """A preset by name."""
    if name not in PRESETS:
        raise unknown_name("preset", name, list(PRESETS))
    return PRESETS[name]
