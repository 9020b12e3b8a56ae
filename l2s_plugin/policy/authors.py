"""The names that the paper's authors give to the weights of their network, and ours."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from l2s_plugin.errors import L2SError

_GIN = re.compile(r"embedding_gin\.GIN_layers\.(\d+)\.nn\.([013])\.(\w+)")
_GIN_PARTS = {"0": "linear1", "1": "norm", "3": "linear2"}
_GAT = re.compile(r"embedding_dghan\.DGHAN_layers\.(\d+)\.(opsgrp|mchgrp)_conv\.(att_l|att_r|bias|lin_l\.weight)")
_GAT_PARTS = {"opsgrp": "job", "mchgrp": "machine"}
_GAT_WEIGHTS = {"att_l": "att_src", "att_r": "att_dst", "bias": "bias", "lin_l.weight": "lin.weight"}
_ACTION = re.compile(r"policy\.(\d+)\.([02])\.(weight|bias)")
_EPS = re.compile(r"embedding_gin\.GIN_layers\.(\d+)\.eps")
_TWIN = re.compile(r"embedding_dghan\.DGHAN_layers\.(\d+)\.(opsgrp|mchgrp)_conv\.lin_r\.weight")


def map_authors_keys(weights: Mapping[str, Any]) -> dict[str, Any]:
    """Rename the weights of one of the authors' files to those of `PolicyNetwork`; the values are not touched.

    Left out are `eps` (which must be 0, as in the paper) and `lin_r.weight`, which is the same matrix as
    `lin_l.weight` (shared in the version of PyG that wrote the files).
    """
    mapped = {}
    for name, weight in weights.items():
        if _TWIN.fullmatch(name):
            continue
        if _EPS.fullmatch(name):
            if (weight != 0).any():
                raise L2SError(f"weight {name!r} is not that of the paper, expected 0")
            continue
        mapped[_map_name(name)] = weight
    return mapped


def _map_name(name: str) -> str:
    if found := _GIN.fullmatch(name):
        layer, part, kind = found.groups()
        return f"tpm.layers.{layer}.{_GIN_PARTS[part]}.{kind}"
    if found := _GAT.fullmatch(name):
        layer, part, kind = found.groups()
        return f"cam.layers.{layer}.{_GAT_PARTS[part]}.{_GAT_WEIGHTS[kind]}"
    if found := _ACTION.fullmatch(name):
        block, place, kind = found.groups()
        return f"action.layers.{2 * int(block) + int(place) // 2}.{kind}"
    raise L2SError(f"weight {name!r} is not one of the paper's network")
