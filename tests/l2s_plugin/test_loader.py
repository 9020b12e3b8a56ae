"""`load`, `load_all`, `save`: names, files, standard input, and formats of third parties."""

import io
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import l2s_plugin
from l2s_plugin.data import benchmark
from l2s_plugin.errors import InstanceFormatError, L2SError, PluginError, UnknownNameError
from l2s_plugin.hookspecs import hookimpl
from l2s_plugin.instance import Instance
from l2s_plugin.loader import encode, load, load_all, save
from l2s_plugin.registry import Registry
from l2s_plugin.specs import InstanceFormatSpec

TINY = b"# tiny\n2 2\n0 5 1 2\n1 4 0 1\n"
TINY_JOBS = [[(0, 5), (1, 2)], [(1, 4), (0, 1)]]


@pytest.fixture
def tiny(tmp_path):
    path = tmp_path / "tiny.txt"
    path.write_bytes(TINY)
    return path


# where instances come from


def test_a_benchmark_is_loaded_by_name():
    assert l2s_plugin.load("ta41") == benchmark("ta41")
    assert (load("ta41").name, load("ta41").upper_bound) == ("ta41", 2005)
    assert load_all("ft06") == [benchmark("ft06")]


def test_a_file_is_loaded_by_path_string_or_object(tiny):
    for source in (tiny, str(tiny)):
        assert load(source).jobs() == TINY_JOBS
        assert load(source).name == "tiny"


def test_an_open_file_is_read_as_bytes_or_text(tiny):
    with tiny.open("rb") as file:
        assert load(file).jobs() == TINY_JOBS
    with tiny.open() as file:
        assert load(file).jobs() == TINY_JOBS
    assert load(io.BytesIO(TINY)).jobs() == TINY_JOBS
    assert load(io.StringIO(TINY.decode())).jobs() == TINY_JOBS


def test_errors_in_an_open_file_name_it(tmp_path):
    path = tmp_path / "bad.txt"
    path.write_text("1 1\n7 5\n")
    with (
        path.open() as file,
        pytest.raises(InstanceFormatError, match=r"bad\.txt:2: job 0, index 0: machine 7"),
    ):
        load(file)
    with pytest.raises(InstanceFormatError, match=r"^file:2: job 0"):
        load(io.StringIO("1 1\n7 5\n"))
    path.write_bytes(encode(benchmark("ft06"), "npy"))
    message = r"bad\.txt:1: binary file, expected it opened in binary mode"
    with path.open(encoding="utf-8") as file, pytest.raises(InstanceFormatError, match=message):
        load(file)


def test_a_dash_is_standard_input(monkeypatch):
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(TINY)))
    instance = load("-")
    assert (instance.jobs(), instance.name) == (TINY_JOBS, "stdin")
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(b"1 1\n")))
    with pytest.raises(InstanceFormatError, match=r"^stdin:1: the file ends after 0 jobs, expected 1"):
        load("-")


