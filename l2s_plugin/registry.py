"""Finds plugins, keeps what they offer, and says clearly what went wrong with those that failed.

pluggy's own entry-point loader drops the second of two equal entry-point names, stops at the first import
error and accepts misspelt hooks in silence. This one registers every plugin as `distribution:name`, keeps
each failure for `l2s plugins` and for error messages, and lets everything else work.
"""

from __future__ import annotations

import os
import re
import warnings
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from typing import Any

import pluggy

from l2s_plugin import hookspecs
from l2s_plugin.containment import CtrlC, contained, ctrl_c_told_apart
from l2s_plugin.errors import L2SError, PluginError, unknown_name
from l2s_plugin.specs import SPECS, Spec

OWN_DISTRIBUTION = "l2s-plugin"
DISABLE_VARIABLE = "L2S_DISABLE_PLUGINS"

HOOKS = tuple(name for name in vars(hookspecs) if name.startswith("l2s_"))
OBSERVERS = tuple(name for name in HOOKS if name not in {kind.hook for kind in SPECS})
_LONGEST_ERROR = 300


@dataclass
class Plugin:
    """One plugin: where it comes from, what it offers, and why it failed, if it did."""

    distribution: str
    name: str
    version: str = ""
    offers: list[Spec] = field(default_factory=list)
    observes: list[str] = field(default_factory=list)
    error: str | None = None
    disabled: bool = False

    @property
    def id(self) -> str:
        return f"{self.distribution}:{self.name}"

    @property
    def is_own(self) -> bool:
        return self.distribution == OWN_DISTRIBUTION

    def as_dict(self) -> dict[str, Any]:
        offers: dict[str, list[str]] = {}
        for spec in self.offers:
            offers.setdefault(spec.kind, []).append(spec.name)
        return vars(self) | {"offers": offers}


