"""Dispatching rules: quick first schedules, built from a priority of each operation.

A rule is a plugin: an object called as `rule(instance, seed)` that returns a `Schedule`. To write one in a
few lines, derive from `NonDelayRule` or `InsertionRule` and give the priorities:

>>> class ShortestJobFirst(NonDelayRule):
...     def priority(self, instance):
...         return work_done(instance) + work_remaining(instance)

The two ways to build a schedule:

* *without delay* (all plain rules): follow the clock; no machine stays idle while an operation waits for it,
  and of those that wait it takes the one with the smallest priority. Only operations that wait for the same
  machine at the same moment compete.
* *insertion* (`fdd/mwkr`): ignore the clock; take the smallest priority among the next operations of all jobs
  and put it into the earliest gap of its machine that is long enough, without moving any other one. This
  is how the paper's authors build their initial schedules ("permissible left shift").

Equal priorities are settled at random under the seed.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from heuristics.configuration import FIRST_RULE, Configuration
from l2s_plugin.containment import contained
from l2s_plugin.errors import PluginError, ScheduleError
from l2s_plugin.instance import NO_DUE_DATE, Instance, check_instance
from l2s_plugin.kernels.dispatch import Shop, dispatch_by_insertion, dispatch_without_delay, draw_ties
from l2s_plugin.registry import Registry, default_registry
from l2s_plugin.schedule import Schedule, respecting
from l2s_plugin.specs import DispatchingRuleSpec
from l2s_plugin.verification import verify

if TYPE_CHECKING:
    from heuristics.monitor import Monitor
    from heuristics.result import Result


def dispatch(instance: Instance, rule: Any = FIRST_RULE, seed: int = 0, registry: Registry | None = None) -> Schedule:
    """Build a schedule with a dispatching rule.

    Parameters
    ----------
    rule
        The name of a rule (`l2s plugins` lists them), or a rule itself; a `PluginError` names one that fails or returns
        anything but a correct schedule of `instance`.
    seed
        Settles equal priorities; the same seed gives the same schedule.
    registry
        Where to look names up; the installed plugins unless given.
    """
    check_instance(instance)
    registry = registry or default_registry()
    build = registry.create(DispatchingRuleSpec, rule)
    who = f"dispatching rule {rule!r}"
    if isinstance(rule, str):
        who = registry.whose(registry.spec(DispatchingRuleSpec, rule.partition(":")[0]))
    with contained(f"{who} raised"):
        schedule = build(instance, seed)
    if not isinstance(schedule, Schedule):
        raise PluginError(f"{who} must return a Schedule, got {type(schedule).__name__}")
    if type(build).__call__ is _PriorityRule.__call__:
        return schedule  # computed here: checking it again would take longer than building it
    check_schedule(instance, schedule, who)
    return schedule


def check_schedule(instance: Instance, schedule: Schedule, who: str) -> None:
    """Refuse a wrong schedule of somebody else's part."""
    try:
        verify(instance, schedule)
    except ScheduleError as error:
        raise PluginError(f"{who} returned a wrong schedule: {error}") from error


def dispatch_method(instance: Instance, way: Configuration, monitor: Monitor) -> Result:
    """What `dispatch` names: one schedule of a rule, in the form in which searches report theirs."""
    with monitor:
        schedule = dispatch(instance, way.initial or FIRST_RULE, way.seed, monitor.registry)
        monitor.record(0, schedule.length)
        return monitor.finish(schedule, seconds=monitor.history[0][0], initial=way.initial or FIRST_RULE)


def work_done(instance: Instance) -> NDArray[np.int64]:
    """Work of the job up to and including each operation: its flow due date."""
    return instance.job_head.astype(np.int64) + instance.duration


def work_remaining(instance: Instance) -> NDArray[np.int64]:
    """Work of the job from each operation on, itself included."""
    return instance.job_tail.astype(np.int64) + instance.duration


def operations_remaining(instance: Instance) -> NDArray[np.int64]:
    """Operations of the job from each operation on, itself included."""
    return instance.job_offset[1:].astype(np.int64)[instance.job] - np.arange(instance.n_operations)


def due_dates(instance: Instance) -> NDArray[np.float64]:
    """When each operation should end: the due date of its job, minus the work that follows.

    Jobs without a due date come last, and where there are none, all are due at the same time.
    """
    if instance.due is None:
        return -instance.job_tail.astype(np.float64)
    due = np.where(instance.due == NO_DUE_DATE, np.inf, instance.due)
    return due[instance.job] - instance.job_tail


