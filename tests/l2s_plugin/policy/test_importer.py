"""The importer for the checkpoints of the paper's authors: faithful to theirs, closed to everything else."""

from __future__ import annotations

import io
import pickle
import zipfile
from collections import OrderedDict
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from l2s_plugin.errors import L2SError, PolicyError
from l2s_plugin.policy.checkpoint import load_policy
from l2s_plugin.policy.config import PolicyConfig
from l2s_plugin.policy.importer import import_policy, read_authors_file
from tests.policies import random_weights
from tests.reference import FOLDER, GOLDEN, golden_cases

torch = pytest.importorskip("torch")

AUTHORS = FOLDER / "l2s_authors_10x10.pth"
needs_authors = pytest.mark.skipif(not AUTHORS.exists(), reason="reference data is not here")
SMALL = PolicyConfig(width=8, layers=2, action_width=6, action_layers=2)


def authors_weights(config: PolicyConfig = SMALL, seed: int = 0) -> OrderedDict:
    """Random weights under the names and in the shapes of the authors' files."""
    gin = {"linear1": "nn.0", "norm": "nn.1", "linear2": "nn.3"}
    gat = {"att_src": "att_l", "att_dst": "att_r", "bias": "bias", "lin.weight": "lin_l.weight"}
    theirs: OrderedDict = OrderedDict()
    for name, weight in random_weights(config, seed).items():
        module, _, layer, part, *rest = name.split(".")
        tensor = torch.as_tensor(weight)
        if module == "tpm":
            theirs[f"embedding_gin.GIN_layers.{layer}.eps"] = torch.zeros(1)
            theirs[f"embedding_gin.GIN_layers.{layer}.{gin[part]}.{rest[0]}"] = tensor
        elif module == "cam":
            group = f"embedding_dghan.DGHAN_layers.{layer}.{ {'job': 'opsgrp', 'machine': 'mchgrp'}[part] }_conv"
            theirs[f"{group}.{gat['.'.join(rest)]}"] = tensor
            if rest == ["lin", "weight"]:
                theirs[f"{group}.lin_r.weight"] = tensor.clone()
        else:
            theirs[f"policy.{int(layer) // 2}.{int(layer) % 2 * 2}.{part}"] = tensor
    return theirs


@pytest.mark.parametrize(
    "config",
    [
        SMALL,
        PolicyConfig(width=12, layers=1, heads=3, embedding="cam", action_width=4, action_layers=1),
        PolicyConfig(width=4, layers=3, embedding="tpm", action_width=4, action_layers=3),
    ],
)
def test_architecture_is_read_off_the_shapes_and_weights_keep_their_values(config, tmp_path):
    torch.save(authors_weights(config), tmp_path / "theirs.pth")
    policy = import_policy(tmp_path / "theirs.pth", tmp_path / "ours.safetensors")
    assert policy.config == replace(config, normalisation="running")
    assert policy.name == "ours"
    for name, weight in random_weights(config).items():
        assert np.array_equal(policy.weights[name], weight)
    assert policy.record["imported"] == "theirs.pth"
    assert policy.host["neighbourhood"] == "n5"
    assert load_policy(tmp_path / "ours.safetensors").record == policy.record


def without(name: str):
    return lambda weights: weights.pop(name)


def instead(name: str, tensor):
    return lambda weights: weights.update({name: tensor})


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (without("policy.0.0.bias"), "missing 'action.layers.0.bias'"),
        (without("policy.0.0.weight"), "no action network"),
        (without("embedding_gin.GIN_layers.0.nn.0.weight"), "first layer is missing"),
        (instead("value.0.weight", torch.zeros(3)), "'value.0.weight' is not one of the paper's network"),
        (instead("policy.0.0.weight", torch.zeros(6)), "shape of 'action.layers.0.weight'"),
        (instead("policy.0.0.weight", torch.tensor(0.0)), "has no matrix"),
        (instead("policy.9999999.0.weight", torch.zeros(6, 6)), "from 1 to 64"),
        (instead("embedding_gin.GIN_layers.0.eps", torch.ones(1)), "expected 0"),
        (instead("embedding_gin.GIN_layers.0.eps", torch.ones(2)), "not in the layout"),
        (instead("policy.0.0.bias", torch.full((6,), torch.nan)), "not finite"),
        (instead("embedding_dghan.DGHAN_layers.0.opsgrp_conv.lin_r.weight", torch.zeros(8, 3)), "differ"),
        (instead("policy.0.0.bias", torch.zeros(6, device="meta")), "no plain tensor"),
        (instead("policy.0.0.bias", torch.zeros(6).to_sparse()), "no plain tensor"),
        (instead("policy.0.0.bias", torch.zeros(6, dtype=torch.bfloat16)), "no plain tensor"),
        (instead("policy.0.0.weight", torch.zeros(1, 1).expand(4096, 4096)), "far larger than the file"),
    ],
)
def test_other_networks_are_refused_in_one_line(change, expected, tmp_path):
    weights = authors_weights()
    change(weights)
    torch.save(weights, tmp_path / "other.pth")
    with pytest.raises(PolicyError) as caught:
        import_policy(tmp_path / "other.pth", tmp_path / "out.safetensors")
    assert expected in str(caught.value)
    assert "\n" not in str(caught.value)
    assert not (tmp_path / "out.safetensors").exists()


