"""The parts of a search that options name: looked up before anything is compiled or run."""

from __future__ import annotations

from typing import Any

import click

from l2s_plugin.errors import unknown_name

NO_POLISHER = "none"  # the word for a search in which nothing is polished
LEARNED = ("l2s", "l2s-greedy", "l2s-fast")  # the selectors that follow a policy


class MethodName(click.Choice):  # type: ignore[type-arg, unused-ignore]
    """One of the methods; another word is answered with those that are close to it."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if value not in self.choices:
            self.fail(str(unknown_name("method", str(value), self.choices)), param, ctx)
        return value


def check_parts(selector: str | None, neighbourhood: str | None, rule: str | None, polisher: str | None = None) -> None:
    """Refuse names that nobody offers, and policies that cannot be read; imports none of the parts."""
    from l2s_plugin.registry import default_registry
    from l2s_plugin.specs import DispatchingRuleSpec, NeighbourhoodSpec, SelectorSpec

    selectors = [name for name in (selector, None if polisher == NO_POLISHER else polisher) if name is not None]
    for kind, names in ((SelectorSpec, selectors), (NeighbourhoodSpec, [neighbourhood]), (DispatchingRuleSpec, [rule])):
        for name in names:
            default_registry().check(kind, name)
    for value in selectors:
        name, colon, policy = value.partition(":")
        if colon and name in LEARNED:
            from l2s_plugin.policy.library import find_policy

            find_policy(policy)
