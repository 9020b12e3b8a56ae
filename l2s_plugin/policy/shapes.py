"""Which tensors a policy of a given architecture consists of, known without building the network."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from l2s_plugin.errors import PolicyError
from l2s_plugin.policy.config import AnyConfig, MovePolicyConfig, PolicyConfig

Shape = tuple[int, ...]

N_FEATURES = 3
N_MOVE_FEATURES = 27  # that of `l2s_plugin.kernels.move_rule`, which would load numba for a listing
_NAMED = 3  # how many wrong tensors a message names


def weight_shapes(config: AnyConfig) -> dict[str, Shape]:
    """Name and shape of every tensor, as in the `state_dict` of the network."""
    return _move_shapes(config) if isinstance(config, MovePolicyConfig) else _graph_shapes(config)


def _move_shapes(config: MovePolicyConfig) -> dict[str, Shape]:
    """As in `l2s_plugin.policy.move_network.MoveNetwork`."""
    shapes: dict[str, Shape] = {"rule": (N_MOVE_FEATURES,)}
    if config.drift:
        shapes["drift"] = (2, N_MOVE_FEATURES)
    return shapes


def _graph_shapes(config: PolicyConfig) -> dict[str, Shape]:
    """As in `l2s_plugin.policy.graph.network.PolicyNetwork`."""
    shapes: dict[str, Shape] = {}
    width, heads, q = config.width, config.heads, config.action_width
    for layer in range(config.layers):
        inputs = width if layer else N_FEATURES
        if config.has_tpm:
            home = f"tpm.layers.{layer}"
            shapes |= {f"{home}.linear1.weight": (width, inputs), f"{home}.linear1.bias": (width,)}
            shapes |= {f"{home}.norm.{part}": (width,) for part in ("weight", "bias", "running_mean", "running_var")}
            shapes |= {f"{home}.norm.num_batches_tracked": ()}
            shapes |= {f"{home}.linear2.weight": (width, width), f"{home}.linear2.bias": (width,)}
        for part in ("job", "machine") if config.has_cam else ():
            home = f"cam.layers.{layer}.{part}"
            attention = (1, heads, width // heads)
            shapes |= {f"{home}.att_src": attention, f"{home}.att_dst": attention}
            shapes |= {f"{home}.lin.weight": (width, inputs), f"{home}.bias": (width,)}
    for layer in range(2 * config.action_layers):
        inputs = q if layer else 2 * config.embedding_width
        shapes |= {f"action.layers.{layer}.weight": (q, inputs), f"action.layers.{layer}.bias": (q,)}
    return shapes


def is_statistic(name: str) -> bool:
    """Whether a tensor was gathered in training, not learned."""
    return name.endswith(("running_mean", "running_var", "num_batches_tracked"))


def count_parameters(config: AnyConfig) -> int:
    """How many numbers are learned."""
    total = 0
    for name, shape in weight_shapes(config).items():
        size = 1
        for extent in shape:
            size *= extent
        total += 0 if is_statistic(name) else size
    return total


def check_shapes(config: AnyConfig, weights: Mapping[str, Any], source: str) -> None:
    """Raise when `weights` (anything with a `shape`) are not those of the architecture, naming what is wrong."""
    expected = weight_shapes(config)
    missing = [repr(name) for name in expected if name not in weights]
    surplus = [repr(name) for name in weights if name not in expected]
    wrong = [
        f"{name!r} is {list(weights[name].shape)}, not {list(shape)}"
        for name, shape in expected.items()
        if name in weights and tuple(weights[name].shape) != shape
    ]
    problems = [
        f"{what} {_some(names)}"
        for what, names in (("missing", missing), ("not expected", surplus), ("shape of", wrong))
        if names
    ]
    if problems:
        raise PolicyError(f"{source}: the tensors do not fit the architecture: {'; '.join(problems)}")


def _some(names: list[str]) -> str:
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return ", ".join(names[:_NAMED]) + more
