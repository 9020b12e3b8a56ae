"""A cell: one run of one method on one instance with one seed; small, picklable, and recognised when run again."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

from heuristics.configuration import Configuration, run
from integrations.cli.search_options import LEARNED, takes
from l2s_plugin import __version__
from l2s_plugin.files import read_bytes
from l2s_plugin.formats.l2s_json import L2SJson
from l2s_plugin.loader import load
from l2s_plugin.policy.library import describe, find_policy, installed_policies


@dataclass(frozen=True)
class Cell:
    """What to run; two equal cells are the same work.

    `content` stands for what names and paths do not tell: see `contents`.
    """

    instance: str
    group: str
    way: Configuration
    content: str = ""

    @property
    def key(self) -> str:
        """Recognises a finished cell in the results of an earlier run."""
        return f"{self} | {self.content}"

    def __str__(self) -> str:
        parts = {name: value for name, value in self.way.given.items() if name not in ("stop", "seed", "workers")}
        settings = ", ".join(f"{name}={value}" for name, value in {"method": self.way.method, **parts}.items())
        stop = self.way.limits
        budget = f"{stop.steps} steps" if stop.steps is not None else f"{stop.seconds:g} s"
        return f"{self.instance} | {settings} | {budget} | seed {self.way.seed}"


def contents(names: Iterable[str], ways: Iterable[Configuration]) -> dict[tuple[str, str], str]:
    """What each combination of an instance and a label is made of: the instance, the policies, and this package.

    A change of one is new work.
    """
    instances = {name: _digest(L2SJson().write(load(name))) for name in names}
    policies = {str(way): _policies(way) for way in ways}
    return {
        (name, label): f"instance {instance}, policies {policy}, version {__version__}"
        for name, instance in instances.items()
        for label, policy in policies.items()
    }


def _policies(way: Configuration) -> str:
    """A digest of the policies that may decide: the one named, and those installed, which are the defaults."""
    name, _, policy = (way.selector or "").partition(":")
    files = [find_policy(policy).source] if policy and name in LEARNED else []
    if takes(str(way.method), "polisher") or name in LEARNED:
        installed = (describe(name, load_it) for name, load_it in installed_policies())
        files += [each["source"] for each in installed if each["error"] is None]
    return _digest(*map(read_bytes, files)) if files else "none"


def _digest(*parts: bytes) -> str:
    return sha256(b"".join(sha256(part).digest() for part in parts)).hexdigest()[:16]


def run_cell(cell: Cell) -> dict[str, Any]:
    """Run a cell; the row that is kept."""
    way, stop = cell.way, cell.way.limits
    result = run(load(cell.instance), way)
    row = {"key": cell.key, "group": cell.group, "label": str(way), "seed": way.seed}
    row |= {"step_limit": stop.steps, "time_limit": stop.seconds, "init": way.initial}
    return row | {name: value for name, value in result.to_dict().items() if name not in row}
