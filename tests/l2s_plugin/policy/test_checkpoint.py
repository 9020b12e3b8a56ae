"""Checkpoints: what is written is read back, other tools can read it, and nothing else gets in."""

from __future__ import annotations

import json
import pickle
import struct
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from l2s_plugin.errors import L2SError, PolicyError, UnknownNameError
from l2s_plugin.hookspecs import hookimpl
from l2s_plugin.policy import tensor_file
from l2s_plugin.policy.checkpoint import load_policy, save_policy
from l2s_plugin.policy.config import MovePolicyConfig, PolicyConfig
from l2s_plugin.policy.library import find_policy, installed_policies
from l2s_plugin.registry import Registry
from l2s_plugin.specs import PolicySpec
from tests.policies import TINY, random_policy, random_weights, write_random_policy

CONFIGS = [
    PolicyConfig(),
    TINY,
    PolicyConfig(width=8, layers=3, heads=4, embedding="cam", action_width=5, action_layers=2),
    PolicyConfig(width=6, layers=1, embedding="tpm", normalisation="running", features="scaled", aggregation="sum"),
]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return write_random_policy(tmp_path / "tiny.safetensors")


def refusal(path: Path) -> str:
    """The one line that says why a file cannot be used."""
    with pytest.raises(PolicyError) as caught:
        load_policy(path)
    message = str(caught.value)
    assert "\n" not in message
    assert str(path) in message
    return message


@pytest.mark.parametrize("config", CONFIGS)
def test_shapes_are_those_of_the_reference_network(config):
    pytest.importorskip("torch_geometric")
    from l2s_plugin.policy.tpm_cam.network import PolicyNetwork

    network = PolicyNetwork(config)
    assert config.shapes() == {name: tuple(tensor.shape) for name, tensor in network.state_dict().items()}
    assert random_policy(config).n_parameters == sum(parameter.numel() for parameter in network.parameters())


@pytest.mark.parametrize("config", CONFIGS)
def test_what_is_saved_is_loaded(config, tmp_path):
    weights = random_weights(config, seed=3)
    record = {"command": "train --size 10x10", "seed": 7, "hours": 0.5, "curve": [[0, 12.5], [100, 9.25]], "ü": None}
    host = {"method": "tabu", "neighbourhood": "n6"}
    path = tmp_path / "best.v2.safetensors"
    save_policy(path, config, weights, record, host=host, neighbourhoods=["n5", "n6"])
    policy = load_policy(path)
    assert (policy.name, policy.config, policy.source) == ("best.v2", config, str(path))
    assert (policy.record, policy.host, policy.neighbourhoods) == (record, host, ("n5", "n6"))
    assert policy.weights.keys() == weights.keys()
    for name, weight in weights.items():
        assert policy.weights[name].dtype == weight.dtype
        assert np.array_equal(policy.weights[name], weight)
    assert list(tmp_path.iterdir()) == [path]  # nothing is left from writing aside


def test_the_same_policy_is_the_same_file(tmp_path):
    one, two = (write_random_policy(tmp_path / name) for name in ("one.safetensors", "two.safetensors"))
    assert one.read_bytes() == two.read_bytes()


def test_the_safetensors_library_reads_our_files_and_we_read_its(file, tmp_path):
    numpy = pytest.importorskip("safetensors.numpy")
    safetensors = pytest.importorskip("safetensors")
    policy = load_policy(file)
    theirs = numpy.load_file(file)
    assert all(np.array_equal(theirs[name], weight) for name, weight in policy.weights.items())
    with safetensors.safe_open(file, "numpy") as opened:
        metadata = opened.metadata()
    assert json.loads(metadata["architecture"]) == TINY.to_dict()
    again = tmp_path / "again.safetensors"
    numpy.save_file(theirs, again, metadata)
    assert all(np.array_equal(load_policy(again).weights[name], weight) for name, weight in policy.weights.items())


