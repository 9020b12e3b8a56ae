"""The classic benchmark instances: 162 of them, by name, with the best known bounds.

Listing them reads a small index only; an instance's matrices are read when it is first asked for. SOURCES.md
beside this file says where the numbers come from.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any, NamedTuple

from l2s_plugin.errors import unknown_name

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from l2s_plugin.instance import Instance


class Benchmark(NamedTuple):
    """What is known about a benchmark instance without reading its matrices."""

    name: str
    n_jobs: int
    n_machines: int
    lower_bound: int
    upper_bound: int

    @property
    def set(self) -> str:
        """The set it was published in: `ta` for `ta41`."""
        return re.sub(r"[0-9]+$", "", self.name)

    @property
    def size(self) -> str:
        """Jobs x machines."""
        return f"{self.n_jobs}x{self.n_machines}"

    @property
    def group(self) -> str:
        """The instances of one set and size, the unit of most published tables: `ta-30x20`."""
        return f"{self.set}-{self.size}"

    @property
    def is_solved(self) -> bool:
        """Whether the optimal makespan is known."""
        return self.lower_bound == self.upper_bound


def benchmark_names() -> list[str]:
    """The names of all benchmark instances, in natural order (yn2 before yn10)."""
    return list(_index())


def benchmark_info(name: str) -> Benchmark:
    """Size and bounds of one benchmark instance."""
    if name not in _index():
        raise unknown_name("benchmark instance", name, _index())
    return _index()[name]


def known(instance: Instance) -> Benchmark | None:
    """What the literature knows, if `instance` is the benchmark of its name, operation by operation.

    What a file claims about its own bounds is not believed.
    """
    entry = _index().get(instance.name)
    return entry if entry and benchmark(instance.name) == instance else None


def best_known(instance: Instance) -> int | None:
    """The shortest makespan in the literature, for the classic benchmarks alone."""
    entry = known(instance)
    return entry.upper_bound if entry else None


def benchmark_sets() -> dict[str, list[str]]:
    """The names in each set (`ta`) and in each group of one set and size (`ta-30x20`)."""
    return _names_by("set", "group")


def select(words: Iterable[str]) -> list[str]:
    """The names that `["ft", "ta:30x20", "15x15", "la16"]` (set, group, size, name) stands for, each once."""
    known = {key.replace("-", ":", 1): names for key, names in _names_by("name", "set", "group", "size").items()}
    chosen: dict[str, None] = {}
    for word in words:
        if (key := word.replace("-", ":", 1)) not in known:
            raise unknown_name("instance or set", word, known)
        chosen |= dict.fromkeys(known[key])
    return list(chosen)


@cache
def benchmark(name: str) -> Instance:
    """The benchmark instance of that name, with source and bounds (read-only, so one object serves all)."""
    from l2s_plugin.instance import Instance

    info = benchmark_info(name)
    duration, machine = _matrices()[name].reshape(2, info.n_jobs, info.n_machines)
    bounds = {"lower_bound": info.lower_bound, "upper_bound": info.upper_bound}
    return Instance.from_matrices(duration, machine, name=name, source=_table()["sources"][info.set], **bounds)


@cache
def _table() -> dict[str, Any]:
    return json.loads(files(__package__).joinpath("benchmarks.json").read_text(encoding="utf-8"))


@cache
def _index() -> dict[str, Benchmark]:
    return {name: Benchmark(name, *row) for name, row in _table()["instances"].items()}


def _names_by(*properties: str) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for each in properties:
        for entry in _index().values():
            found.setdefault(getattr(entry, each), []).append(entry.name)
    return found


@cache
def _matrices() -> dict[str, NDArray[Any]]:
    """Durations and machines of each instance, all jobs one after the other."""
    import numpy as np

    with files(__package__).joinpath("benchmarks.npz").open("rb") as file:
        arrays = np.load(file, allow_pickle=False)
        both = np.stack((arrays["duration"], arrays["machine"]))
    ends = np.cumsum([entry.n_jobs * entry.n_machines for entry in _index().values()])
    return dict(zip(_index(), np.split(both, ends[:-1], axis=1), strict=True))
