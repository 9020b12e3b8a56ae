"""All hooks, on one page. Implement any of them in a module or object and name it in an entry point.

```toml
[project.entry-points.l2s_plugin]
my-plugin = "my_package.plugin"
```

The hooks that offer something are called once, when plugins are loaded; they return small specs whose targets
are imported only when a user asks for them. The observers are called when a run finds a better schedule and
when it ends. No hook is ever called per move.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import pluggy

if TYPE_CHECKING:
    from l2s_plugin import specs
    from l2s_plugin.instance import Instance

PROJECT = "l2s_plugin"

hookspec = pluggy.HookspecMarker(PROJECT)
hookimpl = pluggy.HookimplMarker(PROJECT)


@hookspec
def l2s_selectors() -> Iterable[specs.SelectorSpec]:  # type: ignore[empty-body]
    """Offer move selectors: an iterable of `SelectorSpec(name, target="module:attribute", summary=...)`."""


@hookspec
def l2s_methods() -> Iterable[specs.MethodSpec]:  # type: ignore[empty-body]
    """Offer ways to search, for `l2s solve --method` and everything else that runs one: an iterable of `MethodSpec`."""


@hookspec
def l2s_neighbourhoods() -> Iterable[specs.NeighbourhoodSpec]:  # type: ignore[empty-body]
    """Offer neighbourhoods: an iterable of `NeighbourhoodSpec`."""


@hookspec
def l2s_dispatching_rules() -> Iterable[specs.DispatchingRuleSpec]:  # type: ignore[empty-body]
    """Offer dispatching rules, which build first schedules: an iterable of `DispatchingRuleSpec`."""


@hookspec
def l2s_policies() -> Iterable[specs.PolicySpec]:  # type: ignore[empty-body]
    """Offer trained policies for the learned selectors: an iterable of `PolicySpec`."""


@hookspec
def l2s_instance_formats() -> Iterable[specs.InstanceFormatSpec]:  # type: ignore[empty-body]
    """Offer file formats for instances: an iterable of `InstanceFormatSpec`."""


@hookspec
def l2s_renderers() -> Iterable[specs.RendererSpec]:  # type: ignore[empty-body]
    """Offer ways to draw a schedule, named after a file ending (`png`): an iterable of `RendererSpec`."""


@hookspec
def l2s_incumbent(event: Any) -> None:
    """Observe a better schedule.

    `event` has `instance`, `makespan`, `step`, `seconds`, `lower_bound` and `bound_source`.
    """


@hookspec
def l2s_search_finished(instance: Instance, result: Any) -> None:
    """Observe the end of a run and its result."""
