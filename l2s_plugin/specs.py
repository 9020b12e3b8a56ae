"""What a plugin offers: a name, a sentence for listings, and where the code is, imported only on first use."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
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

    def load(self) -> Any:
        """Import the target."""
        module, _, attribute = self.target.partition(":")
        return getattr(import_module(module), attribute)

    def problem(self) -> str | None:
        """What is wrong with this spec, if anything (checked when plugins are loaded)."""
        if not isinstance(self.name, str) or not self.name or not _NAME_CHARACTERS.issuperset(self.name):
            return f"name must consist of letters, digits and - _ . /, got {self.name!r}"
        if not isinstance(self.target, str) or not all(self.target.partition(":")):
            return f'target of {self.name!r} must look like "module:attribute", got {self.target!r}'
        return None


_NAME_CHARACTERS = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./")


class SelectorSpec(Spec):
    """Picks one of the candidate moves; target: see `l2s_plugin.selectors`."""

    kind = "selector"
    hook = "l2s_selectors"


class NeighbourhoodSpec(Spec):
    """Lists the candidate moves of a state; target: see `l2s_plugin.neighbourhoods`."""

    kind = "neighbourhood"
    hook = "l2s_neighbourhoods"


class DispatchingRuleSpec(Spec):
    """Builds a first schedule; target: `rule(instance, seed) -> Schedule`."""

    kind = "dispatching rule"
    hook = "l2s_dispatching_rules"


class PolicySpec(Spec):
    """A trained policy; target: path of a checkpoint file, or a function that returns one."""

    kind = "policy"
    hook = "l2s_policies"


class InstanceFormatSpec(Spec):
    """Reads and writes instance files; target: see `l2s_plugin.formats`."""

    kind = "instance format"
    hook = "l2s_instance_formats"


class RendererSpec(Spec):
    """Draws a schedule; target: `draw(schedule, path=None, **options)`. Named after the file's ending."""

    kind = "renderer"
    hook = "l2s_renderers"


SPECS: tuple[type[Spec], ...] = (
    SelectorSpec,
    NeighbourhoodSpec,
    DispatchingRuleSpec,
    PolicySpec,
    InstanceFormatSpec,
    RendererSpec,
)
