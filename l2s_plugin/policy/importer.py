"""Reads the checkpoints that the paper's authors publish (`.pth`) and turns them into ours.

Such a file is a pickle. It is opened with `weights_only=True`, which builds tensors and nothing else, and only here.
"""

from __future__ import annotations

import hashlib
import io
import re
import warnings
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from l2s_plugin.errors import L2SError, PolicyError, missing_extra
from l2s_plugin.files import check_writable, read_bytes
from l2s_plugin.policy.checkpoint import Policy, checked_weights, load_policy, save_policy
from l2s_plugin.policy.config import PolicyConfig

AUTHORS_HOST = {"method": "local-search", "neighbourhood": "n5", "init": "fdd/mwkr", "forbid_undo": True}
# The authors train and test with the statistics of a whole batch of graphs: 64 in training, all instances of a group in
# their tests. Those gathered in training stand for them, those of one graph alone do not (docs/policies.md).
NORMALISATION = "running"
_MOST_GROWTH = 4  # bytes of tensors per byte of the file: twins share theirs

_GIN = re.compile(r"embedding_gin\.GIN_layers\.(\d+)\.nn\.([013])\.(\w+)")
_GIN_PARTS = {"0": "linear1", "1": "norm", "3": "linear2"}
_GAT = re.compile(r"embedding_dghan\.DGHAN_layers\.(\d+)\.(opsgrp|mchgrp)_conv\.(att_[lr]|bias|lin_[lr]\.weight)")
_GAT_PARTS = {
    "opsgrp": "job", "mchgrp": "machine",
    "att_l": "att_src", "att_r": "att_dst", "bias": "bias", "lin_l.weight": "lin.weight", "lin_r.weight": "lin.weight",
}  # fmt: skip
_ACTION = re.compile(r"policy\.(\d+)\.([02])\.(weight|bias)")
_EPS = re.compile(r"embedding_gin\.GIN_layers\.(\d+)\.eps")


def import_policy(source: str | Path, output: str | Path, normalisation: str = NORMALISATION) -> Policy:
    """Turn a checkpoint of the paper's authors into a policy file, and return the policy as read back from it."""
    check_writable(output)
    if str(output) == "-" or Path(output).suffix != ".safetensors":
        raise PolicyError(f"{output}: the name of a policy file ends in .safetensors")
    config, weights = read_authors_file(source, normalisation)
    record = {
        "imported": Path(source).name,
        "sha256": hashlib.sha256(read_bytes(source, PolicyError)).hexdigest(),
        "note": "trained elsewhere, with the code of the paper's authors; how is not recorded in their file",
    }
    save_policy(output, config, weights, record, host=AUTHORS_HOST)
    return load_policy(output)


def read_authors_file(path: str | Path, normalisation: str = NORMALISATION) -> tuple[PolicyConfig, dict[str, Any]]:
    """Architecture and tensors, under our names, of a `.pth` file in the authors' layout."""
    weights = _load_tensors(path)
    try:
        mapped = map_authors_keys(weights)
        config = _infer_config(mapped, normalisation)
    except (L2SError, ValueError, RuntimeError) as error:  # the latter two about an eps that is no single number
        raise PolicyError(f"{path}: not in the layout of the paper's authors: {error}") from error
    return config, checked_weights(config, mapped, str(path))


def map_authors_keys(weights: Mapping[str, Any]) -> dict[str, Any]:
    """Rename the weights of one of the authors' files to those of `PolicyNetwork`; the values are not touched.

    Left out are `eps` (which must be 0, as in the paper) and `lin_r.weight`, which is the same matrix as
    `lin_l.weight` (shared in the version of PyG that wrote the files).
    """
    mapped: dict[str, Any] = {}
    for name, weight in weights.items():
        if _EPS.fullmatch(name):
            if (weight != 0).any():
                raise L2SError(f"weight {name!r} is not that of the paper, expected 0")
            continue
        twin = mapped.setdefault(_map_name(name), weight)
        if twin is not weight and (twin.shape != weight.shape or (twin != weight).any()):
            raise L2SError(f"{name!r} and its twin differ, which this network cannot express")
    return mapped


