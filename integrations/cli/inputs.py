"""From the words of the command line to instances, all read before any search begins."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from integrations.cli.outputs import file_for, is_per_instance
from l2s_plugin.data import benchmark_names
from l2s_plugin.errors import L2SError

if TYPE_CHECKING:
    from l2s_plugin.instance import Instance
    from l2s_plugin.schedule import Schedule


@dataclass(frozen=True)
class Problem:
    """An instance, the word of the command line that stands for it, and the schedule to begin with, if any."""

    word: str
    instance: Instance
    warm_start: Schedule | None = None
    warm_start_file: str | None = None

    @property
    def file(self) -> str | None:
        """The file that the instance was read from, if any."""
        if self.word == "-" or self.word in benchmark_names():
            return None
        return _without_index(self.word) or self.word


def load_problems(words: Iterable[str], warm_start: str | None = None) -> list[Problem]:
    """Read every instance and its warm start; the first broken file is the error."""
    from l2s_plugin.loader import load

    problems = [Problem(word, load(word)) for word in expand(words)]
    if warm_start is None:
        return problems
    if len(problems) > 1 and not is_per_instance(warm_start):
        raise L2SError(
            f"--warm-start {warm_start}: one schedule for {len(problems)} instances; name a folder or a pattern "
            "such as out/{name}.json"
        )
    return [_warm(problem, file_for(warm_start, problem.instance.name, ".json")) for problem in problems]


def expand(words: Iterable[str]) -> list[str]:
    """Instances one by one, each once: a word may be a set (`ta:15x15`), a folder or a pattern."""
    return list(dict.fromkeys(source for word in words for source in _expand(word)))


def _expand(word: str) -> list[str]:
    from integrations.bench.sets import groups

    if word == "-" or _without_index(word):
        return [word]
    return [name for names in groups([word]).values() for name in names]


def _without_index(word: str) -> str | None:
    """The file in `FILE#3`, one of several instances in a file; None where the word means something else."""
    file, hash_sign, index = word.rpartition("#")
    return file if hash_sign and index.isdecimal() and os.path.isfile(file) and not os.path.exists(word) else None


def _warm(problem: Problem, file: str) -> Problem:
    from l2s_plugin.schedule import Schedule

    return Problem(problem.word, problem.instance, Schedule.load(problem.instance, file), file)
