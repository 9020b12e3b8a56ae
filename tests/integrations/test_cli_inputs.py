"""Words of the command line: a path stays a path, and a name is helped along."""

from __future__ import annotations

import os

import pytest

from integrations.bench.sets import groups
from integrations.cli.paths import load_problems
from l2s_plugin.errors import L2SError
from l2s_plugin.instance import Instance
from l2s_plugin.loader import load, save


@pytest.mark.parametrize("word", ["./ft06", ".", "ft*", "ft06#0", "./ft06#0"])
def test_a_path_is_never_taken_for_a_benchmark_called_the_same(word, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    save(Instance.from_jobs([[(0, 3), (1, 2)], [(1, 1), (0, 4)]]), "ft06", "standard")
    (problem,) = load_problems([word])
    assert problem.instance.size == "2x2"
    assert problem.file is not None
    assert os.path.samefile(problem.file, "ft06")  # which outputs must not overwrite
    assert load(problem.word).size == "2x2"  # as benchmarks do, and the command that repeats a run


def test_a_file_in_a_folder_is_never_taken_for_standard_input_or_an_option(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("-", "-x"):
        save(Instance.from_jobs([[(0, 3)]]), f"./{name}", "standard")
    assert groups(["*"]) == {"*": ["./-", "./-x"]}


@pytest.mark.parametrize("word", ["ta1", "TA01", "ta001"])
def test_a_name_with_other_zeros_or_capitals_is_recognised(word):
    with pytest.raises(L2SError, match=r"did you mean ta01\?"):
        groups([word])


def test_a_word_that_no_file_can_be_called_is_an_unknown_name():
    with pytest.raises(L2SError, match="unknown set or instance"):
        groups(["x" * 5000])


def test_an_instance_may_come_through_a_pipe(tmp_path):
    """As in `l2s solve <(program)`."""
    os.mkfifo(tmp_path / "pipe")
    assert groups([str(tmp_path / "pipe")]) == {str(tmp_path / "pipe"): [str(tmp_path / "pipe")]}
