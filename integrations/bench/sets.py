"""From the words of a user to groups of instances."""

from __future__ import annotations

import os
from collections.abc import Sequence
from glob import glob

from l2s_plugin.data import benchmark_info, benchmark_names, benchmark_sets
from l2s_plugin.errors import L2SError, unknown_name

PAPER = "paper"


def groups(words: Sequence[str]) -> dict[str, list[str]]:
    """Instances by group, in the order asked for.

    A word is a set (`ta`), a group (`ta:15x15`), `paper` (the 26 groups of the paper's Table 1), a benchmark name, or
    a file (`FILE#3`: one of several instances in it), folder or glob pattern of instance files (all in one group named
    after the word).
    """
    chosen: dict[str, list[str]] = {}
    for word in words:
        for group, names in _expand(word).items():
            members = chosen.setdefault(group, [])
            members.extend(name for name in names if name not in members)
    return chosen


def _expand(word: str) -> dict[str, list[str]]:
    sets = benchmark_sets()
    if word == PAPER:
        return {group: names for group, names in sets.items() if "-" in group}
    key = word.replace(":", "-", 1)
    if key in sets:
        wanted = (group for group in sets if group == key or group.startswith(f"{key}-"))
        return {group: sets[group] for group in wanted if "-" in group}
    if word in benchmark_names():
        return {benchmark_info(word).group: [word]}
    files = _files(word)
    if files:
        return {word: files}
    note = " (and there is no such file)"
    raise unknown_name("set or instance", word, [*set_words(), *benchmark_names()], note)


def set_words() -> list[str]:
    """Every set and group as users write them."""
    return [PAPER, *(group.replace("-", ":", 1) for group in benchmark_sets())]


def _files(word: str) -> list[str]:
    if os.path.isdir(word):
        found = sorted(file.path for file in os.scandir(word) if file.is_file() and not file.name.startswith("."))
        if not found:
            raise L2SError(f"{word}: the folder holds no files")
    else:
        found = [word] if os.path.exists(word) or file_of(word) else sorted(filter(os.path.isfile, glob(word)))
    return [_path(file) for file in found]


def _path(file: str) -> str:
    """The path of a file in a form that is no benchmark name, option or standard input."""
    return os.path.join(os.curdir, file) if file in benchmark_names() or file.startswith("-") else file


def file_of(word: str) -> str | None:
    """The file in `FILE#3`; None where the word means something else."""
    file, hash_sign, index = word.rpartition("#")
    return file if hash_sign and index.isdecimal() and os.path.isfile(file) and not os.path.exists(word) else None
