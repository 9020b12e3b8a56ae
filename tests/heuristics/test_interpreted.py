"""The kernels mean the same as plain Python as they do compiled: nothing in them leans on the compiler."""

from __future__ import annotations

import json
import os
import subprocess
import sys

PROGRAM = """
import json
import l2s_plugin as l2s
from heuristics import dispatch, local_search, tabu_search

instance = l2s.load("ft06")
found = {"bound": l2s.bounds.lower_bound(instance)}
for rule in ("fdd/mwkr", "spt", "random"):
    found[rule] = dispatch(instance, rule, seed=1).order.tolist()
for host in (local_search, tabu_search):
    for neighbourhood in ("n1", "n4", "n5", "n6", "n7"):
        for selector in ("estimate", "greedy", "best-improvement", "first-improvement", "random", "boltzmann"):
            result = host(instance, selector, neighbourhood, stop=l2s.stop.steps(25), initial="lpt", seed=3)
            history = [entry[1:] for entry in result.history]
            found[f"{host.__name__} {neighbourhood} {selector}"] = [result.schedule.order.tolist(), history]
print(json.dumps(found))
"""


def run(disable: str) -> dict:
    environment = os.environ | {"NUMBA_DISABLE_JIT": disable, "PYTHONWARNINGS": "ignore"}
    output = subprocess.run([sys.executable, "-c", PROGRAM], env=environment, capture_output=True, text=True)
    assert output.returncode == 0, output.stderr
    return json.loads(output.stdout)


def test_searches_take_the_same_path_interpreted_and_compiled():
    assert run("1") == run("0")
