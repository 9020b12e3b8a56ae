"""A schedule from a search as the warm start of CP-SAT, which improves it or proves that nothing is better.

pip install 'l2s-plugin[cp-sat]'
python examples/warm_start_cp_sat.py [INSTANCE] [SECONDS]
"""

import sys

import l2s_plugin as l2s
from heuristics import solve
from integrations import cp_sat


def main(name: str = "la19", seconds: str = "30") -> None:
    instance = l2s.load(name)
    found = solve(instance, stop=l2s.stop.steps(20_000), seed=1)
    print(f"search: makespan {found.makespan}, bound {found.lower_bound}, {found.status}")

    # every variable gets a hint, and the result is never worse than what it began with
    result = cp_sat.solve(instance, warm_start=found, time_limit=float(seconds))
    print(f"CP-SAT: makespan {result.makespan}, bound {result.lower_bound}, {result.status}")


if __name__ == "__main__":
    main(*sys.argv[1:])
