"""Large instances: nothing grows faster than the number of operations."""

from __future__ import annotations

import json
import subprocess
import sys

PROGRAM = """
import json, resource
import l2s_plugin as l2s
from heuristics import dispatch, solve, tabu_search

def megabytes():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024

solve(l2s.load("ft06"), stop=l2s.stop.steps(10))
before = megabytes()
instance = l2s.generate.uniform(300, 300, seed=1)
first = dispatch(instance)
result = tabu_search(instance, initial=first, stop=l2s.stop.steps(30))
print(json.dumps({
    "operations": instance.n_operations,
    "first": first.makespan,
    "makespan": result.makespan,
    "bound": result.lower_bound,
    "steps": result.steps,
    "bytes per operation": (megabytes() - before) * 2**20 / instance.n_operations,
}))
"""


def test_ninety_thousand_operations_take_linear_memory():
    output = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True)
    assert output.returncode == 0, output.stderr
    figures = json.loads(output.stdout)
    assert figures["operations"] == 90_000
    assert figures["bound"] <= figures["makespan"] < figures["first"]
    assert figures["steps"] == 30
    assert figures["bytes per operation"] < 1500  # a 90,000 x 90,000 table would take 90,000 even at one byte each