class Bomb:
    """Would leave a trace if a pickle of it were opened."""

    def __reduce__(self):
        return Path.touch, (Path("exploded"),)


def saved(content) -> bytes:
    stream = io.BytesIO()
    torch.save(content, stream)
    return stream.getvalue()


def compressed(archive: bytes) -> bytes:
    """The same members, deflated."""
    stream = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(archive)) as old, zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as new:
        for name in old.namelist():
            new.writestr(name, old.read(name))
    return stream.getvalue()


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b"", "nothing but tensors"),
        (b"a text", "nothing but tensors"),
        (pickle.dumps(Bomb()), "nothing but tensors"),
        (saved(Bomb()), "nothing but tensors"),
        (saved({"model": Bomb()}), "nothing but tensors"),
        (saved(authors_weights())[:3000], "nothing but tensors"),
        (saved({"model": authors_weights(), "epoch": 3}), "expected a table of tensors .*, got a table with 'model'"),
        (saved({}), "expected a table of tensors"),
        (saved([torch.zeros(3)]), "expected a table of tensors .*, got list"),
        (saved({3: torch.zeros(3)}), "expected a table of tensors"),
        (compressed(saved({"policy.0.0.weight": torch.zeros(1000, 1000)})), "compressed"),
    ],
)
def test_other_files_are_refused_and_nothing_in_them_is_executed(content, expected, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "strange.pth"
    path.write_bytes(content)
    with pytest.raises(PolicyError, match=expected) as caught:
        import_policy(path, tmp_path / "out.safetensors")
    assert "\n" not in str(caught.value)
    assert list(tmp_path.iterdir()) == [path]


def test_paths_that_do_not_work_are_refused_before_anything_is_read(tmp_path):
    with pytest.raises(PolicyError, match="No such file"):
        import_policy(tmp_path / "absent.pth", tmp_path / "out.safetensors")
    with pytest.raises(PolicyError, match="Is a directory"):
        import_policy(tmp_path, tmp_path / "out.safetensors")
    with pytest.raises(L2SError, match="no such directory"):
        import_policy(tmp_path / "absent.pth", tmp_path / "no" / "out.safetensors")
    for name in ("out.pth", "-"):
        with pytest.raises(PolicyError, match=r"ends in \.safetensors"):
            import_policy(tmp_path / "absent.pth", name)


@needs_authors
def test_the_authors_file_is_the_network_of_the_paper():
    config, weights = read_authors_file(AUTHORS)
    assert config == PolicyConfig(
        width=128, layers=4, action_width=128, action_layers=4, normalisation="running", features="paper"
    )
    assert read_authors_file(AUTHORS, "batch")[0].normalisation == "batch"
    assert sum(weight.size for name, weight in weights.items() if "batches" not in name) > 400_000


@pytest.fixture(scope="module")
def imported(tmp_path_factory):
    return import_policy(AUTHORS, tmp_path_factory.mktemp("policies") / "authors.safetensors")


@needs_authors
@pytest.mark.parametrize("mode", ["batch", "running"])
@pytest.mark.parametrize("case", golden_cases(), ids=lambda case: getattr(case, "name", None))
def test_the_imported_policy_gives_the_scores_of_the_authors_code(imported, case, mode):
    from l2s_plugin.policy.tpm_cam.scorer import PaperScorer
    from l2s_plugin.schedule import Schedule

    with np.load(GOLDEN, allow_pickle=False) as data:
        expected = data[f"{case.name}/scores_{mode}_statistics"]
    scorer = PaperScorer(replace(imported.config, normalisation=mode), imported.weights)
    schedule = Schedule.from_machine_orders(case.instance, case.machine_orders)
    (scores,) = scorer.scores_batch([schedule], [case.moves.T])
    assert scores == pytest.approx(expected, rel=1e-3)
