"""A host of its own: simulated annealing over any neighbourhood."""

from __future__ import annotations

import math

from heuristics import Configuration, Result
from heuristics.hosts.trajectories import first_order
from heuristics.loop.memory import Memory
from heuristics.loop.search import Search
from heuristics.monitor import Monitor
from l2s_plugin import Instance

COOLING = 0.9995


def anneal(instance: Instance, way: Configuration, monitor: Monitor) -> Result:
    """`example-annealing`, or with another temperature to begin with, in mean durations, `example-annealing:0.5`."""
    way = way.filled(neighbourhood="n5", initial="fdd/mwkr")
    temperature = float(way.argument or 0.3) * instance.duration.mean()
    search = Search(instance, way.neighbourhood, "random", Memory(), way.seed, "python", monitor.registry)
    trials = 0
    with monitor:  # the clock runs
        search.start(first_order(instance, way.initial, way.seed, monitor.registry))
        monitor.note(search)
        with monitor.contained():  # whatever fails in here, the best schedule is kept
            while not monitor.should_stop(trials):
                if search.list_candidates(search.step + 1) is not None:
                    monitor.stopped_by = "no moves"
                    break
                moves = search.candidates()
                row = int(search.rng.integers(len(moves.u)))
                increase = max(int(moves.value[row]) - search.view.makespan, 0)
                if search.rng.random() < math.exp(-increase / temperature):
                    search.advance(row)
                    monitor.note(search)
                temperature *= COOLING
                trials += 1
        return monitor.finish(search.best_order, trials, search=search, initial=way.initial)