@pytest.mark.parametrize(("config", "name", "value"), [(TINY, "hints", True), (MovePolicyConfig(), "hidden", 16)])
def test_older_headers_are_read_unless_they_ask_for_what_is_gone(config, name, value, tmp_path):
    """One line that names it, in place of a policy that would select something else."""
    path = tmp_path / "old.safetensors"
    save_policy(path, config, random_weights(config))
    arrays, header = tensor_file.read(path)
    for given in (type(value)(0), value):
        architecture = json.dumps(config.to_dict() | {name: given})
        tensor_file.write(path, arrays, header | {"architecture": architecture})
        if not given:
            assert load_policy(path).config == config
    assert refusal(path).endswith(f"policies with {name} {value!r} are no longer supported")


def test_torch_tensors_and_other_precisions_are_stored_as_float32(tmp_path):
    torch = pytest.importorskip("torch")
    weights = {name: torch.as_tensor(weight).double() for name, weight in random_weights().items()}
    weights = {name: w.long() if name.endswith("tracked") else w.requires_grad_() for name, w in weights.items()}
    save_policy(tmp_path / "a.safetensors", TINY, weights)
    loaded = load_policy(tmp_path / "a.safetensors").weights
    assert {str(array.dtype) for array in loaded.values()} == {"float32", "int64"}


def test_reading_needs_no_torch(file):
    code = f"""
import sys
from l2s_plugin.policy import tensor_file,  load_policy
policy = load_policy({str(file)!r})
print(policy.n_parameters, {{"torch", "torch_geometric", "numba", "safetensors"}} & {{*sys.modules}})
"""
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.split() == [str(random_policy().n_parameters), "set()"]


def test_a_failed_save_leaves_the_old_file(file):
    before = file.read_bytes()
    with pytest.raises(PolicyError, match="only what JSON can"):
        save_policy(file, TINY, random_weights(), {"oops": object()})
    with pytest.raises(PolicyError, match="only what JSON can"):
        save_policy(file, TINY, random_weights(), {"oops": float("nan")})
    with pytest.raises(PolicyError, match=r"not finite"):
        save_policy(file, TINY, random_weights() | {"action.layers.0.bias": np.full(8, np.inf, np.float32)})
    with pytest.raises(PolicyError, match="architecture"):
        save_policy(file, PolicyConfig(width=16), random_weights())
    assert file.read_bytes() == before
    with pytest.raises(L2SError, match="cannot write"):
        save_policy(file.parent / "no" / "where.safetensors", TINY, random_weights())


def test_tensors_of_another_architecture_are_named(tmp_path):
    """Written by the library, which does not know what belongs into a policy."""
    numpy = pytest.importorskip("safetensors.numpy")
    header = {"format": "l2s-policy", "version": "1", "network": "tpm+cam"}
    header |= {"architecture": json.dumps(TINY.to_dict()), "record": "{}", "host": "{}", "neighbourhoods": "null"}
    path = tmp_path / "x.safetensors"

    def message(change: dict, drop: tuple = (), **changes: str) -> str:
        weights = {name: w for name, w in (random_weights() | change).items() if name not in drop}
        numpy.save_file(weights, path, {key: text for key, text in (header | changes).items() if text})
        return refusal(path)

    assert "missing 'action.layers.1.bias'" in message({}, ("action.layers.1.bias",))
    assert "not expected 'value.weight'" in message({"value.weight": np.zeros(3, np.float32)})
    ill = message({"tpm.layers.0.linear1.weight": np.zeros((8, 4), np.float32)})
    assert "shape of 'tpm.layers.0.linear1.weight' is [8, 4], not [8, 3]" in ill
    many = message({}, architecture=json.dumps(TINY.to_dict() | {"embedding": "tpm"}))
    assert "more" in many
    assert len(many) < 700
    bad = random_weights()["action.layers.0.weight"].copy()
    bad[0, 1] = np.nan
    assert "'action.layers.0.weight' has 1 weights that are not finite" in message({"action.layers.0.weight": bad})
    assert "unknown architecture key 'widht'; did you mean width" in message({}, architecture='{"widht": 8}')
    assert "width must be a whole number" in message({}, architecture='{"width": 1e9}')
    assert "damaged header: architecture must be a table, got [1]" in message({}, architecture="[1]")
    assert "damaged header: architecture:1: not JSON" in message({}, architecture="{")
    assert "damaged header: record is missing" in message({}, record="")
    assert "format version '2', expected '1'" in message({}, version="2")
    assert "network of kind 'mlp', expected 'tpm+cam' or 'graph' or 'moves'" in message({}, network="mlp")
    assert "not a policy" in message({}, format="pt")


