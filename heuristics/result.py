"""What a run gives back."""

from __future__ import annotations

import json
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, get_type_hints

from l2s_plugin.data import best_known
from l2s_plugin.errors import L2SError
from l2s_plugin.files import read_text, write_text
from l2s_plugin.formats.l2s_json import L2SJson
from l2s_plugin.instance import Instance
from l2s_plugin.objectives import LATENESS
from l2s_plugin.records import check, parse_json
from l2s_plugin.schedule import Schedule

OPTIMAL = "OPTIMAL"
FEASIBLE = "FEASIBLE"
JSON_FORMAT = "l2s-result"

# where a bound comes from (`Result.bound_source`)
ONE_MACHINE = "one-machine"  # computed: `l2s_plugin.bounds.lower_bound`
CP_SAT = "CP-SAT"  # proven by CP-SAT in this run
LITERATURE = "literature"  # looked up: `l2s_plugin.bounds.known_bound`

_SHOWN = (
    "instance", "objective", "value", "bound", "makespan", "lateness", "late_jobs", "lower_bound", "bound_source",
    "upper_bound", "claimed_upper_bound", "status", "gap",
    "steps", "seconds", "steps_per_second", "time_to_best", "method", "selector", "neighbourhood", "polisher",
    "initial", "gear", "seed", "workers", "horizon", "stopped_by",
)  # fmt: skip


@dataclass(frozen=True)
class Improvement:
    """A new incumbent, as history entry and as event for the `l2s_incumbent` observers.

    `makespan` and `lower_bound` are about the objective of the instance, whatever that is.
    """

    instance: Instance
    seconds: float
    step: int
    makespan: int
    lower_bound: int
    bound_source: str = ""


