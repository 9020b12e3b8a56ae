"""Random instances to train on, by a text that says of what size and structure."""

from __future__ import annotations

import re
from typing import Any, NamedTuple

from l2s_plugin.errors import L2SError
from l2s_plugin.generate import uniform
from l2s_plugin.instance import Instance

_MOST_OPERATIONS = 10_000  # of an instance to train on


class Size(NamedTuple):
    """`"20x15"`, or `"20x15/3"`, where jobs pass three sets of machines one after the other."""

    n_jobs: int
    n_machines: int
    stages: int = 1

    def instance(self, seed: int) -> Instance:
        """A random one, with Taillard's distribution."""
        return uniform(self.n_jobs, self.n_machines, seed, stages=self.stages)


def parse_size(text: Any) -> Size:
    """The size that a text means."""
    match = re.fullmatch(r"(\d{1,6})x(\d{1,6})(?:/(\d{1,6}))?", text.strip()) if isinstance(text, str) else None
    if match is None:
        raise L2SError(f"a size is JOBSxMACHINES, such as 10x10, or JOBSxMACHINES/STAGES, got {text!r}")
    size = Size(int(match[1]), int(match[2]), int(match[3] or 1))
    if size.n_jobs < 2 or size.n_machines < 1:
        raise L2SError(f"size {text}: with fewer than two jobs or one machine there is nothing to choose")
    if size.n_jobs * size.n_machines > _MOST_OPERATIONS:
        raise L2SError(f"size {text}: more than {_MOST_OPERATIONS} operations per instance")
    if not 1 <= size.stages <= size.n_machines:
        raise L2SError(f"size {text}: expected 1 to {size.n_machines} stages")
    return size
