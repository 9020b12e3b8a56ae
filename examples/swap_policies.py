"""Policies are swapped by installing packages: this script names none, and runs every policy it finds.

    pip install ./examples/policy-package
    python examples/swap_policies.py [INSTANCE] [STEPS]

A package offers its policies through the entry point in its pyproject.toml. `l2s policies` lists them, too, and
`l2s solve la16 --policy first` uses one by name.
"""

import sys

import l2s_plugin as l2s
from heuristics import local_search
from l2s_plugin.policy.library import installed_policies


def main(name: str = "la16", steps: str = "500") -> None:
    instance = l2s.load(name)
    policies = [policy for policy, _ in installed_policies()]
    if not policies:
        print("no policy is installed; try: pip install ./examples/policy-package")
    for policy in policies:
        result = local_search(instance, f"l2s:{policy}", neighbourhood="n5", stop=l2s.stop.steps(int(steps)), seed=1)
        print(f"{policy}: makespan {result.makespan} after {result.steps} steps")


if __name__ == "__main__":
    main(*sys.argv[1:])
