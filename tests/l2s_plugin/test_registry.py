"""Plugins are found, checked and used by name; what goes wrong is said clearly and stays contained."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from l2s_plugin import hookspecs
from l2s_plugin.errors import PluginError, UnknownNameError
from l2s_plugin.hookspecs import hookimpl
from l2s_plugin.registry import HOOKS, OBSERVERS, Registry, default_registry
from l2s_plugin.specs import (
    SPECS,
    DispatchingRuleSpec,
    InstanceFormatSpec,
    MethodSpec,
    NeighbourhoodSpec,
    PolicySpec,
    RendererSpec,
    SelectorSpec,
    Spec,
)

ROOT = Path(__file__).parent.parent.parent


def plugin(**hooks: Any) -> SimpleNamespace:
    """A plugin object whose hooks return, or are, the given values."""
    made = SimpleNamespace()
    for name, value in hooks.items():
        function = value if callable(value) else _returning(value)
        setattr(made, name, hookimpl(specname=name)(function))
    return made


def _returning(value: Any) -> Any:
    return lambda: value


class Thing:
    """What the specs below lead to."""

    def __init__(self, argument: str = "") -> None:
        if argument == "bad":
            raise ValueError("no good")
        self.argument = argument


HERE = f"{__name__}:Thing"


@pytest.mark.parametrize("kind", SPECS, ids=lambda kind: kind.kind)
def test_what_a_hook_offers_can_be_used_by_name(kind: type[Spec]) -> None:
    registry = Registry()
    registry.register(plugin(**{kind.hook: [kind("mine", HERE, "a thing")]}), "test")
    assert [spec.name for spec in registry.specs(kind)] == ["mine"]
    assert registry.spec(kind, "mine").summary == "a thing"
    assert registry.load(kind, "mine") is Thing


def test_every_offering_hook_has_its_own_spec() -> None:
    offering = {
        "l2s_methods": MethodSpec,
        "l2s_selectors": SelectorSpec,
        "l2s_neighbourhoods": NeighbourhoodSpec,
        "l2s_dispatching_rules": DispatchingRuleSpec,
        "l2s_policies": PolicySpec,
        "l2s_instance_formats": InstanceFormatSpec,
        "l2s_renderers": RendererSpec,
    }
    assert {kind.hook: kind for kind in SPECS} == offering
    assert {*offering, *OBSERVERS} == {*HOOKS}
    assert OBSERVERS == ("l2s_incumbent", "l2s_search_finished")


@pytest.mark.parametrize("hook", HOOKS)
def test_every_hook_is_explained_documented_and_tested(hook: str) -> None:
    assert (getattr(hookspecs, hook).__doc__ or "").strip(), f"{hook} has no docstring"
    assert f"`{hook}" in (ROOT / "docs" / "plugins.md").read_text(), f"{hook} is missing in docs/plugins.md"
    tests = [path.read_text() for path in (ROOT / "tests").rglob("*.py")]
    assert any(re.search(rf"\b{hook}\b", text) for text in tests), f"{hook} is mentioned in no test"


@pytest.mark.parametrize("kind", SPECS, ids=lambda kind: kind.kind)
def test_every_spec_is_documented(kind: type[Spec]) -> None:
    assert f"`{kind.__name__}" in (ROOT / "docs" / "plugins.md").read_text()


def test_objects_are_created_with_the_text_after_the_colon() -> None:
    registry = Registry()
    registry.register(plugin(l2s_selectors=[SelectorSpec("mine", HERE)]), "test")
    assert registry.create(SelectorSpec, "mine").argument == ""
    assert registry.create(SelectorSpec, "mine:a:b").argument == "a:b"
    assert isinstance(registry.create(SelectorSpec, Thing), Thing)
    ready = Thing()
    assert registry.create(SelectorSpec, ready) is ready


def test_a_target_may_be_an_attribute_of_an_attribute() -> None:
    registry = Registry()
    registry.register(plugin(l2s_selectors=[SelectorSpec("mine", f"{__name__}:Holder.Inner")]), "test")
    assert registry.load(SelectorSpec, "mine") is Holder.Inner


class Holder:
    class Inner:
        pass


def test_an_unknown_name_shows_close_matches() -> None:
    registry = Registry()
    registry.register(plugin(l2s_selectors=[SelectorSpec("greedy", HERE), SelectorSpec("random", HERE)]), "test")
    with pytest.raises(UnknownNameError, match=r"unknown selector 'gredy'; did you mean greedy\?$"):
        registry.spec(SelectorSpec, "gredy")
    with pytest.raises(UnknownNameError, match=r"unknown selector 'xyz'; known: greedy, random$"):
        registry.spec(SelectorSpec, "xyz")
    with pytest.raises(UnknownNameError, match=r"unknown neighbourhood 'greedy'; known: none$"):
        registry.spec(NeighbourhoodSpec, "greedy")


def test_two_owners_of_one_name_are_an_error_when_it_is_used() -> None:
    registry = Registry()
    registry.register(plugin(l2s_selectors=[SelectorSpec("mine", HERE), SelectorSpec("other", HERE)]), "one")
    registry.register(plugin(l2s_selectors=[SelectorSpec("mine", HERE)]), "two")
    assert [owner.name for owner in registry.conflicts()["selector", "mine"]] == ["one", "two"]
    with pytest.raises(PluginError, match=r"claimed by \(this process\):one and \(this process\):two; .*DISABLE"):
        registry.load(SelectorSpec, "mine")
    assert registry.load(SelectorSpec, "other") is Thing


def test_the_same_name_may_stand_for_different_kinds_of_things() -> None:
    registry = Registry()
    mine = plugin(l2s_selectors=[SelectorSpec("mine", HERE)], l2s_neighbourhoods=[NeighbourhoodSpec("mine", HERE)])
    registry.register(mine, "test")
    assert not registry.conflicts()
    assert registry.spec(SelectorSpec, "mine").kind == "selector"


def _raising() -> list[SelectorSpec]:
    raise ValueError("boom")


def _generating() -> Any:
    yield SelectorSpec("fine", HERE)
    raise ValueError("boom")


@pytest.mark.parametrize(
    ("offers", "message"),
    [
        (5, "hook l2s_selectors must return an iterable of SelectorSpec, got 5"),
        ("mine", "must return an iterable of SelectorSpec, got 'mine'"),
        (["mine"], "hook l2s_selectors must offer SelectorSpec, got 'mine'"),
        ([NeighbourhoodSpec("mine", HERE)], "must offer SelectorSpec, got NeighbourhoodSpec"),
        ([SelectorSpec("my own", HERE)], "name must consist of letters, digits and - _ . /, got 'my own'"),
        ([SelectorSpec("", HERE)], "name must consist of"),
        ([SelectorSpec(None, HERE)], "name must consist of"),  # type: ignore[arg-type]
        (
            [SelectorSpec("mine", "module")],
            """target of 'mine' must look like "module:attribute", got 'module' """,
        ),
        ([SelectorSpec("mine", Thing)], "must look like"),  # type: ignore[arg-type]
        ([SelectorSpec("mine", HERE, 3)], "summary of 'mine' must be text"),  # type: ignore[arg-type]
        ([SelectorSpec("mine", HERE), SelectorSpec("mine", HERE)], "hook l2s_selectors offers 'mine' twice"),
        (_raising, "hook l2s_selectors raised ValueError: boom"),
        (_generating, "hook l2s_selectors raised ValueError: boom"),
    ],
)
def test_rubbish_is_refused_with_its_reason(offers: Any, message: str) -> None:
    registry = Registry()
    with pytest.raises(PluginError, match=re.escape(message.strip())) as caught:
        registry.register(plugin(l2s_selectors=offers), "test")
    assert str(caught.value).startswith("plugin (this process):test: ")
    assert not registry.specs(SelectorSpec)
    assert not registry.plugins
    registry.register(plugin(l2s_selectors=[SelectorSpec("mine", HERE)]), "test")  # nothing was left behind


def test_none_and_generators_are_good_answers() -> None:
    registry = Registry()
    registry.register(plugin(l2s_selectors=None, l2s_neighbourhoods=iter([NeighbourhoodSpec("n", HERE)])), "test")
    assert [spec.name for spec in registry.specs(NeighbourhoodSpec)] == ["n"]


def test_a_misspelt_hook_is_refused_with_the_right_spelling() -> None:
    with pytest.raises(PluginError, match="unknown hook 'l2s_selector'; did you mean l2s_selectors"):
        Registry().register(plugin(l2s_selector=[]), "test")


def test_a_hook_with_a_wrong_argument_is_refused() -> None:
    with pytest.raises(PluginError, match=r"l2s_incumbent.*'schedule'") as caught:
        Registry().register(plugin(l2s_incumbent=lambda schedule: None), "test")
    assert "\n" not in str(caught.value)


def test_a_hook_without_its_marker_is_refused() -> None:
    module = ModuleType("forgetful")
    module.l2s_selectors = list  # type: ignore[attr-defined]
    with pytest.raises(PluginError, match=r"hook l2s_selectors is not marked with @l2s_plugin\.hookimpl"):
        Registry().register(module, "test")
    with pytest.raises(PluginError, match="implements no hook"):
        Registry().register(ModuleType("empty"), "test")


def test_a_target_that_cannot_be_loaded_names_its_plugin() -> None:
    registry = Registry()
    specs = [SelectorSpec("gone", "no_such_module:x"), SelectorSpec("lost", f"{__name__}:Nothing")]
    registry.register(plugin(l2s_selectors=[*specs, SelectorSpec("mine", HERE)]), "test")
    with pytest.raises(PluginError, match=r"plugin .*:test, selector 'gone': cannot load no_such_module:x: ModuleN"):
        registry.load(SelectorSpec, "gone")
    with pytest.raises(PluginError, match=r"selector 'lost': cannot load .*AttributeError"):
        registry.create(SelectorSpec, "lost")
    with pytest.raises(PluginError, match="selector 'mine': 'mine:bad' cannot be created: ValueError: no good"):
        registry.create(SelectorSpec, "mine:bad")


def test_observers_are_called_and_a_failing_one_only_warns() -> None:
    registry = Registry()
    seen: list[Any] = []

    def broken(event: Any) -> None:
        raise RuntimeError("no disk")

    registry.register(plugin(l2s_incumbent=broken), "broken")
    registry.register(plugin(l2s_incumbent=lambda event: seen.append(event)), "good")
    registry.register(plugin(l2s_search_finished=lambda result: seen.append(result)), "end")  # one argument is enough
    with pytest.warns(RuntimeWarning, match=r"plugin .*:broken, hook l2s_incumbent raised RuntimeError: no disk"):
        registry.observe("l2s_incumbent", event="better")
    registry.observe("l2s_search_finished", instance="i", result="r")
    assert seen == ["better", "r"]
    assert [found.observes for found in registry.plugins] == [
        ["l2s_incumbent"],
        ["l2s_incumbent"],
        ["l2s_search_finished"],
    ]


def test_the_built_in_parts_come_through_the_same_hooks() -> None:
    registry = default_registry()
    own = [found for found in registry.plugins if found.distribution == "l2s-plugin"]
    assert [found.name for found in own] == ["core", "heuristics", "integrations"]
    assert not any(found.error for found in own)
    assert {"fdd/mwkr", "spt", "random"} <= {spec.name for spec in registry.specs(DispatchingRuleSpec)}
    assert {"png", "svg", "pdf"} <= {spec.name for spec in registry.specs(RendererSpec)}


def test_every_built_in_target_can_be_loaded() -> None:
    registry = default_registry()
    for found in registry.plugins:
        for spec in found.offers:
            if found.distribution == "l2s-plugin":
                assert spec.load() is not None
                assert spec.summary, f"{spec.kind} {spec.name} has no summary"


def test_listing_keeps_targets_unloaded() -> None:
    registry = Registry()
    registry.register(plugin(l2s_selectors=[SelectorSpec("mine", "antigravity:fly")]), "test")
    registry.plugins[0].as_dict()
    assert "antigravity" not in sys.modules
