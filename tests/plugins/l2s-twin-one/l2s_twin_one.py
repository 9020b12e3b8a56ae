"""Two distributions with the same entry-point name offer a rule of the same name, and one of their own."""

from l2s_plugin import DispatchingRuleSpec, hookimpl


class Rule:
    def __call__(self, instance, seed):
        from heuristics.hosts.dispatching import dispatch

        return dispatch(instance, "spt", seed)


@hookimpl
def l2s_dispatching_rules():
    return [
        DispatchingRuleSpec("twin", "l2s_twin_one:Rule", "claimed twice"),
        DispatchingRuleSpec("twin-one", "l2s_twin_one:Rule", "claimed once"),
    ]
