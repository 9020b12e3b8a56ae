"""Reads the checkpoints that the paper's authors publish (`.pth`) and turns them into ours.

Such a file is a pickle. It is opened with `weights_only=True`, which builds tensors and nothing else, and only here.
"""

from __future__ import annotations

import hashlib
import re
import warnings
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from l2s_plugin.errors import L2SError, PolicyError, missing_extra
from l2s_plugin.files import check_writable, read_bytes
from l2s_plugin.policy.checkpoint import Policy, check_shapes, load_policy, save_policy
from l2s_plugin.policy.config import PolicyConfig

AUTHORS_HOST = {"method": "local-search", "neighbourhood": "n5", "init": "fdd/mwkr", "forbid_undo": True}
# The authors train and test with the statistics of a whole batch of graphs: 64 in training, all instances of a group in
# their tests. Those gathered in training stand for them, those of one graph alone do not (docs/policies.md).
NORMALISATION = "running"
_MOST_GROWTH = 4  # bytes of tensors per byte of the file: twins share theirs
_TWINS = ("lin_l.weight", "lin_r.weight")

_GIN = re.compile(r"embedding_gin\.GIN_layers\.(\d+)\.nn\.([013])\.(\w+)")
_GIN_PARTS = {"0": "linear1", "1": "norm", "3": "linear2"}
_GAT = re.compile(r"embedding_dghan\.DGHAN_layers\.(\d+)\.(opsgrp|mchgrp)_conv\.(att_l|att_r|bias|lin_l\.weight)")
_GAT_PARTS = {"opsgrp": "job", "mchgrp": "machine"}
_GAT_WEIGHTS = {"att_l": "att_src", "att_r": "att_dst", "bias": "bias", "lin_l.weight": "lin.weight"}
_ACTION = re.compile(r"policy\.(\d+)\.([02])\.(weight|bias)")
_EPS = re.compile(r"embedding_gin\.GIN_layers\.(\d+)\.eps")
_TWIN = re.compile(r"embedding_dghan\.DGHAN_layers\.(\d+)\.(opsgrp|mchgrp)_conv\.lin_r\.weight")


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
    for name, weight in weights.items():
        twin = weights.get(name.replace(*_TWINS)) if name.endswith(_TWINS[0]) else None
        if twin is not None and not bool((weight == twin).all() if weight.shape == twin.shape else False):
            raise PolicyError(f"{path}: {name!r} and its twin lin_r.weight differ, which this network cannot express")
    try:
        mapped = map_authors_keys(weights)
        config = _infer_config(mapped, normalisation)
    except (L2SError, ValueError, RuntimeError) as error:  # the latter two about an eps that is no single number
        raise PolicyError(f"{path}: not in the layout of the paper's authors: {error}") from error
    check_shapes(config, mapped, str(path))
    return config, mapped


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


def _load_tensors(path: str | Path) -> Mapping[str, Any]:
    try:
        import torch
    except ImportError:
        raise missing_extra("torch", "learn") from None
    size = len(read_bytes(path, PolicyError))
    try:
        _check_not_compressed(path, size)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about old file layouts: the reader is none the wiser
            content = torch.load(path, map_location="cpu", weights_only=True)
    except PolicyError:
        raise
    except Exception as error:  # whatever a damaged or hostile file provokes
        raise PolicyError(f"{path}: not a PyTorch file that holds nothing but tensors ({_reason(error)})") from error
    if (
        not isinstance(content, Mapping)
        or not content
        or not all(isinstance(k, str) and isinstance(v, torch.Tensor) for k, v in content.items())
    ):
        raise PolicyError(f"{path}: expected a table of tensors (a state_dict), got {_kind(content)}")
    for name, tensor in content.items():
        if not _is_plain(tensor):
            raise PolicyError(f"{path}: {name[:60]!a} is no plain tensor of numbers in the file")
    if sum(tensor.numel() * tensor.element_size() for tensor in content.values()) > _MOST_GROWTH * size:
        raise PolicyError(f"{path}: the tensors are far larger than the file that should hold them")
    return content


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


def _check_not_compressed(path: str | Path, size: int) -> None:
    """Torch stores, it never compresses: what unpacks to more than the file holds was not written by it."""
    if zipfile.is_zipfile(path):
        with zipfile.ZipFile(path) as archive:
            if sum(member.file_size for member in archive.infolist()) > size:
                raise PolicyError(f"{path}: compressed, expected a file as torch.save writes it")


def _infer_config(weights: Mapping[str, Any], normalisation: str) -> PolicyConfig:
    """The architecture, read off names and shapes; what they do not tell is as in the authors' code."""
    has_tpm, has_cam = (any(name.startswith(f"{module}.") for name in weights) for module in ("tpm", "cam"))
    if not (has_tpm or has_cam):
        raise PolicyError("there are no embedding layers")
    if "action.layers.0.weight" not in weights:
        raise PolicyError("there is no action network")
    first = "tpm.layers.0.linear1.weight" if has_tpm else "cam.layers.0.job.lin.weight"
    attention = weights.get("cam.layers.0.job.att_src")
    try:
        width, action_width = int(weights[first].shape[0]), int(weights["action.layers.0.weight"].shape[0])
        heads = 1 if attention is None else int(attention.shape[1])
    except (KeyError, IndexError):
        raise PolicyError("the first layer is missing or has no matrix") from None
    return PolicyConfig(
        width=width,
        layers=_count(weights, "tpm.layers" if has_tpm else "cam.layers"),
        heads=heads,
        embedding="both" if has_tpm and has_cam else "tpm" if has_tpm else "cam",
        normalisation=normalisation,
        action_width=action_width,
        action_layers=(_count(weights, "action.layers") + 1) // 2,
    )


def _count(weights: Mapping[str, Any], prefix: str) -> int:
    """How many layers have names that begin with `prefix`."""
    numbers = {int(name[len(prefix) + 1 :].partition(".")[0]) for name in weights if name.startswith(f"{prefix}.")}
    return max(numbers) + 1


def _reason(error: Exception) -> str:
    """The first sentence of what torch says, which may be a page long."""
    text = " ".join(str(error).split()).partition(". ")[0]
    return f"{type(error).__name__}: {text[:120]}" if text else type(error).__name__


def _kind(content: Any) -> str:
    if isinstance(content, Mapping):
        names = ", ".join(repr(name) for name in list(content)[:3])
        return f"a table with {names or 'nothing'}"
    return type(content).__name__
