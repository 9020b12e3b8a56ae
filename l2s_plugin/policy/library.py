"""Policies by name: those that plugins ship, and files."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from l2s_plugin.errors import L2SError, PluginError, PolicyError, UnknownNameError
from l2s_plugin.policy.checkpoint import Policy, load_policy
from l2s_plugin.registry import OWN_DISTRIBUTION, Registry, default_registry
from l2s_plugin.specs import PolicySpec

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
    target = registry.load(PolicySpec, name)
    spec = registry.spec(PolicySpec, name)
    if callable(target) and not isinstance(target, os.PathLike):
        try:
            target = target()
        except Exception as error:
            raise PluginError(f"policy {name!r}: {spec.target} raised {type(error).__name__}: {error}") from error
    if not isinstance(target, str | os.PathLike):
        raise PluginError(
            f"policy {name!r}: {spec.target} must be a path or a function that returns one, got {type(target).__name__}"
        )
    return Path(target)


def installed_policies(registry: Registry | None = None) -> Iterator[tuple[str, Callable[[], Policy]]]:
    """Name of every installed policy and a function that loads it, or raises an `L2SError`."""
    registry = registry or default_registry()
    for name in dict.fromkeys(spec.name for spec in registry.specs(PolicySpec)):

        def load(name: str = name) -> Policy:
            return find_policy(name, registry)

        yield name, load


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
