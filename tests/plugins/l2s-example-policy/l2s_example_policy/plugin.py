"""What this package offers: one policy, and one whose file was forgotten."""

from __future__ import annotations

from l2s_plugin import PolicySpec, hookimpl


@hookimpl
def l2s_policies() -> list[PolicySpec]:
    return [
        PolicySpec("example-random", "l2s_example_policy.files:example_random", "random weights, not trained"),
        PolicySpec("example-forgotten", "l2s_example_policy.files:forgotten", "its file is not there"),
    ]
