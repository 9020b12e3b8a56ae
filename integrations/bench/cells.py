"""A cell: one run of one method on one instance with one seed; small, picklable, and recognised when run again."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from integrations.cli.methods import METHODS, Settings
from l2s_plugin import stop
from l2s_plugin.loader import load


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


@dataclass(frozen=True)
class Cell:
    """What to run; two equal cells are the same work."""

    instance: str
    group: str
    configuration: Configuration
    seed: int
    steps: int | None
    seconds: float | None

    @property
    def key(self) -> str:
        """Recognises a finished cell in the results of an earlier run."""
        settings = ", ".join(f"{name}={value}" for name, value in asdict(self.configuration).items() if value)
        budget = f"{self.steps} steps" if self.steps is not None else f"{self.seconds:g} s"
        return f"{self.instance} | {settings} | {budget} | seed {self.seed}"


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
