"""The parts of a search that options name: looked up before anything is compiled or run."""

from __future__ import annotations

from typing import Any

import click

from l2s_plugin.errors import unknown_name

LEARNED = ("l2s", "l2s-greedy", "l2s-fast")  # the selectors that follow a policy


class MethodName(click.Choice):  # type: ignore[type-arg, unused-ignore]
    """One of the methods; another word is answered with those that are close to it."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if value not in self.choices:
            self.fail(str(unknown_name("method", str(value), self.choices)), param, ctx)
        return value


def check_parts(selector: str | None, neighbourhood: str | None, rule: str | None) -> None:
    """Refuse names that nobody offers, and policies that cannot be read; imports none of the parts."""
    from l2s_plugin.registry import default_registry
    from l2s_plugin.specs import DispatchingRuleSpec, NeighbourhoodSpec, SelectorSpec

    parts = ((SelectorSpec, selector), (NeighbourhoodSpec, neighbourhood), (DispatchingRuleSpec, rule))
    for kind, value in parts:
        if value is not None:
            default_registry().spec(kind, value.partition(":")[0])
    name, colon, policy = (selector or "").partition(":")
    if colon and name in LEARNED:
        from l2s_plugin.policy.library import find_policy

        find_policy(policy)
