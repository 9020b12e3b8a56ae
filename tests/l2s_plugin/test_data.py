"""The benchmark instances that ship with the package."""

import subprocess
import sys
from collections import Counter
from importlib.resources import files

import numpy as np
import pytest

from l2s_plugin import data
from l2s_plugin.errors import UnknownNameError

# lower and upper bounds that changed since the usual tables, and some that did not
BOUNDS = """
abz8 667 667  swv06 1667 1667  swv07 1541 1594  swv08 1694 1751  swv09 1655 1655  swv10 1692 1743
swv12 2972 2972  yn2 904 904  yn3 892 892  yn4 967 967  ta18 1396 1396  ta22 1600 1600  ta23 1557 1557
ta25 1595 1595  ta26 1643 1643  ta27 1680 1680  ta29 1625 1625  ta30 1562 1584  ta32 1774 1783
ta33 1791 1791  ta34 1828 1828  ta40 1658 1669  ta41 1926 2005  ta42 1900 1937  ta43 1809 1846
ta44 1961 1978  ta45 1997 1997  ta46 1976 2002  ta47 1827 1889  ta48 1921 1937  ta49 1938 1960
ta50 1848 1923  ft06 55 55  ft10 930 930  ft20 1165 1165  la01 666 666  la29 1152 1152  la40 1222 1222
orb01 1059 1059  ta01 1231 1231  ta51 2760 2760  ta80 5183 5183
"""
OPEN = "swv07 swv08 swv10 ta30 ta32 ta40 ta41 ta42 ta43 ta44 ta46 ta47 ta48 ta49 ta50"


def test_all_162_instances_are_there():
    sets = Counter(data.benchmark_info(name).set for name in data.benchmark_names())
    assert sets == {"ft": 3, "la": 40, "abz": 5, "orb": 10, "swv": 20, "yn": 4, "ta": 80}


def test_names_come_in_natural_order():
    names = data.benchmark_names()
    assert names == sorted(names, key=lambda name: (data.benchmark_info(name).set, int(name.lstrip("abflnorstvwyz"))))
    assert names.index("abz9") < names.index("ft06") < names.index("la02") < names.index("ta10") < names.index("yn1")


def test_every_instance_is_a_classic_rectangle_with_consistent_bounds():
    for name in data.benchmark_names():
        instance, info = data.benchmark(name), data.benchmark_info(name)
        assert instance.is_rectangular, name
        assert (instance.name, instance.size) == (name, info.size)
        assert (instance.lower_bound, instance.upper_bound) == (info.lower_bound, info.upper_bound)
        by_machine = np.bincount(instance.machine, instance.duration)
        by_job = np.bincount(instance.job, instance.duration)
        assert max(by_machine.max(), by_job.max()) <= instance.lower_bound <= instance.upper_bound, name
        assert instance.source.endswith(tuple("0123456789")), name


def test_ft06_is_the_published_matrix():
    assert data.benchmark("ft06").jobs()[:2] == [
        [(2, 1), (0, 3), (1, 6), (3, 7), (5, 3), (4, 6)],
        [(1, 8), (2, 5), (4, 10), (5, 10), (0, 10), (3, 4)],
    ]
    assert data.benchmark("ft06").duration.sum() == 197


def test_bounds_are_the_best_known():
    words = BOUNDS.split()
    expected = {name: (int(a), int(b)) for name, a, b in zip(words[::3], words[1::3], words[2::3], strict=True)}
    known = {name: data.benchmark_info(name) for name in expected}
    assert {name: (info.lower_bound, info.upper_bound) for name, info in known.items()} == expected


def test_exactly_the_open_instances_are_open():
    assert [name for name in data.benchmark_names() if not data.benchmark_info(name).is_solved] == OPEN.split()


def test_groups_are_the_unit_of_published_tables():
    sets = data.benchmark_sets()
    assert sets["ta-15x15"] == [f"ta{k:02}" for k in range(1, 11)]
    assert sets["ta-100x20"] == [f"ta{k}" for k in range(71, 81)]
    assert sets["la-10x10"] == [f"la{k}" for k in range(16, 21)]
    assert sets["abz"] == ["abz5", "abz6", "abz7", "abz8", "abz9"]


def test_select_expands_sets_groups_sizes_and_names_once_each():
    assert data.select(["ta02", "ft", "ft06"]) == ["ta02", "ft06", "ft10", "ft20"]
    assert data.select(["15x15"]) == [
        *(f"la{k}" for k in range(36, 41)),
        *(f"ta{k:02}" for k in range(1, 11)),
    ]
    assert data.select([]) == []


def test_unknown_names_get_close_matches():
    with pytest.raises(UnknownNameError, match=r"'ta:15x16'; did you mean .*ta:15x15"):
        data.select(["ta:15x16"])
    with pytest.raises(UnknownNameError, match=r"'la1'; did you mean la01\?"):
        data.benchmark("la1")


def test_listing_reads_no_matrices_and_nothing_heavy():
    code = "import sys; from l2s_plugin import data; data.benchmark_names(); print(sorted(sys.modules))"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert "'l2s_plugin.data'" in loaded
    for heavy in ("numpy", "numba", "torch", "ortools", "matplotlib"):
        assert f"'{heavy}'" not in loaded


def test_files_are_compact_and_free_of_pickles():
    with files("l2s_plugin.data").joinpath("benchmarks.npz").open("rb") as file:
        arrays = np.load(file, allow_pickle=False)
        assert {name: arrays[name].dtype for name in arrays} == {"duration": np.uint8, "machine": np.uint8}
        operations = sum(info.n_jobs * info.n_machines for info in map(data.benchmark_info, data.benchmark_names()))
        assert len(arrays["duration"]) == len(arrays["machine"]) == operations
    assert "Taillard" in files("l2s_plugin.data").joinpath("SOURCES.md").read_text()
