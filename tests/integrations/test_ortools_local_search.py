"""OR-Tools' local search with our moves; in processes of their own, because mistakes in callbacks end the process."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

import l2s_plugin as l2s
from heuristics import Configuration
from l2s_plugin.errors import L2SError

pytest.importorskip("ortools")

from integrations.ortools_local_search import METAHEURISTICS, ortools_local_search, ranked_moves, ranking_search

PROGRAM = """
import gc, json
import l2s_plugin as l2s
from heuristics.monitor import SearchError
from integrations.ortools_local_search import METAHEURISTICS, ortools_local_search

class Last:
    name = "last"
    def select(self, state, moves, rng):
        return len(moves.u) - 1

class Broken:
    name = "broken"
    calls = 0
    def select(self, state, moves, rng):
        self.calls += 1
        if self.calls > 5:
            raise ValueError("broken selector")
        return 0

def listener(event):
    if event.makespan < 60:
        raise RuntimeError("broken listener")

instance = l2s.load("ft06")
stop = l2s.stop.steps(200)
found = []
for metaheuristic in METAHEURISTICS:
    for selector in ("estimate", "greedy", "random", Last()):
        result = ortools_local_search(instance, selector, "n5", metaheuristic=metaheuristic, stop=stop)
        result.schedule.verify()
        gc.collect()
        found.append([metaheuristic, result.selector, result.history[0][2], result.makespan, result.steps])
errors = []
for options in ({"selector": Broken()}, {"listener": listener}):
    try:
        ortools_local_search(instance, metaheuristic="guided", stop=stop, **options)
    except SearchError as error:
        error.result.schedule.verify()
        errors.append(f"{type(error).__name__}: {error}")
print(json.dumps([found, errors]))
"""


@pytest.fixture(scope="module")
def outcome() -> list:
    run = subprocess.run([sys.executable, "-X", "faulthandler", "-c", PROGRAM], capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    return json.loads(run.stdout)


def test_every_metaheuristic_runs_with_every_kind_of_selector(outcome):
    found, _ = outcome
    assert len(found) == 4 * len(METAHEURISTICS)
    for metaheuristic, selector, first, makespan, steps in found:
        assert 55 <= makespan <= first, (metaheuristic, selector)
        assert 0 < steps <= 202
    assert min(makespan for *_, makespan, _ in found) < 60  # where descent ends


def test_errors_in_callbacks_surface_with_the_incumbent_and_the_process_lives(outcome):
    _, errors = outcome
    assert errors == [
        "SearchError: selector 'broken' failed at step 0: ValueError: broken selector",
        "SearchError: RuntimeError: broken listener",
    ]


def test_moves_are_ranked_by_the_selector():
    instance = l2s.load("la16")
    schedule = ortools_local_search(instance, stop=l2s.stop.steps(0)).schedule
    search = ranking_search(instance, Configuration(selector="greedy", neighbourhood="n5"))
    ranked = ranked_moves(search, schedule.linear_order)
    search.list_candidates()
    view, moves = search.view, search.candidates()
    values = dict(zip(zip(moves.u.tolist(), moves.v.tolist(), strict=True), view.evaluate(moves), strict=True))
    assert len(ranked) == len(values) > 2
    assert [values[u, v] for u, v, _ in ranked] == sorted(values.values())


def test_bad_input_is_told_in_one_line():
    with pytest.raises(L2SError, match="unknown metaheuristic 'tabo'; did you mean tabu"):
        ortools_local_search(l2s.load("ft06"), metaheuristic="tabo", stop=l2s.stop.steps(1))
    with pytest.raises(L2SError, match="no limit given"):
        ortools_local_search(l2s.load("ft06"), stop=None)
