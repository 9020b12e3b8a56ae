"""From the words of the command line to instances, all read before any search begins."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from itertools import chain
from typing import TYPE_CHECKING

from integrations.bench.sets import file_of, groups
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
        return file_of(self.word) or self.word


def load_problems(words: Iterable[str], warm_start: str | None = None) -> list[Problem]:
    """Read every instance, each once, and its warm start; the first broken file is the error."""
    from l2s_plugin.loader import load
    from l2s_plugin.schedule import Schedule

    found = ([word] if word == "-" else chain(*groups([word]).values()) for word in words)
    problems = [Problem(name, load(name)) for name in dict.fromkeys(chain.from_iterable(found))]
    if warm_start is None:
        return problems
    if len(problems) > 1 and not is_per_instance(warm_start):
        raise L2SError(
            f"--warm-start {warm_start}: one schedule for {len(problems)} instances; name a folder or a pattern "
            "such as out/{name}.json"
        )
    files = [file_for(warm_start, problem.instance.name, ".json") for problem in problems]
    return [
        replace(problem, warm_start=Schedule.load(problem.instance, file), warm_start_file=file)
        for problem, file in zip(problems, files, strict=True)
    ]