def _map_name(name: str) -> str:
    if found := _GIN.fullmatch(name):
        layer, part, kind = found.groups()
        return f"tpm.layers.{layer}.{_GIN_PARTS[part]}.{kind}"
    if found := _GAT.fullmatch(name):
        layer, part, kind = found.groups()
        return f"cam.layers.{layer}.{_GAT_PARTS[part]}.{_GAT_PARTS[kind]}"
    if found := _ACTION.fullmatch(name):
        block, place, kind = found.groups()
        return f"action.layers.{2 * int(block) + int(place) // 2}.{kind}"
    raise L2SError(f"weight {name!r} is not one of the paper's network")


def _load_tensors(path: str | Path) -> Mapping[str, Any]:
    """What the file holds, if that is nothing but plain tensors, no larger than the file says."""
    try:
        import torch
    except ImportError:
        raise missing_extra("torch", "learn") from None
    file = read_bytes(path, PolicyError)
    try:
        packed = zipfile.ZipFile(io.BytesIO(file)).infolist() if zipfile.is_zipfile(io.BytesIO(file)) else []
        if sum(member.file_size for member in packed) > len(file):  # torch stores, it never compresses
            raise PolicyError(f"{path}: compressed, expected a file as torch.save writes it")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about old file layouts: the reader is none the wiser
            content = torch.load(io.BytesIO(file), map_location="cpu", weights_only=True)
    except PolicyError:
        raise
    except Exception as error:  # whatever a damaged or hostile file provokes; torch may say a page about it
        reason = f"{type(error).__name__}: {' '.join(str(error).split()).partition('. ')[0][:120]}"
        raise PolicyError(f"{path}: not a PyTorch file that holds nothing but tensors ({reason})") from error
    table = content if isinstance(content, Mapping) else {}
    if not table or not all(isinstance(k, str) and isinstance(v, torch.Tensor) for k, v in table.items()):
        keys = ", ".join(repr(name) for name in list(table)[:3]) or "nothing"
        got = f"a table with {keys}" if content is table else type(content).__name__
        raise PolicyError(f"{path}: expected a table of tensors (a state_dict), got {got}")
    for name, tensor in table.items():
        if not _is_plain(tensor):
            raise PolicyError(f"{path}: {name[:60]!a} is no plain tensor of numbers in the file")
    if sum(tensor.numel() * tensor.element_size() for tensor in table.values()) > _MOST_GROWTH * len(file):
        raise PolicyError(f"{path}: the tensors are far larger than the file that should hold them")
    return table


def _is_plain(tensor: Any) -> bool:
    """Whether these are numbers in memory that numpy can hold: not sparse, not without values, not a view of signs."""
    import torch

    return (
        type(tensor) in (torch.Tensor, torch.nn.Parameter)
        and tensor.device.type == "cpu"
        and tensor.layout == torch.strided
        and not (tensor.is_quantized or tensor.is_nested or tensor.is_neg())
        and tensor.dtype in (torch.float64, torch.float32, torch.float16, torch.int64, torch.int32)
    )


def _infer_config(weights: Mapping[str, Any], normalisation: str) -> PolicyConfig:
    """The architecture, read off names and shapes; what they do not tell is as in the authors' code."""
    layers: dict[str, int] = {}  # of each module
    for module, _, layer, *_ in (name.split(".") for name in weights):
        layers[module] = max(layers.get(module, 0), int(layer) + 1)
    modules = [module for module in ("tpm", "cam") if module in layers]
    if not modules:
        raise PolicyError("there are no embedding layers")
    if "action.layers.0.weight" not in weights:
        raise PolicyError("there is no action network")
    first = "tpm.layers.0.linear1.weight" if "tpm" in modules else "cam.layers.0.job.lin.weight"
    attention = weights.get("cam.layers.0.job.att_src")
    try:
        width, action_width = weights[first].shape[0], weights["action.layers.0.weight"].shape[0]
        heads = 1 if attention is None else attention.shape[1]
    except (KeyError, IndexError):
        raise PolicyError("the first layer is missing or has no matrix") from None
    return PolicyConfig(
        width=width,
        layers=layers[modules[0]],
        heads=heads,
        embedding="both" if len(modules) == 2 else modules[0],
        normalisation=normalisation,
        action_width=action_width,
        action_layers=(layers["action"] + 1) // 2,
    )