def test_a_name_wins_over_a_file_of_the_same_name(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("ft06").write_bytes(TINY)
    assert load("ft06") == benchmark("ft06")
    assert load("./ft06").jobs() == TINY_JOBS
    assert load(Path("ft06")).jobs() == TINY_JOBS
    assert load("ft06", format="standard").jobs() == TINY_JOBS


def test_an_unknown_name_gets_close_matches_and_the_missing_file_is_mentioned():
    with pytest.raises(UnknownNameError, match=r"unknown instance 'ta-01'; did you mean ta01 .*no such file"):
        load("ta-01")
    with pytest.raises(UnknownNameError, match="no such file"):
        load("x" * 5000)
    with pytest.raises(InstanceFormatError, match="cannot read nowhere/ta01: No such file"):
        load(Path("nowhere/ta01"))


def test_a_directory_is_no_instance(tmp_path):
    with pytest.raises(InstanceFormatError, match=r"cannot read .*: Is a directory"):
        load(tmp_path)


# several instances in one file


@pytest.fixture
def several(tmp_path):
    path = tmp_path / "several.npy"
    np.save(path, np.array([[[[5, 2], [4, 1]], [[1, 2], [2, 1]]], [[[9, 9], [9, 9]], [[1, 2], [2, 1]]]]))
    return path


def test_load_all_gives_every_instance(several):
    assert [each.name for each in load_all(several)] == ["several#0", "several#1"]
    assert load_all(several)[0].jobs() == TINY_JOBS


def test_one_of_several_is_picked_by_index(several):
    assert load(f"{several}#0").jobs() == TINY_JOBS
    assert load(f"{several}#1").duration.tolist() == [9, 9, 9, 9]
    with pytest.raises(InstanceFormatError, match="holds 2 instances, expected an index below that"):
        load(f"{several}#2")
    with pytest.raises(InstanceFormatError, match=r"2 instances, expected one; pick one as .*several\.npy#0"):
        load(several)


def test_a_file_whose_name_has_a_hash_sign_is_a_file(tmp_path):
    path = tmp_path / "run#3"
    path.write_bytes(TINY)
    assert load(str(path)).jobs() == TINY_JOBS


# formats


@pytest.mark.parametrize("name", ["standard", "taillard", "l2s-json", "job-shop-lib", "npy"])
def test_every_format_is_recognised_whatever_the_file_is_called(tmp_path, name):
    path = tmp_path / "instance.dat"
    save(benchmark("ft06"), path, format=name)
    assert load(path) == benchmark("ft06")
    assert load(path, format=name) == benchmark("ft06")


@pytest.mark.parametrize(
    ("ending", "name"),
    [
        (".txt", "standard"),
        (".TAI", "taillard"),
        (".json", "l2s-json"),
        (".jsl.json", "job-shop-lib"),
        (".npy", "npy"),
    ],
)
def test_the_ending_of_the_path_chooses_the_format_to_write(tmp_path, ending, name):
    path = tmp_path / f"ft06{ending}"
    l2s_plugin.save(benchmark("ft06"), path)
    assert path.read_bytes() == encode(benchmark("ft06"), name)


def test_an_unknown_ending_or_format_is_refused_and_nothing_written(tmp_path):
    path = tmp_path / "ft06.xyz"
    with pytest.raises(InstanceFormatError, match=r"ft06\.xyz: no format has this ending, expected one of \.txt"):
        save(benchmark("ft06"), path)
    with pytest.raises(UnknownNameError, match=r"unknown instance format 'standart'; did you mean standard"):
        save(benchmark("ft06"), path, format="standart")
    with pytest.raises(InstanceFormatError, match="the npy format expects"):
        save(Instance.from_jobs([[(0, 1), (0, 1)]]), path, format="npy")
    assert list(tmp_path.iterdir()) == []


def test_a_dash_is_standard_output(capfdbinary):
    save(Instance.from_jobs(TINY_JOBS, name="tiny"), "-")
    assert capfdbinary.readouterr().out == TINY


@pytest.mark.parametrize(
    ("contents", "message"),
    [
        (b"", r"1: empty file, expected an instance"),
        (b"\n \n", r"1: empty file, expected an instance"),
        (b"\x7fELF\0\0", r"1: binary file in no known format, expected one of: "),
        (
            b"hello\n",
            r"1: not in any known format, expected one of: a row .*\(standard\), .*\(npy\), .*\(xlsx\)$",
        ),
        (b'{"a": 1}', r'1: not in any known format, .*JSON with "format": "l2s-instance" \(l2s-json\)'),
        (b"2 2\n0 5 1 2\n1 4\n", r"3: job 1 has 2 numbers, expected 4"),
        (b'{"format": "l2s-instance",\n}', r"2: not JSON"),
        (b"2 2\n1 5 2 2\n2 4 1 1\n", r"2: job 0, index 1: machine 2, .* counts machines from 1"),
    ],
)
def test_what_cannot_be_read_is_explained_in_one_line(tmp_path, contents, message):
    path = tmp_path / "bad"
    path.write_bytes(contents)
    with pytest.raises(InstanceFormatError, match=f"bad:{message}") as caught:
        load(path)
    assert "\n" not in str(caught.value)


def test_a_named_format_is_not_second_guessed(tiny):
    with pytest.raises(InstanceFormatError, match=r"tiny\.txt:1: not JSON"):
        load(tiny, format="l2s-json")


# formats of third parties


class Jsv:
    """A third party's format: a marker, then durations of one job on machine 0."""

    name = "jsv"
    suffixes = (".jsv",)
    expects = "a line jobshop-jsv"

    def detect(self, data, source):
        return data.startswith(b"jobshop-jsv\n")

    def read(self, data, source):
        return Instance.from_jobs([[(0, int(word))] for word in data.split(b"\n")[1].split(b",")])

    def write(self, instance):
        return b"jobshop-jsv\n" + b",".join(str(d).encode() for d in instance.duration) + b"\n"


def format_class(**changes):
    return type("Changed", (Jsv,), changes)


@pytest.fixture
def register(monkeypatch):
    """A registry with the built-in formats and others, each given as a class."""

    def with_formats(**classes):
        registry = Registry.discover()
        for name, target in classes.items():
            monkeypatch.setitem(globals(), name, target)

            @hookimpl
            def l2s_instance_formats(name=name):
                return [InstanceFormatSpec(name, f"{__name__}:{name}")]

            registry.register(SimpleNamespace(l2s_instance_formats=l2s_instance_formats), name)
        return registry

    return with_formats


def test_a_third_party_format_is_used_like_a_built_in_one(tmp_path, register):
    registry, path = register(jsv=Jsv), tmp_path / "x.jsv"
    instance = Instance.from_jobs([[(0, 3)], [(0, 4)]])
    save(instance, path, registry=registry)
    assert path.read_bytes() == b"jobshop-jsv\n3,4\n"
    assert load(path, registry=registry) == instance
    assert load(tmp_path / "x.jsv", format="jsv", registry=registry) == instance


def test_a_format_object_can_be_passed_as_it_is(tmp_path):
    path = tmp_path / "x.dat"
    save(Instance.from_jobs([[(0, 3)]]), path, format=Jsv())
    assert load(path, format=Jsv()).jobs() == [[(0, 3)]]


def test_a_file_that_two_formats_recognise_is_not_guessed(tmp_path, register):
    registry, path = register(jsv=Jsv, greedy=format_class(name="greedy")), tmp_path / "x.jsv"
    path.write_bytes(b"jobshop-jsv\n3\n")
    with pytest.raises(InstanceFormatError, match=r"x\.jsv:1: recognised as jsv and greedy, expected one format"):
        load(path, registry=registry)
    with pytest.raises(InstanceFormatError, match=r"the formats jsv and greedy claim this ending"):
        save(Instance.from_jobs([[(0, 3)]]), path, registry=registry)


def test_a_broken_third_party_format_does_not_stop_the_others(tmp_path, tiny, register):
    def broken():
        raise RuntimeError("out of order")

    registry = register(jsv=broken)
    assert load(tiny, registry=registry).jobs() == TINY_JOBS
    (tmp_path / "x").write_bytes(b"?")
    with pytest.raises(InstanceFormatError, match=r"not in any known format.*'jsv'.*out of order"):
        load(tmp_path / "x", registry=registry)


@pytest.mark.parametrize("method", ["detect", "read", "write"])
def test_a_crash_inside_a_format_names_format_and_method(tmp_path, register, method):
    def crash(self, *arguments):
        raise KeyError("oops")

    registry, path = register(jsv=format_class(**{method: crash})), tmp_path / "x"
    path.write_bytes(b"jobshop-jsv\n3\n")
    instance = Instance.from_jobs([[(0, 3)]])
    call = (lambda: encode(instance, "jsv", registry)) if method == "write" else (lambda: load(path, None, registry))
    with pytest.raises(PluginError, match=f"instance format 'jsv': {method} raised KeyError: 'oops'"):
        call()


@pytest.mark.parametrize("result", [None, [], ["x"]])
def test_a_format_that_returns_no_instance_is_reported(tmp_path, register, result):
    registry, path = register(jsv=format_class(read=lambda self, data, source: result)), tmp_path / "x"
    path.write_bytes(b"jobshop-jsv\n3\n")
    with pytest.raises(PluginError, match="instance format 'jsv': read must return an Instance"):
        load(path, registry=registry)


def test_an_impossible_instance_from_a_format_names_the_file(tmp_path, register):
    registry, path = register(jsv=Jsv), tmp_path / "x"
    path.write_bytes(b"jobshop-jsv\n-3\n")
    with pytest.raises(InstanceFormatError, match=r"x:1: operation 0 .* has negative duration -3"):
        load(path, registry=registry)


def test_saving_where_no_file_can_be_is_one_line(tmp_path):
    with pytest.raises(L2SError, match=r"cannot write .*: No such file or directory"):
        save(benchmark("ft06"), tmp_path / "missing" / "x.json")


def test_what_is_neither_name_nor_file_is_one_line():
    with pytest.raises(InstanceFormatError, match="expected a benchmark name, a path or an open file, got 5"):
        load(5)  # type: ignore[arg-type]


def test_text_in_another_encoding_is_called_by_its_name(tmp_path):
    (tmp_path / "latin.txt").write_bytes("# Säge\n1 1\n0 5\n".encode("latin-1"))
    with pytest.raises(InstanceFormatError, match=r"latin\.txt:1: not UTF-8"):
        load(tmp_path / "latin.txt")


LARGE_CLAIMS = {
    "header": b"1 10000000\n0 5 -1 -1\n",
    "json": b'{"format": "l2s-instance", "version": 1, "n_machines": 10000000, "jobs": [[[0, 5]]]}',
    "metadata": b'{"duration_matrix": [[5]], "machines_matrix": [[0]], "metadata": {"n_machines": 10000000}}',
    "npy": b"\x93NUMPY\x01\x00\x76\x00"
    + b"{'descr': '<i8', 'fortran_order': False, 'shape': (2, 1000000, 1000000), }".ljust(117) + b"\n",
}  # fmt: skip


@pytest.mark.parametrize("data", LARGE_CLAIMS.values(), ids=LARGE_CLAIMS)
def test_small_files_that_claim_to_be_large_are_refused(data, tmp_path):
    (tmp_path / "small").write_bytes(data)
    with pytest.raises(InstanceFormatError, match=r"expected at most 10001|an array of 2x1000000x1000000 in"):
        load(tmp_path / "small")