@dataclass(frozen=True)
class Result:
    """The best schedule of a run and how it was found.

    `lower_bound` is the best bound known on the `value` of the objective, and `bound_source` says where it comes from:
    `one-machine` (computed), `CP-SAT` (proven in this run) or `literature` (looked up, for the classic benchmarks).
    `initial` is the dispatching rule of the first schedule, None where a schedule was given.
    `horizon` is the number of steps that a population planned for; see `Configuration`.
    `stopped_by` says why the run ended: steps, seconds, target, no improvement, optimal, known bound, no moves,
    condition, interrupt, error, or CP-SAT (a limit among its parameters).
    """

    schedule: Schedule
    lower_bound: int
    method: str
    steps: int = 0
    seconds: float = 0.0
    selector: str | None = None
    neighbourhood: str | None = None
    polisher: str | None = None
    initial: str | None = None
    gear: str | None = None
    seed: int | None = None
    workers: int = 1
    horizon: int | None = None
    stopped_by: str = ""
    history: list[tuple[float, int, int]] = field(default_factory=list, repr=False, hash=False)
    bound_source: str = ""

    @property
    def instance(self) -> Instance:
        return self.schedule.instance

    @property
    def makespan(self) -> int:
        return self.schedule.makespan

    @property
    def objective(self) -> str:
        """What was minimised: makespan or lateness."""
        return self.instance.objective

    @property
    def value(self) -> int:
        """The value of the objective."""
        return self.schedule.value

    @property
    def bound(self) -> int:
        """No schedule has a smaller value: another name of `lower_bound`."""
        return self.lower_bound

    @property
    def lateness(self) -> int | None:
        """The largest lateness of a job; None without due dates."""
        return self.schedule.lateness

    @property
    def late_jobs(self) -> int | None:
        """How many jobs end after their due dates; None without due dates."""
        lateness = self.schedule.job_lateness
        return None if lateness is None else int((lateness > 0).sum())

    @property
    def status(self) -> str:
        """`OPTIMAL` when this run has proven that nothing is shorter, otherwise `FEASIBLE`."""
        return OPTIMAL if self.value <= self.lower_bound and self.bound_source != LITERATURE else FEASIBLE

    @property
    def verdict(self) -> str:
        """How good the schedule is, in words."""
        if self.status == OPTIMAL:
            return "proven optimal"
        if self.value <= self.lower_bound:
            return "optimal by the literature's bound"
        return f"gap {100 * self.gap:.2f} %"

    @property
    def gap(self) -> float:
        """How far the value may lie above the optimum, as a fraction of the bound; a lateness, which may be 0 or less,
        as a fraction of the makespan."""
        whole = self.makespan if self.objective == LATENESS else self.lower_bound
        return (self.value - self.lower_bound) / whole if whole else 0.0

    @property
    def claimed_upper_bound(self) -> int | None:
        """What the instance says about itself, where the literature says nothing; counts for nothing."""
        return self.instance.upper_bound if best_known(self.instance) is None else None

    @property
    def steps_per_second(self) -> float:
        return self.steps / self.seconds if self.seconds > 0 else 0.0

    @property
    def time_to_best(self) -> float:
        """Seconds until the incumbent was found."""
        return self.history[-1][0] if self.history else 0.0

    def to_dict(self) -> dict[str, Any]:
        """The fields that `--json` prints."""
        known = {"instance": self.instance.name, "upper_bound": best_known(self.instance)}
        digits = {"gap": 6, "seconds": 6, "steps_per_second": 1, "time_to_best": 6}
        values: dict[str, Any] = {name: known[name] if name in known else getattr(self, name) for name in _SHOWN}
        values |= {name: round(values[name], count) for name, count in digits.items()}
        return values | {"history": [list(row) for row in self._rows()]}

    def _rows(self) -> list[tuple[float, int, int]]:
        return [(round(seconds, 6), step, makespan) for seconds, step, makespan in self.history]

    def to_json(self) -> str:
        return json.dumps(self.to_dict())

    def save(self, path: str | Path) -> None:
        """Write everything, with instance and schedule, as JSON; aside first and then renamed."""
        own = {each.name: getattr(self, each.name) for each in fields(self) if each.name != "schedule"}
        head = {"format": JSON_FORMAT, "version": 1, "instance": json.loads(L2SJson().write(self.instance))}
        write_text(path, json.dumps(head | {"schedule": self.schedule.to_dict()} | own) + "\n")

    @classmethod
    def load(cls, path: str | Path) -> Result:
        """Read what `save` wrote; the schedule is verified, and anything else is an `L2SError` of one line."""
        data = parse_json(read_text(path), str(path))
        if not isinstance(data, dict) or (data.get("format"), data.get("version")) != (JSON_FORMAT, 1):
            raise L2SError(f'{path}: not a result, expected an object with "format": "{JSON_FORMAT}", "version": 1')
        instance = L2SJson().read(json.dumps(data.get("instance")).encode(), f"{path}, instance")
        schedule = Schedule.from_dict(instance, data.get("schedule", {}), f"{path}, schedule")
        present = data.keys() - {"schedule"} | {"method", "lower_bound"}
        kinds = {name: kind for name, kind in get_type_hints(cls).items() if name in present}
        check(data, kinds, str(path))
        history = [tuple(row) for row in data.get("history", [])]
        return cls(**{name: data[name] for name in kinds} | {"schedule": schedule, "history": history})

    def history_csv(self) -> str:
        """The improvements as CSV: seconds, step, makespan (or lateness)."""
        return f"seconds,step,{self.objective}\n" + "".join(f"{row[0]},{row[1]},{row[2]}\n" for row in self._rows())

    def save_history(self, path: str | Path) -> None:
        """Write `history_csv` to a file."""
        write_text(path, self.history_csv())

    def summary(self) -> str:
        """A few lines for people."""
        known = best_known(self.instance)
        source = f" ({self.bound_source})" if self.bound_source else ""
        what = f"{self.objective} {self.value}, bound {self.lower_bound}{source}, {self.verdict}"
        lines = [f"{self.instance.name} ({self.instance.size}): {what}"]
        if self.late_jobs is not None:
            other = f"makespan {self.makespan}" if self.objective == LATENESS else f"largest lateness {self.lateness}"
            lines.append(f"{other}; {self.late_jobs} of {self.instance.n_jobs} jobs late")
        if known and self.makespan != known:
            lines.append(f"best known: {known} ({100 * (self.makespan / known - 1):+.2f} %)")
        if self.claimed_upper_bound is not None:
            lines.append(f"the instance's own claim, not checked: upper bound {self.claimed_upper_bound}")
        polisher = f"polisher {self.polisher}" if self.polisher else None
        start = f"from {self.initial}" if self.initial else None
        parts = (self.method, self.neighbourhood, self.selector, polisher, start, self.gear)
        lines.append(f"{', '.join(filter(None, parts))}; seed {self.seed}")
        if self.stopped_by:
            took = f"{self.seconds:.2f} s"
            if self.steps:  # CP-SAT takes none
                took = f"{self.steps:,} steps in {took} ({self.steps_per_second:,.0f}/s)"
            lines.append(f"{took}, best after {self.time_to_best:.2f} s; stopped by {self.stopped_by}")
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        from l2s_plugin.notebook import name_and_value, schedule_html

        shown = {name: value for name, value in self.to_dict().items() if name != "history" and value is not None}
        return name_and_value(shown) + schedule_html(self.schedule)
