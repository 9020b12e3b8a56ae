"""pluggy alone would load this and never call it."""

from l2s_plugin import SelectorSpec, hookimpl


@hookimpl
def l2s_selektors():
    return [SelectorSpec("misspelt", "l2s_misspelt:nothing")]
