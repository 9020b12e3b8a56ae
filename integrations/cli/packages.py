"""Notices folders of the user's that stand in the way of our packages, before anything of theirs is taken for ours."""

from __future__ import annotations

import sys
from importlib.util import find_spec
from pathlib import Path

_HOME = Path(__file__).parent.parent.parent


def shadowed() -> str | None:
    """What is in the way of a package, if anything is: all three live in one folder."""
    for package in ("l2s_plugin", "heuristics"):
        spec = find_spec(package)
        for place in (spec and spec.submodule_search_locations) or ([spec.origin] if spec and spec.origin else []):
            if Path(place).parent.resolve() != _HOME.resolve():
                return f"{place} is in the way of the package {package} in {_HOME}; rename it, or work elsewhere"
    return None


if problem := shadowed():
    print(f"Error: {problem}", file=sys.stderr)
    raise SystemExit(2)
