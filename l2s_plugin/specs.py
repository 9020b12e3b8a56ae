"""What a plugin offers: a name, a sentence for listings, and where the code is (imported on first use)."""

from __future__ import annotations

import re
from dataclasses import dataclass
from importlib import import_module
from operator import attrgetter
from typing import Any, ClassVar


@dataclass(frozen=True)
class Spec:
    """A named offer with a lazy target.

    Parameters
    ----------
    name
        What users type. Letters, digits and `- _ . /`; a colon separates a name from its argument.
    target
        `"module:attribute"`, imported when the name is first used.
    summary
        One sentence for listings.
    """

    name: str
    target: str
    summary: str = ""

    kind: ClassVar[str] = "offer"
    hook: ClassVar[str] = ""

    def __init_subclass__(cls, kind: str | None = None, hook: str | None = None) -> None:
        cls.kind, cls.hook = kind or cls.kind, hook or cls.hook

    def load(self) -> Any:
        """Import the target."""
        module, _, attribute = self.target.partition(":")
        return attrgetter(attribute)(import_module(module))

    def problem(self) -> str | None:
        """What is wrong with this spec, if anything (checked when plugins are loaded)."""
        if not isinstance(self.name, str) or not re.fullmatch(r"[A-Za-z0-9_./-]+", self.name):
            return f"name must consist of letters, digits and - _ . /, got {self.name!r}"
        if not isinstance(self.target, str) or not all(self.target.partition(":")):
            return f'target of {self.name!r} must look like "module:attribute", got {self.target!r}'
        if not isinstance(self.summary, str):
            return f"summary of {self.name!r} must be text, got {self.summary!r}"
        return None


@dataclass(frozen=True)
class MethodSpec(Spec, kind="method", hook="l2s_methods"):
    """Searches: a host for the other parts, or something else that finds schedules.

    Target: a function, called as `method(instance, configuration, monitor)`, which returns a `heuristics.Result`. The
    `configuration` says how to search (`heuristics.Configuration`); the `monitor` is a context manager that runs the
    clock, takes note of better schedules, says when to stop, and makes the result (`heuristics.monitor.Monitor`).

    Parameters
    ----------
    options
        The fields of `Configuration` that mean something to the method, beside those of all methods; the limits among
        `time_limit`, `max_steps`, `target` and `no_improvement`; and `warm_start` if it can begin with a schedule.
        None: whatever is given.
    repeatable
        Whether the same seed and a limit in steps give the same schedule.
    """

    options: frozenset[str] | None = None
    repeatable: bool = True


class SelectorSpec(Spec, kind="selector", hook="l2s_selectors"):
    """Picks one of the candidate moves.

    Target: a class or function that, called without arguments (or with the text after a colon, as in
    `name:text`), gives a selector; see `l2s_plugin.selectors`.
    """


class NeighbourhoodSpec(Spec, kind="neighbourhood", hook="l2s_neighbourhoods"):
    """Lists the candidate moves of a state.

    Target: called as a selector's, gives a `l2s_plugin.neighbourhoods.Neighbourhood`.
    """


class DispatchingRuleSpec(Spec, kind="dispatching rule", hook="l2s_dispatching_rules"):
    """Builds a first schedule.

    Target: called as a selector's, gives a rule; `rule(instance, seed)` returns a `Schedule`.
    """


class PolicySpec(Spec, kind="policy", hook="l2s_policies"):
    """A trained policy; target: the path of a checkpoint file, or a function that returns one."""


class InstanceFormatSpec(Spec, kind="instance format", hook="l2s_instance_formats"):
    """Reads and writes instance files; target: see `l2s_plugin.formats`."""


class RendererSpec(Spec, kind="renderer", hook="l2s_renderers"):
    """Draws a schedule, named after the file's ending; target: `draw(schedule, path=None, **options)`."""


SPECS: tuple[type[Spec], ...] = tuple(Spec.__subclasses__())
