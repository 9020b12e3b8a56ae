"""Policies by name: those that plugins ship, and files."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from l2s_plugin.containment import contained
from l2s_plugin.errors import L2SError, PluginError, PolicyError, UnknownNameError
from l2s_plugin.policy.checkpoint import Policy, load_policy
from l2s_plugin.registry import OWN_DISTRIBUTION, Registry, default_registry
from l2s_plugin.specs import PolicySpec

# the policies that come with this package; docs/policies.md has their training records and figures
_FOLDER = Path(__file__).parents[1] / "data" / "policies"
L2S, L2S_GRAPH, L2S_FAST, L2S_POLISH = (
    _FOLDER / f"{name}.safetensors" for name in ("l2s", "l2s-graph", "l2s-fast", "l2s-polish")
)

NO_POLICY = (
    "no policy is installed, and none was given; give one with --policy NAME|FILE, "
    "or in Python as selector='l2s:NAME|FILE' (see docs/policies.md)"
)


def find_policy(
    name_or_file: str | Path | Policy | None = None, registry: Registry | None = None, host: str | None = None
) -> Policy:
    """The policy of that name, or in that file.

    A text is looked up among the installed policies first, then as a file; a `Path` is always a file. Without
    anything given, the first policy that this project itself ships and has trained in `host`, or else the first that it
    ships, or else the only one installed.
    """
    if isinstance(name_or_file, Policy):
        return name_or_file
    if isinstance(name_or_file, Path):
        return load_policy(name_or_file)
    registry = registry or default_registry()
    if name_or_file is None:
        return _default_policy(registry, host)
    try:
        registry.spec(PolicySpec, name_or_file)
    except UnknownNameError as error:
        path = Path(name_or_file)
        if path.exists() or path.suffix == ".safetensors":
            return load_policy(path)
        raise UnknownNameError(f"{error} (and there is no such file)") from None
    return load_policy(policy_path(name_or_file, registry), name_or_file)


def policy_path(name: str, registry: Registry) -> Path:
    """The checkpoint file of an installed policy."""
    target, origin = registry.load(PolicySpec, name), registry.spec(PolicySpec, name).target
    if callable(target) and not isinstance(target, os.PathLike):
        with contained(f"policy {name!r}: {origin} raised"):
            target = target()
    if not isinstance(target, str | os.PathLike):
        kind = type(target).__name__
        raise PluginError(f"policy {name!r}: {origin} must be a path or a function that returns one, got {kind}")
    return Path(target)


def installed_policies(registry: Registry | None = None) -> list[tuple[str, Callable[[], Policy]]]:
    """Name of every installed policy and a function that loads it, or raises an `L2SError`."""
    registry = registry or default_registry()
    names = dict.fromkeys(spec.name for spec in registry.specs(PolicySpec))
    return [(name, partial(find_policy, name, registry)) for name in names]


def _default_policy(registry: Registry, host: str | None) -> Policy:
    own = [plugin.offers for plugin in registry.plugins if plugin.distribution == OWN_DISTRIBUTION]
    shipped = [spec.name for offers in own for spec in offers if spec.kind == PolicySpec.kind]
    if shipped:
        policies = (find_policy(name, registry) for name in shipped)
        first = next(policies)
        if host in (None, first.host.get("method")):
            return first
        return next((policy for policy in policies if policy.host.get("method") == host), first)
    names = sorted({spec.name for spec in registry.specs(PolicySpec)})
    if not names:
        raise PolicyError(NO_POLICY)
    if len(names) > 1:
        raise PolicyError(f"several policies are installed, say which with --policy or 'l2s:NAME': {', '.join(names)}")
    return find_policy(names[0], registry)


def describe(name: str, load: Callable[[], Policy]) -> dict[str, Any]:
    """One entry of the listing: the policy, or its name and what is wrong with it."""
    try:
        return load().to_dict() | {"name": name, "error": None}
    except L2SError as error:
        return {"name": name, "error": str(error)}
