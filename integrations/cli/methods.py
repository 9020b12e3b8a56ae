"""What `l2s solve --method` can name: one line per method in `METHODS`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from integrations.cli.parts import NO_POLISHER

if TYPE_CHECKING:
    from heuristics.monitor import Listener
    from heuristics.result import Result
    from l2s_plugin.instance import Instance
    from l2s_plugin.schedule import Schedule
    from l2s_plugin.stop import Stop


@dataclass(frozen=True)
class Settings:
    """What the user asked for; None where the method's own default is meant."""

    seed: int
    stop: Stop
    initial: str | Schedule | None = None
    selector: str | None = None
    neighbourhood: str | None = None
    workers: int | None = None
    population: int | None = None
    polisher: str | None = None
    gear: str | None = None
    forbid_undo: bool | None = None
    scheduler: str | None = None
    known_bounds: bool | None = None
    parameters: dict[str, str] | None = None
    log: bool | None = None
    listener: Listener | None = None

    def given(self, *names: str) -> dict[str, Any]:
        """Those of the named settings that are not left to the method, as keyword arguments."""
        given = {name: getattr(self, name) for name in names if getattr(self, name) is not None}
        return given | ({"polisher": None} if given.get("polisher") == NO_POLISHER else {})


_TRAJECTORY = ("stop", "seed", "initial", "selector", "neighbourhood", "listener", "known_bounds")

_CP_SAT = ("parameters", "log")


def tabu(instance: Instance, settings: Settings) -> Result:
    """A population of trajectories, or a single one; on a cluster, a population on every worker."""
    from heuristics import solve, tabu_search

    if settings.scheduler is not None:
        return _on_cluster(instance, settings, settings.scheduler)
    if settings.population == 1:
        return tabu_search(instance, **settings.given(*_TRAJECTORY, "gear"))
    return solve(instance, **settings.given(*_TRAJECTORY, "workers", "population", "polisher", "gear"))


def _on_cluster(instance: Instance, settings: Settings, address: str) -> Result:
    from heuristics import cooperate
    from integrations.cluster import executor_for

    with executor_for(address) as executor:
        options = {"workers": executor.workers} | settings.given(
            *_TRAJECTORY, "workers", "population", "polisher", "gear"
        )
        return cooperate(instance, executor=executor, **options)


def local_search(instance: Instance, settings: Settings) -> Result:
    """One trajectory without a memory of forbidden arcs."""
    from heuristics import local_search

    return local_search(instance, **settings.given(*_TRAJECTORY, "gear", "forbid_undo"))


def dispatch(instance: Instance, settings: Settings) -> Result:
    """One schedule of a dispatching rule, in the form in which searches report theirs."""
    from heuristics import dispatch
    from heuristics.monitor import Monitor

    rule = settings.initial or "fdd/mwkr"
    with Monitor(instance, settings.stop, **settings.given("known_bounds")) as monitor:
        schedule = dispatch(instance, rule, settings.seed)
        monitor.record(0, schedule.makespan)
        return monitor.report("dispatch", schedule, settings.seed, seconds=monitor.history[0][0], initial=rule)


def cp_sat(instance: Instance, settings: Settings) -> Result:
    """CP-SAT, which begins with the schedule or the dispatching rule given, or with nothing."""
    from heuristics import dispatch
    from integrations import cp_sat

    initial = settings.initial
    if isinstance(initial, str):
        initial = dispatch(instance, initial, settings.seed)
    return cp_sat.solve(
        instance, initial, **settings.given("stop", "seed", "workers", "listener", "known_bounds", *_CP_SAT)
    )


def hybrid(instance: Instance, settings: Settings) -> Result:
    """The population of trajectories and CP-SAT, side by side."""
    from integrations import cp_sat

    names = {*_TRAJECTORY, *_CP_SAT, "workers", "population", "polisher", "gear"} - {"initial"}
    begin = "initial" if isinstance(settings.initial, str) else "warm_start"
    options = {begin: settings.initial, **settings.given(*names)}
    return cp_sat.hybrid(instance, **options)


class Method(NamedTuple):
    """How to run a method, and which options mean something to it beyond those of every method."""

    run: Callable[[Instance, Settings], Result]
    options: frozenset[str]
    repeatable: bool = True  # with a limit in steps


_LIMITS = frozenset({"time_limit", "max_steps", "target", "no_improvement"})
_SEARCH = _LIMITS | {"init", "warm_start", "selector", "policy", "neighbourhood", "gear"}

METHODS = {
    "tabu": Method(tabu, _SEARCH | {"workers", "population", "polisher", "scheduler"}),
    "local-search": Method(local_search, _SEARCH | {"forbid_undo"}),
    "cp-sat": Method(
        cp_sat,
        frozenset({"time_limit", "target", "init", "warm_start", "workers", "cp_sat_parameter", "log"}),
        repeatable=False,
    ),
    "hybrid": Method(
        hybrid, _SEARCH | {"workers", "population", "polisher", "cp_sat_parameter", "log"}, repeatable=False
    ),
    "dispatch": Method(dispatch, frozenset({"init"})),
}

AUTOMATIC = ("tabu", "hybrid")  # from which `choice.choose` takes one where the user names none


def methods_with(option: str) -> list[str]:
    """The methods to which an option means something; none for the options of every method."""
    return [name for name, method in METHODS.items() if option in method.options]