class Registry:
    """The plugins of one process and the names they offer."""

    def __init__(self) -> None:
        self.plugins: list[Plugin] = []
        self._manager = pluggy.PluginManager(hookspecs.PROJECT)
        self._manager.add_hookspecs(hookspecs)

    @classmethod
    def discover(cls) -> Registry:
        """Load every installed plugin that `L2S_DISABLE_PLUGINS` does not switch off.

        The variable lists distributions or `distribution:name`, separated by commas; `*` stands for all but
        our own.
        """
        registry = cls()
        disabled = {_normal(word) for word in os.environ.get(DISABLE_VARIABLE, "").split(",") if word.strip()}
        found = [(_plugin(each), each) for each in dict.fromkeys(entry_points(group=hookspecs.PROJECT))]
        for plugin, entry_point in sorted(found, key=lambda pair: (not pair[0].is_own, pair[0].id)):
            if not plugin.is_own and disabled & {"*", _normal(plugin.distribution), _normal(plugin.id)}:
                plugin.error, plugin.disabled = f"switched off by {DISABLE_VARIABLE}", True
                registry.plugins.append(plugin)
            else:
                registry._add(plugin, entry_point.load)
        return registry

    def register(self, module_or_object: Any, name: str) -> None:
        """Add a plugin of the running program, as a notebook or a test does; raises when it is broken."""
        plugin = self._add(Plugin("(this process)", name), lambda: module_or_object)
        if plugin.error:
            self.plugins.remove(plugin)
            raise PluginError(f"plugin {plugin.id}: {plugin.error}")

    def _add(self, plugin: Plugin, load: Callable[[], Any]) -> Plugin:
        self.plugins.append(plugin)
        try:
            with contained(""):  # a plugin may fail in any way, the others must work
                implementation = load()
                self._manager.register(implementation, name=plugin.id)
                self._check_hooks(plugin, implementation)
                plugin.offers = [spec for kind in SPECS for spec in self._collect(plugin, kind)]
        except L2SError as error:
            text = " ".join(str(error).split())
            plugin.error = text if len(text) <= _LONGEST_ERROR else f"{text[:_LONGEST_ERROR]} ..."
            if self._manager.has_plugin(plugin.id):
                self._manager.unregister(name=plugin.id)
        return plugin

    def _check_hooks(self, plugin: Plugin, implementation: Any) -> None:
        """Reject a misspelt hook, an unmarked one, and a plugin in which nothing is marked with @hookimpl."""
        marked = [caller.name for caller in self._manager.get_hookcallers(implementation) or []]
        for name in marked:
            if name not in HOOKS:
                raise PluginError(str(unknown_name("hook", name, HOOKS)))
        for name in HOOKS:
            if name not in marked and callable(getattr(implementation, name, None)):
                raise PluginError(f"hook {name} is not marked with @l2s_plugin.hookimpl")
        if not marked:
            raise PluginError("implements no hook; mark its functions with @l2s_plugin.hookimpl")
        plugin.observes = [name for name in OBSERVERS if name in marked]

    def _collect(self, plugin: Plugin, kind: type[Spec]) -> Iterable[Spec]:
        """Call one hook of one plugin and check what it returns; None means nothing to offer."""
        found: dict[str, Spec] = {}
        hook = f"hook {kind.hook}"
        for implementation in getattr(self._manager.hook, kind.hook).get_hookimpls():
            if implementation.plugin_name != plugin.id:
                continue
            with contained(f"{hook} raised"):
                offers = implementation.function()
                if offers is None:
                    continue
                if isinstance(offers, str) or not isinstance(offers, Iterable):
                    raise PluginError(f"{hook} must return an iterable of {kind.__name__}, got {offers!r}")
                offers = list(offers)  # may raise, too, when the hook is a generator
            for spec in offers:
                if not isinstance(spec, kind):
                    raise PluginError(f"{hook} must offer {kind.__name__}, got {spec!r}")
                if problem := spec.problem():
                    raise PluginError(f"{hook}: {problem}")
                if spec.name in found:
                    raise PluginError(f"{hook} offers {spec.name!r} twice")
                found[spec.name] = spec
        return found.values()

    def failures(self) -> str:
        """A remark, for error messages, on the plugins that could not be used and those that are switched off."""
        failed = [plugin for plugin in self.plugins if plugin.error]
        remarks = [f"plugin {each.id} {'is' if each.disabled else 'failed:'} {each.error}" for each in failed]
        return f" ({'; '.join(remarks)})" if failed else ""

    def conflicts(self) -> dict[tuple[str, str], list[Plugin]]:
        """Names that several plugins claim; using one is an error."""
        owners: dict[tuple[str, str], list[Plugin]] = {}
        for plugin in self.plugins:
            for spec in plugin.offers:
                owners.setdefault((spec.kind, spec.name), []).append(plugin)
        return {key: plugins for key, plugins in owners.items() if len(plugins) > 1}

    def specs(self, kind: type[Spec]) -> list[Spec]:
        """Everything of one kind, in the order of the plugins."""
        return [spec for plugin in self.plugins for spec in plugin.offers if spec.kind == kind.kind]

    def spec(self, kind: type[Spec], name: str) -> Spec:
        """The spec behind a name, or an error with close matches, failed plugins or both owners."""
        found = [spec for spec in self.specs(kind) if spec.name == name]
        if not found:
            raise unknown_name(kind.kind, name, [spec.name for spec in self.specs(kind)], self.failures())
        if len(found) > 1:
            claims = " and ".join(plugin.id for plugin in self.conflicts()[kind.kind, name])
            raise PluginError(f"{kind.kind} {name!r} is claimed by {claims}; switch one off with {DISABLE_VARIABLE}")
        return found[0]

    def check(self, kind: type[Spec], value: Any) -> None:
        """Refuse a text that `create` could not find, before anything is imported; whatever else it takes passes."""
        if isinstance(value, str):
            self.spec(kind, value.partition(":")[0])

    def load(self, kind: type[Spec], name: str) -> Any:
        """Import what is behind a name."""
        spec = self.spec(kind, name)
        with contained(f"{self.whose(spec)}: cannot load {spec.target}:"):
            return spec.load()

    def create(self, kind: type[Spec], value: Any) -> Any:
        """Turn what a user wrote into an object: "name", "name:argument", a class, or an object as it is."""
        if isinstance(value, str):
            name, colon, argument = value.partition(":")
            factory = self.load(kind, name)
            with contained(f"{self.whose(self.spec(kind, name))}: {value!r} cannot be created:"):
                return factory(argument) if colon else factory()
        if isinstance(value, type):
            with contained(f"{kind.kind} {value.__name__!r} cannot be created:"):
                return value()
        return value

    def whose(self, spec: Spec) -> str:
        """A part and its plugin, for error messages."""
        owner = next(plugin for plugin in self.plugins if spec in plugin.offers)
        return f"plugin {owner.id}, {spec.kind} {spec.name!r}"

    def observe(self, hook: str, **arguments: Any) -> None:
        """Call the observers of one hook; one that raises is reported and does not stop the run."""
        for implementation in getattr(self._manager.hook, hook).get_hookimpls():
            try:
                with ctrl_c_told_apart():
                    implementation.function(*(arguments[name] for name in implementation.argnames))
            except CtrlC:
                raise
            except BaseException as error:
                message = f"plugin {implementation.plugin_name}, hook {hook} raised {type(error).__name__}: {error}"
                warnings.warn(message, RuntimeWarning, stacklevel=2)


def _plugin(entry_point: EntryPoint) -> Plugin:
    metadata = entry_point.dist.metadata if entry_point.dist else {"Name": None, "Version": None}
    return Plugin(metadata["Name"] or "(unknown distribution)", entry_point.name, metadata["Version"] or "")


def _normal(name: str) -> str:
    """Distribution names as packaging tools compare them: `L2S_Example` is `l2s-example`."""
    return re.sub(r"[-_.]+", "-", name.strip()).lower()


@cache
def default_registry() -> Registry:
    """The installed plugins, loaded on first use."""
    return Registry.discover()