@pytest.mark.parametrize("keep", [0, 1, 7, 8, 9, 100, -1, -100])
def test_a_truncated_file_is_refused(file, keep):
    file.write_bytes(file.read_bytes()[:keep])
    message = refusal(file)
    assert "truncated" in message or "not a safetensors file" in message


def test_a_file_with_something_behind_its_end_is_refused(file):
    file.write_bytes(file.read_bytes() + b"more")
    assert "do not fill the file" in refusal(file)


@pytest.mark.parametrize("length", [0x0280, 0x0480, 0x0580, 0x4B50])
def test_a_header_whose_length_looks_like_the_beginning_of_a_pickle_is_read(length, tmp_path):
    """These lengths begin with the bytes of protocols 2, 4 and 5 and of a zip archive."""
    path = tmp_path / "file.safetensors"
    tensor_file.write(path, {}, {"note": ""})
    empty = len(path.read_bytes().rstrip()) - 8
    tensor_file.write(path, {}, {"note": "x" * (length - empty)})
    assert path.read_bytes()[:8] == struct.pack("<Q", length)
    assert tensor_file.read(path)[1] == {"note": "x" * (length - empty)}


class Bomb:
    """Would leave a trace if a pickle of it were opened."""

    def __reduce__(self):
        return Path.touch, (Path("exploded"),)


