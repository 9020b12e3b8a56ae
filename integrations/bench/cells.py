"""A cell: one run of one method on one instance with one seed; small, picklable, and recognised when run again."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from hashlib import sha256
from typing import Any

from integrations.cli.methods import METHODS, Settings
from integrations.cli.parts import LEARNED
from l2s_plugin import __version__, stop
from l2s_plugin.files import read_bytes
from l2s_plugin.formats.l2s_json import L2SJson
from l2s_plugin.loader import load
from l2s_plugin.policy.library import describe, find_policy, installed_policies


@dataclass(frozen=True)
class Configuration:
    """What to compare: a method and its parts, None where the method's own default is meant."""

    method: str
    selector: str | None = None
    neighbourhood: str | None = None
    init: str | None = None
    population: int | None = None

    @property
    def label(self) -> str:
        """A row's name in the tables."""
        parts = (self.method, self.selector, self.neighbourhood, self.init)
        return " ".join(part for part in parts if part)

    def policies(self) -> str:
        """A digest of the policies that may decide: the one named, and those installed, which are the defaults."""
        selector, _, policy = (self.selector or "").partition(":")
        polished = "polisher" in METHODS[self.method].options and self.population != 1
        files = [find_policy(policy).source] if policy and selector in LEARNED else []
        if polished or selector in LEARNED:
            installed = (describe(name, load_it) for name, load_it in installed_policies())
            files += [each["source"] for each in installed if each["error"] is None]
        return _digest(*map(read_bytes, files)) if files else "none"


@dataclass(frozen=True)
class Cell:
    """What to run; two equal cells are the same work.

    `content` stands for what names and paths do not tell: see `contents`.
    """

    instance: str
    group: str
    configuration: Configuration
    seed: int
    steps: int | None
    seconds: float | None
    content: str = ""

    @property
    def key(self) -> str:
        """Recognises a finished cell in the results of an earlier run."""
        return f"{self} | {self.content}"

    def __str__(self) -> str:
        settings = ", ".join(f"{name}={value}" for name, value in asdict(self.configuration).items() if value)
        budget = f"{self.steps} steps" if self.steps is not None else f"{self.seconds:g} s"
        return f"{self.instance} | {settings} | {budget} | seed {self.seed}"


def contents(names: Iterable[str], configurations: Iterable[Configuration]) -> dict[tuple[str, Configuration], str]:
    """What each combination is made of: the instance, the policies, and this package; a change of one is new work."""
    instances = {name: _digest(L2SJson().write(load(name))) for name in names}
    policies = {configuration: configuration.policies() for configuration in configurations}
    return {
        (name, configuration): f"instance {instance}, policies {policy}, version {__version__}"
        for name, instance in instances.items()
        for configuration, policy in policies.items()
    }


def _digest(*parts: bytes) -> str:
    return sha256(b"".join(sha256(part).digest() for part in parts)).hexdigest()[:16]


def run_cell(cell: Cell) -> dict[str, Any]:
    """Run a cell; the row that is kept."""
    instance = load(cell.instance)
    configuration = cell.configuration
    limits = [stop.steps(cell.steps)] if cell.steps is not None else []
    limits += [stop.seconds(cell.seconds)] if cell.seconds is not None else []
    settings = Settings(
        seed=cell.seed,
        stop=limits[0] | limits[-1],
        initial=configuration.init,
        selector=configuration.selector,
        neighbourhood=configuration.neighbourhood,
        workers=1,  # cells run side by side, a core each
        population=configuration.population,
        known_bounds=False,  # a run must not end because the optimum was looked up
    )
    result = METHODS[configuration.method].run(instance, settings)
    row = {"key": cell.key, "group": cell.group, "label": configuration.label, "seed": cell.seed}
    row |= {"step_limit": cell.steps, "time_limit": cell.seconds, "init": configuration.init}
    return row | {name: value for name, value in result.to_dict().items() if name not in row}
