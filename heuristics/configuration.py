"""How to search: a method and its parts, as data that travels to other processes and machines."""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from importlib import import_module
from operator import attrgetter
from pathlib import Path
from typing import Any

from heuristics.result import Result
from l2s_plugin.errors import L2SError, unknown_name
from l2s_plugin.registry import default_registry
from l2s_plugin.schedule import Schedule
from l2s_plugin.specs import DispatchingRuleSpec, NeighbourhoodSpec, PolicySpec, SelectorSpec
from l2s_plugin.stop import Stop, ending

# names for Configuration.method; a worker imports the target when the first task asks for it
METHODS = {
    "tabu": "heuristics:tabu_search",
    "local-search": "heuristics:local_search",
    "solve": "heuristics:solve",
    "cp-sat": "integrations.cp_sat:solve",
    "hybrid": "integrations.cp_sat:hybrid",
}

Method = str | Callable[..., Result]


@dataclass(frozen=True)
class Configuration:
    """How to search; None where the method's own default is meant.

    Parameters
    ----------
    method
        `tabu` (one trajectory), `local-search`, `solve` (a population of them), `cp-sat`, `hybrid`; or any function
        that takes `(instance, *, stop, seed)` and gives a `Result`, itself or as `"module:function"`.
    selector, neighbourhood, initial
        As the method takes them.
    policy
        Name or file of a policy for a learned selector, `l2s` unless `selector` says otherwise. Files must be there for
        the workers, too.
    stop
        When to end; the portfolio's if None.
    options
        Further keyword arguments of the method. Those with `workers` get 1 unless it is said here.
    label
        For tables and messages; made up of the above if empty.
    """

    method: Method = "solve"
    selector: Any = None
    neighbourhood: Any = None
    policy: str | Path | None = None
    initial: Any = None
    stop: Stop | None = None
    options: Mapping[str, Any] = field(default_factory=dict)
    label: str = ""

    def __str__(self) -> str:
        parts = (self.method, self.selector, self.policy, self.neighbourhood, self.initial)
        return self.label or " ".join(getattr(part, "name", None) or _text(part) for part in parts if part is not None)

    def arguments(self) -> dict[str, Any]:
        """What the method is called with, beside instance, stop and seed."""
        selector = self.selector
        if self.policy is not None:
            if not isinstance(selector, str | None):
                raise L2SError("policy= goes with the name of a learned selector; this selector is an object already")
            selector = f"{selector or 'l2s'}:{self.policy}"
        given = {"selector": selector, "neighbourhood": self.neighbourhood, "initial": self.initial}
        return {name: value for name, value in given.items() if value is not None} | dict(self.options)


def checked(given: Configuration | Method, stop: Stop | None) -> Configuration:
    """A configuration with a stop; what a worker would refuse is refused here, before anything starts."""
    configuration = given if isinstance(given, Configuration) else Configuration(given)
    configuration = replace(configuration, stop=ending(configuration.stop or stop))
    known = inspect.signature(find_method(configuration.method)).parameters
    arguments = configuration.arguments()
    if not any(parameter.kind is parameter.VAR_KEYWORD for parameter in known.values()):
        for name in arguments.keys() - known:
            raise L2SError(f"method {_text(configuration.method)} has no use for {name}")
    for name, kind in (
        ("selector", SelectorSpec),
        ("polisher", SelectorSpec),
        ("neighbourhood", NeighbourhoodSpec),
        ("initial", DispatchingRuleSpec),
    ):
        default_registry().check(kind, arguments.get(name))
    policy = configuration.policy
    if isinstance(policy, str) and not (os.sep in policy or "." in policy or Path(policy).exists()):
        default_registry().spec(PolicySpec, policy)  # a file may be there for the workers alone
    return configuration


def find_method(method: Method) -> Callable[..., Result]:
    """The function behind `Configuration.method`."""
    if callable(method):
        return method
    if not isinstance(method, str):
        raise L2SError(f"a configuration is a method's name, a function or a Configuration, got {method!r}")
    module, colon, attribute = METHODS.get(method, method).partition(":")
    if not colon:
        raise unknown_name("method", method, METHODS, ', and no "module:function"')
    try:
        return attrgetter(attribute)(import_module(module))
    except (ImportError, AttributeError) as error:
        raise L2SError(f"method {method!r}: {error}") from error


def create_selector(name: str) -> Any:
    """The selector of that name; one that holds a network is kept for the next tasks of this process."""
    file = Path(name.partition(":")[2])
    return _load_selector(name, file.stat().st_mtime_ns if file.is_file() else 0) or _create(name)


@cache
def _load_selector(name: str, version: int) -> Any:
    """A learned selector, or None: others may keep something of a search, and are made anew for each."""
    selector = _create(name)
    return selector if hasattr(selector, "policy") else None


def _create(name: str) -> Any:
    return default_registry().create(SelectorSpec, name)


def _text(part: Any) -> str:
    if isinstance(part, str | os.PathLike | Schedule):
        return str(part)
    return getattr(part, "__name__", None) or type(part).__name__