def with_header(header: bytes) -> bytes:
    return struct.pack("<Q", len(header)) + header


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b"", "not a safetensors file"),
        (b"# Policies\n\nThis is a text.", "not a safetensors file"),
        (b"\xff" * 64, "not a safetensors file"),
        (struct.pack("<Q", 2**63) + b"{}", "not a safetensors file"),
        (struct.pack("<Q", 5_000_000) + b"{}", "truncated"),
        (pickle.dumps(Bomb(), protocol=2), "never opened"),
        (pickle.dumps(Bomb()), "never opened"),
        (b"PK\x03\x04" + b"\0" * 60, "never opened"),
        (with_header(b"not json"), "no JSON"),
        (with_header(b"[" * 100_000), "no JSON"),
        (with_header(b"[]"), "no JSON object"),
        (with_header(b'{"a": 1, "a": 2}'), "no JSON"),
        (with_header(b'{"__metadata__": {"format": 1}}'), "__metadata__: format must be text"),
        (with_header(b'{"__metadata__": 3}'), "__metadata__ must be a table"),
        (with_header(b'{"a": 1}'), "described wrongly"),
        (with_header(b'{"a": {"dtype": "F32", "shape": [-1], "data_offsets": [0, 4]}}'), "described wrongly"),
        (with_header(b'{"a": {"dtype": "F32", "shape": [1.5], "data_offsets": [0, 4]}}'), "described wrongly"),
        (with_header(b'{"a": {"dtype": "O", "shape": [1], "data_offsets": [0, 4]}}'), "has type 'O'"),
        (with_header(b'{"a": {"dtype": ["F32"], "shape": [1], "data_offsets": [0, 4]}}'), "dtype must be text"),
        (with_header(b'{"a": {"dtype": "F32", "shape": [1], "data_offsets": [8, 4]}}'), "does not fit"),
        (with_header(b'{"a": {"dtype": "F32", "shape": [99999999999], "data_offsets": [0, 4]}}'), "does not fit"),
        (
            with_header(b'{"a": {"dtype": "F32", "shape": [250000000000], "data_offsets": [0, 1000000000000]}}'),
            "truncated",
        ),
        (
            with_header(b'{"a": {"dtype": "F32", "shape": [0, %d, %d], "data_offsets": [0, 0]}}' % (2**62, 2**62)),
            "which nothing can have",
        ),
        (
            with_header(b'{"a": {"dtype": "F32", "shape": [%s], "data_offsets": [0, 4]}}' % b",".join([b"1"] * 65))
            + b"\0\0\0\0",
            "which nothing can have",
        ),
        (
            with_header(
                b'{"a": {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]},'
                b' "b": {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]}}'
            )
            + b"\0" * 16,
            "do not fill the file",
        ),
        (
            with_header(
                b'{"__metadata__": {"format": "l2s-policy", "version": "1", "network": "moves", "architecture": "'
                + b"[" * 200
                + b"]" * 200
                + b'"}}'
            ),
            "nested too deep",
        ),
        (with_header(b"{}"), "not a policy"),
    ],
)
def test_what_is_not_a_checkpoint_is_refused_in_one_line(content, expected, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "strange.safetensors"
    path.write_bytes(content)
    assert expected in refusal(path)
    assert list(tmp_path.iterdir()) == [path]


def test_files_that_cannot_be_read(tmp_path):
    assert "Is a directory" in refusal(tmp_path)
    assert "No such file" in refusal(tmp_path / "absent.safetensors")


def plugin(**targets: str):
    class Plugin:
        @hookimpl
        def l2s_policies(self):
            return [PolicySpec(name.replace("_", "-"), target) for name, target in targets.items()]

    registry = Registry()
    registry.register(Plugin(), "test")
    return registry


shipped = "set by the tests"


def make_path():
    return Path(shipped)


def fail():
    raise RuntimeError("download it first")


def test_policies_are_found_by_name_or_as_files(file, monkeypatch):
    monkeypatch.setattr(sys.modules[__name__], "shipped", str(file))
    registry = plugin(by_path=f"{__name__}:shipped", by_function=f"{__name__}:make_path")
    for name in ("by-path", "by-function"):
        found = find_policy(name, registry)
        assert (found.name, found.source) == (name, str(file))
    assert find_policy(str(file), registry).name == "tiny"
    assert find_policy(file, registry).name == "tiny"
    ready = random_policy()
    assert find_policy(ready, registry) is ready
    with pytest.raises(UnknownNameError, match=r"unknown policy 'by-pth'; did you mean by-path.*no such file"):
        find_policy("by-pth", registry)
    with pytest.raises(PolicyError, match="No such file"):
        find_policy("absent.safetensors", registry)


def test_without_a_name_there_must_be_one_policy(file, monkeypatch):
    monkeypatch.setattr(sys.modules[__name__], "shipped", str(file))
    with pytest.raises(PolicyError, match=r"no policy is installed.*--policy NAME\|FILE"):
        find_policy(None, Registry())
    assert find_policy(None, plugin(only=f"{__name__}:shipped")).name == "only"
    with pytest.raises(PolicyError, match=r"say which with .*: one, two"):
        find_policy(None, plugin(two=f"{__name__}:shipped", one=f"{__name__}:shipped"))


def test_a_plugin_that_ships_something_else_is_named():
    registry = plugin(number=f"{__name__}:TINY", failing=f"{__name__}:fail", nothing=f"{__name__}:absent")
    with pytest.raises(L2SError, match=r"policy 'number': .* must be a path .*, got PolicyConfig"):
        find_policy("number", registry)
    with pytest.raises(L2SError, match=r"policy 'failing': .* raised RuntimeError: download it first"):
        find_policy("failing", registry)
    with pytest.raises(L2SError, match="policy 'nothing': cannot load"):
        find_policy("nothing", registry)
    assert [name for name, _ in installed_policies(registry)] == ["number", "failing", "nothing"]


def test_a_policy_says_which_neighbourhoods_it_knows():
    random_policy().check_neighbourhood("n7")
    choosy = random_policy(name="choosy", neighbourhoods=("n1", "n5"))
    choosy.check_neighbourhood("n5")
    with pytest.raises(PolicyError, match=r"policy 'choosy' cannot score .* 'n6'; it knows: n1, n5"):
        choosy.check_neighbourhood("n6")
