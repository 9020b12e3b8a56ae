"""A learned selector in a tabu search, beside rules written by hand: only the name of the selector differs.

    python examples/learned_selector.py [INSTANCE] [STEPS] [SELECTOR]

SELECTOR is `l2s`, which follows the policy that comes with this package, or `l2s:` and the name of another or a file.
"""

import sys

import l2s_plugin as l2s
from heuristics import tabu_search


def main(name: str = "la16", steps: str = "1000", learned: str = "l2s") -> None:
    instance = l2s.load(name)
    for selector in ("estimate", "random", learned):
        result = tabu_search(instance, selector, neighbourhood="n5", stop=l2s.stop.steps(int(steps)), seed=1)
        print(f"{result.selector:19} makespan {result.makespan} after {result.steps} steps, {result.gear} gear")


if __name__ == "__main__":
    main(*sys.argv[1:])
