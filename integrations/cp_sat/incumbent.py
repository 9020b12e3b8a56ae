"""The best schedule and the best bound that all parts of a run know."""

from __future__ import annotations

import math
import threading

from heuristics.monitor import Monitor
from heuristics.result import CP_SAT
from l2s_plugin.schedule import Schedule


class Incumbent:
    """Takes schedules and bounds from any thread; the monitor writes the history and sees when they meet."""

    def __init__(self, monitor: Monitor) -> None:
        self.monitor = monitor
        self.schedule: Schedule | None = None
        self.step = 0  # what the search had taken when it was asked last
        self._lock = threading.Lock()

    def offer_solution(self, schedule: Schedule) -> None:
        """Keep what CP-SAT has found, everything moved to the left, which is now and then shorter than it reported."""
        self.offer(Schedule.from_order(schedule.instance, schedule.order))

    def offer(self, schedule: Schedule) -> None:
        """Keep a schedule if it is the best so far."""
        with self._lock:
            if self.schedule is None or schedule.makespan < self.schedule.makespan:
                self.schedule = schedule
                self.monitor.record(self.step, schedule.makespan)

    def raise_bound(self, bound: float) -> None:
        """Believe a bound that CP-SAT has proven; it is given as a float."""
        if math.isfinite(bound):
            self.monitor.prove(math.ceil(bound - 1e-6), CP_SAT)
