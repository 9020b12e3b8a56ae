"""Ctrl-C and SIGTERM give the incumbent."""

from __future__ import annotations

import json
import signal
import subprocess
import sys

import pytest

import l2s_plugin as l2s
from heuristics import local_search_batch, solve, tabu_search

PROGRAM = """
import l2s_plugin as l2s
from heuristics import solve, tabu_search
host = {host}
print("ready", flush=True)
result = host(l2s.load("ta41"), stop=l2s.stop.seconds(600), listener=lambda event: print("better", flush=True))
result.schedule.verify()
print(result.to_json(), flush=True)
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("host", ["tabu_search", "solve"])
def test_an_interrupted_run_returns_its_incumbent(host, number):
    program = PROGRAM.format(host=host)
    process = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    for line in process.stdout:
        if line.strip() == "better":
            break
    process.send_signal(number)
    rest = process.stdout.read().strip().splitlines()
    assert process.wait() == 0
    result = json.loads(rest[-1])
    assert result["stopped_by"] == "interrupt"
    assert result["makespan"] > 0


def test_a_signal_that_comes_while_conditions_are_asked_is_heard():
    asked = l2s.stop.when(lambda progress: signal.raise_signal(signal.SIGINT))
    assert tabu_search(l2s.load("la20"), stop=l2s.stop.steps(5000) | asked).stopped_by == "interrupt"


@pytest.mark.parametrize("gear", ["compiled", "python"])
@pytest.mark.parametrize("host", [tabu_search, solve])
def test_a_second_signal_does_not_lose_the_incumbent(host, gear):
    """Whoever presses Ctrl-C twice gets what there is, too."""

    def twice(progress: l2s.stop.Progress) -> bool:
        signal.raise_signal(signal.SIGTERM)
        signal.raise_signal(signal.SIGTERM)
        return False

    result = host(l2s.load("ta41"), stop=l2s.stop.seconds(60) | l2s.stop.when(twice), gear=gear)
    assert result.stopped_by == "interrupt"
    result.schedule.verify()


def test_a_second_signal_does_not_lose_the_incumbents_of_a_batch():
    class Impatient:
        name = "impatient"

        def select(self, state, moves, rng):
            if state.step == 10:
                signal.raise_signal(signal.SIGTERM)
                signal.raise_signal(signal.SIGTERM)
            return 0

    results = local_search_batch([l2s.load("la21"), l2s.load("la22")], Impatient(), stop=l2s.stop.seconds(60))
    assert [result.stopped_by for result in results] == ["interrupt", "interrupt"]
    for result in results:
        result.schedule.verify()
