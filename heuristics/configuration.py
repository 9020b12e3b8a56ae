"""How to search, in one place: what the command line, benchmarks, portfolios and keyword arguments all say.

A field of `Configuration` is an option: of the functions of `heuristics` through `Options`, of `l2s solve` where it
stands in `COMMAND_LINE`, and of the methods that list it in their `MethodSpec`.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import MISSING, InitVar, dataclass, field, fields, replace
from operator import index
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypedDict, cast

from l2s_plugin.containment import contained
from l2s_plugin.errors import L2SError, PluginError, unknown_name, whole_number
from l2s_plugin.objectives import MAKESPAN, OBJECTIVES
from l2s_plugin.registry import Registry, default_registry
from l2s_plugin.specs import DispatchingRuleSpec, MethodSpec, NeighbourhoodSpec, PolicySpec, SelectorSpec, Spec
from l2s_plugin.stop import Condition, Stop, ending

if TYPE_CHECKING:
    from heuristics.monitor import Listener, Monitor
    from heuristics.result import Result
    from l2s_plugin.instance import Instance

FIRST_RULE = "fdd/mwkr"
NO_POLISHER = "none"  # the word for a search in which nothing is polished
RECENT = 100  # schedules to restart from (paper, appendix D)
LIMITS = frozenset({"time_limit", "max_steps", "target", "no_improvement"})  # parts of a stop, on the command line

Method = Callable[["Instance", "Configuration", "Monitor"], "Result"]
Ending = Stop | Condition | None  # what users give as `stop=`


@dataclass(frozen=True)
class Configuration:
    """How to search. None leaves a choice to the method.

    Parameters
    ----------
    method
        A name that `l2s plugins` lists (a text after a colon is for the method to read), or a function that is called
        as `method(instance, configuration, monitor)` and returns a `Result`: see `l2s_plugin.specs.MethodSpec`.
    selector, neighbourhood
        A registered name, or an object that follows the contract of `l2s_plugin.selectors`, `.neighbourhoods`.
    policy
        Name or file of a policy for a learned selector, `l2s` unless `selector` says otherwise.
    initial
        Where to begin: a dispatching rule, a schedule, or a result.
    objective
        What to minimise: `makespan`, or `lateness`, the largest end of a job minus its due date. None: what the
        instance says, the makespan unless told otherwise.
    stop, time_limit
        When to end: see `l2s_plugin.stop`; `time_limit=30` is short for `stop=l2s.stop.seconds(30)`. The clock runs
        from the first schedule on; what is compiled does not count. A limit in steps counts those of all workers.
    seed
        Same seed, same trajectory, when the stop is in steps.
    workers
        Threads (populations in the case of `cooperate`).
    polisher
        Selector of every sixth trajectory, once a population is complete: it begins with a good member recombined with
        another, and is drawn to the former. None: no such trajectories.
    population, patience
        Schedules in a population, 8 to 64 by the length of the run when None; steps without improvement before a
        trajectory gives way to the next, `population_patience(instance)` when None.
    horizon
        The number of steps, of all workers, that a population plans for: the nearer it is, the less its members must
        differ. When None, the limit in steps; or what the speed of the first trajectory lets expect until the limit in
        seconds.
    anneal
        Whether a population anneals its trajectories instead of taking the best move every time. None: where a run is
        short for the size of the shop, unless `selector` is given.
    tenure
        Tabu search: `(low, high)` steps that a reversed arc stays forbidden; `default_tenure(instance)` when None, in
        populations `population_tenure(instance)`.
    forbid_undo
        Local search: leave out the move that undoes the last one, as the paper's authors do. None leaves it to the
        selector: the learned ones and the paper's rules want it.
    recent
        Local search: how many schedules to remember for restarts; 0 ends the search instead.
    annealing
        Local search: `(temperature, cooling)`: accept a worse schedule with probability exp(-increase / temperature),
        the temperature multiplied by `cooling` after every step. With `selector="random"` this is simulated annealing.
    gear
        `"compiled"` or `"python"`; chosen from what selector and neighbourhood offer when None.
    evaluator
        An `Evaluator`, or its name as in `"message-passing:cuda"`: rates all neighbours in one call, in the python
        gear, for selectors that go by exact makespans (`greedy`, `best-improvement`, `first-improvement`).
    exchange
        Cooperation: seconds between two exchanges, if the limit is not in steps.
    scheduler
        Cooperation: address of a dask cluster.
    parameters, log
        CP-SAT's own parameters by name; True prints its log to standard error, a function is called with every line.
    known_bounds
        Whether to end at the literature's bound of a classic benchmark; False to compare methods.
    label
        For tables and messages; made up of the above if empty.
    """

    method: str | Method = "memetic"
    selector: Any = None
    neighbourhood: Any = None
    policy: str | Path | None = None
    initial: Any = None
    objective: str | None = None
    stop: Ending = None
    time_limit: InitVar[float | None] = None
    seed: int = 0
    workers: int | None = None
    polisher: Any = "l2s-fast:l2s-polish"
    population: int | None = None
    horizon: int | None = None
    anneal: bool | None = None
    patience: int | None = None
    tenure: tuple[int, int] | None = None
    forbid_undo: bool | None = None
    recent: int = RECENT
    annealing: tuple[float, float] | None = None
    gear: str | None = None
    evaluator: Any = None
    exchange: float = 1.0
    scheduler: str | None = None
    parameters: Mapping[str, Any] = field(default_factory=dict)
    log: Callable[[str], None] | bool = False
    known_bounds: bool = True
    label: str = ""

    def __post_init__(self, time_limit: float | None) -> None:
        if time_limit is not None:
            object.__setattr__(self, "stop", ending(self.stop, time_limit))

    def __str__(self) -> str:
        parts = (self.method, self.selector, self.policy, self.neighbourhood, self.initial)
        return self.label or " ".join(part_name(part) for part in parts if part is not None)

    @property
    def given(self) -> dict[str, Any]:
        """The options that differ from their defaults, by name."""
        values = {each.name: getattr(self, each.name) for each in fields(self)}
        defaults = {each.name: {} if each.default is MISSING else each.default for each in fields(self)}
        return {n: value for n, value in values.items() if value is not defaults[n] and value != defaults[n]}

    @property
    def argument(self) -> str | None:
        """The text after the colon in `"method:text"`."""
        return self.method.partition(":")[2] or None if isinstance(self.method, str) else None

    @property
    def limits(self) -> Stop:
        """The stop, in the form that `checked` gives it."""
        return cast(Stop, self.stop)

    def filled(self, **defaults: Any) -> Configuration:
        """With what the method chooses where the user did not."""
        return replace(self, **{name: value for name, value in defaults.items() if getattr(self, name) is None})

    def checked(self, registry: Registry | None = None) -> Configuration:
        """The same with every choice looked at: what a search would refuse is refused here, before anything starts."""
        registry = registry or default_registry()
        for name in self.given:
            if name not in _ALWAYS and not self.takes(name, registry):
                raise L2SError(f"method {self.method} has no use for {name}")
        if not isinstance(self.initial, str | None) and not self.takes("warm_start", registry):
            raise L2SError(f"method {self.method} begins with a rule, and not with {self.initial!r}")
        stop = ending(self.stop) if any(self.takes(limit, registry) for limit in LIMITS) else Stop()
        if not self.takes("max_steps", registry) and (stop.steps is not None or stop.no_improvement is not None):
            raise L2SError(f"method {self.method} takes no steps; limit its seconds")
        changes: dict[str, Any] = {"stop": stop}
        if self.policy is not None:
            if not isinstance(self.selector, str | None):
                raise L2SError("policy= goes with the name of a learned selector; this selector is an object already")
            policy = os.fspath(self.policy)
            if not (os.sep in policy or "." in policy or Path(policy).exists()):
                registry.spec(PolicySpec, policy)  # a file may be there for the workers alone
            changes |= {"selector": f"{self.selector or 'l2s'}:{policy}", "policy": None}
        if self.evaluator is not None:
            from l2s_plugin.evaluator import Evaluator  # imports kernels

            changes["evaluator"] = Evaluator.of(self.evaluator)
        if self.objective not in (None, *OBJECTIVES):
            raise unknown_name("objective", str(self.objective), OBJECTIVES)
        if self.polisher == NO_POLISHER:
            changes["polisher"] = None
        self.check_names(registry)
        for name, least in _LEAST.items():
            value = getattr(self, name)
            if value is not None:
                changes[name] = whole_number(name, value, least)
        if isinstance(self.exchange, bool) or not isinstance(self.exchange, int | float) or not self.exchange > 0:
            raise L2SError(f"exchange must be a positive number of seconds, got {self.exchange!r}")
        for name, fits, expected in _PAIRS:
            value = getattr(self, name)
            if value is not None and not _is_pair(value, fits):
                raise L2SError(f"{name} {expected}, got {value!r}")
        return replace(self, **changes)

    def check_names(self, registry: Registry | None = None) -> None:
        """Refuse names of parts that nobody offers; imports none of the parts."""
        for name, option in COMMAND_LINE.items():
            part = getattr(self, name)
            if option.names is not None and name != "policy" and (name, part) != ("polisher", NO_POLISHER):
                (registry or default_registry()).check(option.names, part)

    def spec(self, registry: Registry | None = None) -> MethodSpec | None:
        """What is said about the method, unless it is a function."""
        if callable(self.method):
            return None
        if not isinstance(self.method, str):
            raise L2SError(f"a method is a name or a function, got {self.method!r}")
        return cast(MethodSpec, (registry or default_registry()).spec(MethodSpec, self.method.partition(":")[0]))

    def takes(self, option: str, registry: Registry | None = None) -> bool:
        """Whether an option means something to the method."""
        spec = self.spec(registry)
        return spec is None or spec.options is None or option in spec.options


def _is_pair(given: Any, fits: Callable[[Any, Any], bool]) -> bool:
    try:
        return fits(*given)
    except TypeError:
        return False


_PAIRS: tuple[tuple[str, Callable[[Any, Any], bool], str], ...] = (
    ("tenure", lambda a, b: 1 <= index(a) <= index(b), "must be (low, high) in steps with 1 <= low <= high"),
    ("annealing", lambda a, b: a > 0 and 0 < b <= 1, "needs a positive temperature and a cooling in (0, 1]"),
)


def part_name(part: Any) -> str:
    """What messages and results call a part: by its own name, or that of its function or class."""
    if isinstance(part, str | os.PathLike):
        return str(part)
    part = getattr(part, "func", part)  # of a partial one
    return getattr(part, "name", None) or getattr(part, "__name__", None) or type(part).__name__


class CommandLine(NamedTuple):
    """How `l2s solve` offers a field: as `spelling`, with what it takes."""

    help: str
    names: type[Spec] | None = None  # the kind of plugin whose names it takes
    metavar: str | None = "NAME"
    takes: type = str
    least: int = 0
    choices: tuple[str, ...] = ()
    spelling: str = ""  # that of the field unless given


def _number(text: str, least: int) -> CommandLine:
    return CommandLine(text, None, "N", int, least)


def _switch(text: str, spelling: str = "") -> CommandLine:
    return CommandLine(text, None, None, bool, spelling=spelling)


COMMAND_LINE = {
    "objective": CommandLine(
        "What to minimise: the makespan, unless given, or the largest lateness of a job.", metavar=None,
        choices=OBJECTIVES,
    ),
    "selector": CommandLine("Picks the moves; estimate, or best-improvement (local-search).", SelectorSpec),
    "policy": CommandLine("The policy that a learned selector follows; implies l2s.", PolicySpec, "NAME|FILE"),
    "neighbourhood": CommandLine("Lists the moves; n7, or n5 (local-search).", NeighbourhoodSpec),
    "initial": CommandLine(
        f"Dispatching rule of the first schedule; {FIRST_RULE} unless given.", DispatchingRuleSpec, "RULE",
        spelling="--init",
    ),
    "workers": _number("Threads; 1, or all cores (cp-sat, hybrid).", 1),
    "population": _number("Schedules to recombine; 8 to 64.", 2),
    "horizon": _number("Steps that a population plans for; those until the limit.", 1),
    "anneal": _switch(
        "Whether trajectories are annealed; where a run is short for the shop, unless --selector is given.",
        "--anneal/--no-anneal",
    ),
    "patience": _number("Steps without a better schedule before a trajectory gives way.", 1),
    "polisher": CommandLine(
        "Selector of every sixth trajectory of a complete population, or none; l2s-fast:l2s-polish unless given.",
        SelectorSpec,
    ),
    "gear": CommandLine("How steps are taken; the best available.", metavar=None, choices=("compiled", "python")),
    "evaluator": CommandLine(
        "Rates all moves of a step at once, for selectors that go by exact makespans: compiled, message-passing or "
        "message-passing:DEVICE (tabu, local-search).", None, "ENGINE",
    ),
    "forbid_undo": _switch(
        "Whether the last move may be undone at once (local-search); as the selector likes it unless given.",
        "--forbid-undo/--allow-undo",
    ),
    "scheduler": CommandLine("Search on the workers of this dask cluster (cooperation).", metavar="ADDRESS"),
    "parameters": CommandLine(
        "One of CP-SAT's own parameters (cp-sat, hybrid), such as linearization_level=0; several times.",
        metavar="NAME=VALUE", takes=dict, spelling="--cp-sat-parameter",
    ),
    "log": _switch("CP-SAT's own log on standard error (cp-sat, hybrid)."),
    "known_bounds": _switch(
        "Whether to look up the literature's bounds of the classic benchmarks; yes unless told otherwise.",
        "--known-bounds/--no-known-bounds",
    ),
    "seed": _number("Settles every choice.  [default: 0]", 0),
}  # fmt: skip

_OURS = ("heuristics", "integrations")
_ALWAYS = {"method", "objective", "stop", "seed", "known_bounds", "label"}  # of every method
_LEAST = {"recent": 0} | {name: option.least for name, option in COMMAND_LINE.items() if option.takes is int}


class Options(TypedDict, total=False):
    """The keyword arguments of every search beside selector, neighbourhood and stop: see `Configuration`."""

    policy: str | Path | None
    initial: Any
    objective: str | None
    time_limit: float | None
    seed: int
    workers: int | None
    polisher: Any
    population: int | None
    horizon: int | None
    patience: int | None
    tenure: tuple[int, int] | None
    forbid_undo: bool | None
    recent: int
    annealing: tuple[float, float] | None
    gear: str | None
    evaluator: Any
    exchange: float
    parameters: Mapping[str, Any]
    log: Callable[[str], None] | bool
    known_bounds: bool


class SearchOptions(Options, total=False):
    """The same, and those of `run`."""

    listener: Listener | None
    registry: Registry | None


def search(
    method: str, instance: Instance, listener: Listener | None = None, registry: Registry | None = None, **options: Any
) -> Result:
    """Search with options given as keyword arguments."""
    return run(instance, Configuration(method, **options), listener, registry)


def run(
    instance: Instance,
    configuration: Configuration,
    listener: Listener | None = None,
    registry: Registry | None = None,
) -> Result:
    """Search an instance as the configuration says.

    Parameters
    ----------
    listener
        Called with an `Improvement` whenever a better schedule is found.
    registry
        Where names are looked up; the installed plugins when None.
    """
    from heuristics.hosts.dispatching import check_schedule
    from heuristics.monitor import Monitor
    from heuristics.result import Result
    from l2s_plugin.instance import check_instance

    check_instance(instance)
    registry = registry or default_registry()
    way = configuration.checked(registry)
    instance = instance.with_objective(way.objective)
    if way.limits.makespan is not None and way.limits.makespan < 0 and instance.objective == MAKESPAN:
        raise L2SError(f"target must be 0 or more where the objective is the makespan, got {way.limits.makespan}")
    monitor = Monitor(instance, way, listener, registry)
    if callable(way.method):
        return way.method(instance, way, monitor)
    method = registry.load(MethodSpec, way.method.partition(":")[0])
    if method.__module__.partition(".")[0] in _OURS:
        return cast(Result, method(instance, way, monitor))
    who = f"method {way.method!r}"
    with contained(f"{who} raised"):
        result = method(instance, way, monitor)
    if not isinstance(result, Result) or result.instance != instance:
        raise PluginError(f"{who} must return a Result of {instance!r}, got {result!r}")
    check_schedule(instance, result.schedule, who)
    return result
