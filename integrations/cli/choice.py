"""Which method `l2s solve` takes when none is named: the best we have for the instance within the limits."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from l2s_plugin.devices import available_cores
from l2s_plugin.errors import MissingExtraError

if TYPE_CHECKING:
    from integrations.cli.request import Request
    from l2s_plugin.instance import Instance

SHORT = 2.0  # seconds; below, CP-SAT has hardly begun when the time is over
LARGE = 5000  # operations; beyond, the hybrid attempts no proof and the search makes more of the time


class Choice(NamedTuple):
    """A method, the workers it gets (None: its own default), and why it was chosen, unless the user named it."""

    method: str
    workers: int | None
    reason: str = ""


def choose(instance: Instance, request: Request) -> Choice:
    """The method asked for, or else search and CP-SAT side by side, or the search alone where that is better."""
    from integrations.libraries import ortools

    given, stop, workers = request.search, request.stop, request.search.get("workers")
    if request.method is not None:
        return Choice(request.method, workers)
    if given.keys() & {"parameters", "log"}:
        return Choice("hybrid", workers, "it has CP-SAT, whose options are given")
    if "scheduler" in given:
        return Choice("cooperation", workers, "a population on every worker of the cluster")
    if stop.steps is not None or stop.no_improvement is not None:
        return Choice("memetic", workers, "a limit in steps makes it repeatable")
    if given.keys() & {"selector", "policy", "neighbourhood", "population", "patience", "gear"}:
        return Choice("memetic", workers, "with the parts named")
    if stop.seconds is not None and stop.seconds < SHORT:
        return Choice("memetic", workers, "in so short a time")
    workers = workers or available_cores()
    if instance.n_operations > LARGE:
        return Choice("memetic", workers, "too large for CP-SAT")
    try:
        ortools()
    except MissingExtraError as error:
        return Choice("memetic", workers, f"without CP-SAT: {error}")
    return Choice("hybrid", workers, "search and CP-SAT side by side")
