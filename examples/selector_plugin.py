"""A selector of your own, compiled, that searches use by name like a built-in one.

    python examples/selector_plugin.py [INSTANCE] [STEPS]

To share it, put the hook into a package and name its module in pyproject.toml (docs/plugins.md has all the steps):

    [project.entry-points.l2s_plugin]
    my-plugin = "my_package.plugin"
"""

import sys

import l2s_plugin as l2s
from heuristics import tabu_search
from l2s_plugin.selectors import CompiledSelector, score_kernel


@score_kernel
def prefer_short(state, moves, count, parameters, scores):
    """A small estimated makespan is good; of moves with equal estimates, take that of the shorter operation."""
    for row in range(count):
        moved = moves.u[row] if moves.forward[row] else moves.v[row]
        scores[row] = -moves.value[row] - 0.001 * state.duration[moved]


def create() -> CompiledSelector:
    return CompiledSelector("prefer-short", prefer_short)


class MyPlugin:
    @l2s.hookimpl
    def l2s_selectors(self):
        return [l2s.SelectorSpec("prefer-short", f"{__name__}:create", "the smallest estimate, short ones first")]


def main(name: str = "la16", steps: str = "100000") -> None:
    l2s.default_registry().register(MyPlugin(), "my-plugin")  # what an entry point does for an installed package
    instance = l2s.load(name)
    for selector in ("prefer-short", "estimate"):
        result = tabu_search(instance, selector, stop=l2s.stop.steps(int(steps)), seed=1)
        speed = f"{result.steps_per_second:,.0f} steps/s in the {result.gear} gear"
        print(f"{result.selector}: makespan {result.makespan}, {speed}")


if __name__ == "__main__":
    main(*sys.argv[1:])
