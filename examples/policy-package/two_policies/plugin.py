"""What the package offers: the entry point in pyproject.toml leads here."""

from l2s_plugin import PolicySpec, hookimpl


@hookimpl
def l2s_policies():
    return [
        PolicySpec("first", "two_policies:first", "random weights, not trained"),
        PolicySpec("second", "two_policies:second", "over moves, trained for shops of two stages (train.toml)"),
    ]