class _PriorityRule:
    """A schedule from `priority`, the smallest first."""

    _place: Callable[..., None]  # fills the machine orders

    def priority(self, instance: Instance) -> Any:
        """One number per operation; the smaller, the more urgent."""
        raise NotImplementedError

    def __call__(self, instance: Instance, seed: int) -> Schedule:
        priority = np.array(self.priority(instance), np.float64)
        if priority.shape != (instance.n_operations,):
            raise PluginError(f"priorities of shape {priority.shape}, expected ({instance.n_operations},)")
        if np.isnan(priority).any():
            raise PluginError(f"the priority of {instance.describe(np.flatnonzero(np.isnan(priority))[0])} is nan")
        order = np.empty(instance.n_operations, np.uint32)
        self._place(instance, priority, _ties(instance, seed), order)
        schedule = Schedule.from_order(instance, order)
        if not instance.kept:
            return schedule
        return Schedule.from_linear_order(instance, respecting(instance, schedule.linear_order))


class NonDelayRule(_PriorityRule):
    """Build a schedule without delay from `priority`, the smallest first."""

    _first_come = False  # whether what has waited longest comes before all priorities

    def _place(self, instance: Instance, priority: Any, ties: Any, order: Any) -> None:
        n, machines = instance.n_operations, instance.n_machines
        end, size, started = np.empty(n, np.int32), np.empty(machines, np.int32), np.empty(machines, np.int32)
        busy, touched = np.empty(machines, np.bool_), np.empty(2 * machines + instance.n_jobs, np.uint32)
        queue, running = np.empty(n, np.uint32), np.empty(machines, np.uint32)
        ready, coming = np.empty(n, np.int32), np.empty(instance.n_jobs, np.uint32)
        work = end, size, started, busy, touched, queue, running, ready, coming
        dispatch_without_delay(_shop(instance), priority, self._first_come, ties, order, *work)


class InsertionRule(_PriorityRule):
    """Build a schedule by insertion into gaps, in the order of `priority`, the smallest first."""

    def _place(self, instance: Instance, priority: Any, ties: Any, order: Any) -> None:
        start, ready = np.empty((2, instance.n_operations), np.int32)
        size, heap = np.empty(instance.n_machines, np.int32), np.empty(instance.n_jobs, np.uint32)
        dispatch_by_insertion(_shop(instance), priority, ties, order, start, ready, size, heap)


class FlowDueDatePerWorkRemaining(InsertionRule):
    """Smallest ratio of flow due date to work remaining (Sels et al. 2012; the paper's initial schedules)."""

    def priority(self, instance: Instance) -> Any:
        due, remaining = work_done(instance), work_remaining(instance)
        # a job with nothing left but operations of duration 0 is never urgent
        return np.divide(due, remaining, out=np.full(len(due), np.inf), where=remaining > 0)


def _without_delay(priority: Callable[[Instance], Any], first_come: bool = False) -> type[NonDelayRule]:
    return type("BuiltIn", (NonDelayRule,), {"priority": staticmethod(priority), "_first_come": first_come})


spt = _without_delay(lambda instance: instance.duration)
lpt = _without_delay(lambda instance: -instance.duration)
mwkr = _without_delay(lambda instance: -work_remaining(instance))
lwkr = _without_delay(lambda instance: work_remaining(instance))
edd = _without_delay(due_dates)
mopnr = _without_delay(lambda instance: -operations_remaining(instance))
random = _without_delay(lambda instance: np.zeros(instance.n_operations))
fifo = _without_delay(lambda instance: np.zeros(instance.n_operations), first_come=True)


def _ties(instance: Instance, seed: int) -> NDArray[np.uint64]:
    tie = np.empty(instance.n_operations, np.uint64)
    draw_ties(np.array([seed % 2**64], np.uint64), tie)
    return tie


def _shop(instance: Instance) -> Shop:
    """The instance as the kernels take it."""
    job_offset, job_succ = instance.job_offset.astype(np.uint32), instance.job_succ.astype(np.uint32)
    earliest = instance.head if instance.earliest is not None else np.zeros(instance.n_operations, np.int32)
    earliest = np.array(earliest)  # writable, whatever it is: one compilation serves all
    return Shop(instance.duration, instance.machine, job_offset, job_succ, instance.machine_offset, earliest)
