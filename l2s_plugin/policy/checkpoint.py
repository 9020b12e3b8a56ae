"""Policies on disk: a safetensors file whose header says everything about the policy; see docs/policies.md.

Never pickle, and no torch: listing policies stays quick, and a file from a stranger can do nothing but be refused.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from l2s_plugin.errors import L2SError, PolicyError
from l2s_plugin.policy import tensor_file
from l2s_plugin.policy.config import ARCHITECTURES, AnyConfig

FORMAT = "l2s-policy"
VERSION = 1
SUFFIX = ".safetensors"
_GATHERED = ("running_mean", "running_var", "num_batches_tracked")  # in training, not learned
_NAMED = 3  # how many wrong tensors a message names
_HEADER = {"architecture": dict, "record": dict, "host": dict, "neighbourhoods": list[str] | None}


@dataclass(frozen=True, eq=False)
class Policy:
    """A network and its weights, and where they come from."""

    name: str  # what users call it
    config: AnyConfig  # the architecture
    weights: Mapping[str, NDArray[Any]] = field(repr=False)  # under the names of the network's `state_dict`
    record: Mapping[str, Any] = field(default_factory=dict, repr=False)  # how it was trained, as its trainer says
    host: Mapping[str, Any] = field(default_factory=dict, repr=False)  # the search it was trained in
    neighbourhoods: tuple[str, ...] | None = None  # whose moves it can score; None: all whose moves are pairs
    source: str = ""  # the file it was read from

    @property
    def n_parameters(self) -> int:
        """How many numbers were learned."""
        shapes = self.config.shapes().items()
        return sum(math.prod(shape) for name, shape in shapes if not name.endswith(_GATHERED))

    def check_neighbourhood(self, neighbourhood: str) -> None:
        """Raise when the policy does not know how to score these moves."""
        if self.neighbourhoods is not None and neighbourhood not in self.neighbourhoods:
            known = ", ".join(self.neighbourhoods) or "none"
            raise PolicyError(
                f"policy {self.name!r} cannot score the moves of neighbourhood {neighbourhood!r}; it knows: {known}"
            )

    def to_dict(self) -> dict[str, Any]:
        """Everything but the weights, for listings."""
        return {
            "name": self.name,
            "source": self.source,
            "network": self.config.network,
            "architecture": self.config.to_dict(),
            "parameters": self.n_parameters,
            "neighbourhoods": None if self.neighbourhoods is None else list(self.neighbourhoods),
            "host": dict(self.host),
            "record": dict(self.record),
        }


def save_policy(
    path: str | Path,
    config: AnyConfig,
    weights: Mapping[str, Any],
    record: Mapping[str, Any] | None = None,
    *,
    host: Mapping[str, Any] | None = None,
    neighbourhoods: Sequence[str] | None = None,
) -> None:
    """Write a checkpoint; the file is whole or not there, and what `load_policy` would refuse is not written.

    Parameters
    ----------
    config, weights
        Architecture and tensors, numpy or torch, named as in the network's `state_dict`.
    record
        Training record for listings, anything JSON can hold: command, seed, hours, summary of the curve, ...
    host
        The search it was trained in, for example `{"method": "local-search", "neighbourhood": "n5"}`.
    neighbourhoods
        The only neighbourhoods it can score; None for any with pairs of operations as moves.
    """
    arrays = checked_weights(config, weights, str(path))
    contents = {
        "architecture": config.to_dict(),
        "record": dict(record or {}),
        "host": dict(host or {}),
        "neighbourhoods": None if neighbourhoods is None else list(neighbourhoods),
    }
    try:
        texts = {key: json.dumps(value, allow_nan=False) for key, value in contents.items()}
    except (TypeError, ValueError) as error:
        raise PolicyError(f"{path}: the header can hold only what JSON can: {error}") from error
    tensor_file.write(path, arrays, {"format": FORMAT, "version": str(VERSION), "network": config.network} | texts)


def load_policy(path: str | Path, name: str | None = None) -> Policy:
    """Read and check a checkpoint; its name is that of the file unless one is given."""
    path = Path(path)
    raw, header = tensor_file.read(path)
    if header.get("format") != FORMAT:
        raise PolicyError(f"{path}: a safetensors file, but not a policy (its header has no format {FORMAT!r})")
    if header.get("version") != str(VERSION):
        raise PolicyError(f"{path}: format version {header.get('version')!r}, expected {str(VERSION)!r}")
    architecture = ARCHITECTURES.get(header.get("network", ""))
    if architecture is None:
        expected = " or ".join(repr(name) for name in ARCHITECTURES)
        raise PolicyError(f"{path}: a network of kind {header.get('network')!r}, expected {expected}")
    values = tensor_file.parse_texts(path, header, _HEADER)
    try:
        config = architecture.from_dict(values["architecture"])
    except L2SError as error:
        raise PolicyError(f"{path}: {error}") from error
    return Policy(
        name=name or path.name.removesuffix(SUFFIX),
        config=config,
        weights=checked_weights(config, config.completed(raw), str(path)),
        record=values["record"],
        host=values["host"],
        neighbourhoods=None if values["neighbourhoods"] is None else tuple(values["neighbourhoods"]),
        source=str(path),
    )


def _as_array(weight: Any) -> NDArray[Any]:
    """A numpy array of float32 or, for counts, int64; torch tensors are recognised without importing torch."""
    if hasattr(weight, "detach"):
        weight = weight.detach().cpu().numpy()
    array = np.asarray(weight)
    return array.astype(np.int64 if array.dtype.kind in "iu" else np.float32)


def checked_weights(config: AnyConfig, weights: Mapping[str, Any], source: str) -> dict[str, NDArray[Any]]:
    """The weights, numpy or torch, as arrays; raises when they are not those of the architecture, or not finite."""
    expected = config.shapes()
    problems = {
        "missing": [repr(name) for name in expected if name not in weights],
        "not expected": [repr(name) for name in weights if name not in expected],
        "shape of": [
            f"{name!r} is {list(weights[name].shape)}, not {list(shape)}"
            for name, shape in expected.items()
            if name in weights and tuple(weights[name].shape) != shape
        ],
    }
    told = [
        f"{what} {', '.join(names[:_NAMED])}" + (f" and {len(names) - _NAMED} more" if len(names) > _NAMED else "")
        for what, names in problems.items()
        if names
    ]
    if told:
        raise PolicyError(f"{source}: the tensors do not fit the architecture: {'; '.join(told)}")
    arrays = {name: _as_array(weight) for name, weight in weights.items()}
    for name, array in arrays.items():
        bad = array.size - np.count_nonzero(np.isfinite(array))
        if bad:
            raise PolicyError(f"{source}: tensor {name!r} has {bad} weights that are not finite numbers")
    return arrays
