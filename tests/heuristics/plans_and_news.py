"""Random plans and news, and a slow, obvious account of what they leave to be planned: the twin of `remainder`."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from hypothesis import strategies as st

from l2s_plugin.instance import Instance
from l2s_plugin.schedule import Schedule
from tests.strategies import dated_instances, instances, linear_orders

Outage = tuple[int, int, int]  # machine, from, to


@dataclass(frozen=True)
class Case:
    """A plan and what happened, all by number."""

    plan: Schedule
    at: int
    drop: frozenset[int] = frozenset()
    down: tuple[Outage, ...] = ()
    delay: tuple[tuple[int, int], ...] = ()
    keep_order: frozenset[int] = frozenset()
    under_way: str = "waits"
    add: Instance | None = None

    @property
    def news(self) -> dict[str, Any]:
        """The arguments of `replan`."""
        names = ("drop", "down", "delay", "keep_order", "under_way", "add")
        return {name: getattr(self, name) for name in names}


def small() -> Schedule:
    """Saw: oak 0-4, elm 4-9. Lathe: oak 4-10, elm 10-12."""
    instance = Instance.from_jobs(
        [[(0, 4), (1, 6)], [(0, 5), (1, 2)]],
        job_names=("oak", "elm"),
        machine_names=("saw", "lathe"),
        operation_names=("cut", "turn", "cut", "turn"),
    )
    return Schedule.from_machine_orders(instance, [[0, 2], [1, 3]])


def begun(case: Case, x: int) -> bool:
    """Whether the plan has begun an operation."""
    return case.plan.start[x] < case.at or case.plan.end[x] <= case.at


def machine_before(plan: Schedule, x: int) -> list[int]:
    """What its machine does before, in order."""
    row = plan.machine_orders[plan.instance.machine[x]].tolist()
    return row[: row.index(x)]


def job_before(plan: Schedule, x: int) -> list[int]:
    """What its job does before, in order."""
    return list(range(plan.instance.job_offset[plan.instance.job[x]], x))


def foreseen(case: Case) -> set[int]:
    """What the plan ends on a machine before that goes down later, and all that has to come before."""
    first = {machine: begin for machine, begin, _ in case.down if begin > case.at}
    of = case.plan.instance.machine
    todo = [x for x in range(len(of)) if case.plan.end[x] <= first.get(int(of[x]), -1)]
    found: set[int] = set()
    while todo:
        x = todo.pop()
        if x not in found:
            found.add(x)
            todo += [*job_before(case.plan, x), *machine_before(case.plan, x)]
    return {x for x in found if case.plan.instance.job[x] not in case.drop}


class Past:
    """`end` of every operation that stays as it is, and whether the news contradict themselves."""

    def __init__(self, case: Case) -> None:
        plan, instance = case.plan, case.plan.instance
        wanted = foreseen(case)
        self.end: dict[int, int] = {}
        self.impossible = False
        for x in plan.linear_order.tolist():
            others = [*job_before(plan, x), *machine_before(plan, x)]
            others = [y for y in others if begun(case, y) or instance.job[y] not in case.drop]
            follows = all(y in self.end and self.end[y] <= plan.start[x] for y in others)
            if follows and (begun(case, x) or x in wanted):
                end = self._end(case, x)
                if end is not None:
                    self.end[x] = end
        for x, told in case.delay:
            self.impossible |= told <= (plan.start[x] if x in self.end else case.at)

    def _end(self, case: Case, x: int) -> int | None:
        start, end = int(case.plan.start[x]), int(case.plan.end[x])
        told = dict(case.delay)
        if x in told:
            return told[x] if begun(case, x) else None
        for machine, first, last in case.down:
            if machine == case.plan.instance.machine[x] and start < last and first < end:
                goes_on = begun(case, x) and start < first and case.under_way == "waits"
                return end + last - first if goes_on else None
        return end


def gone(case: Case, past: Past) -> set[int]:
    """The operations of dropped jobs that had not begun."""
    return {x for x, job in enumerate(case.plan.instance.job.tolist()) if job in case.drop and x not in past.end}


def moved_right(case: Case, past: Past) -> dict[int, int]:
    """The start of every old operation when all machine orders stay and everything waits as long as it must."""
    plan, instance = case.plan, case.plan.instance
    lost = gone(case, past)
    start: dict[int, int] = {}
    end: dict[int, int] = {}
    for x in plan.linear_order.tolist():
        if x in lost:
            continue
        if x in past.end:
            start[x], end[x] = int(plan.start[x]), past.end[x]
            continue
        bounds = [case.at, 0 if instance.earliest is None else int(instance.earliest[x])]
        bounds += [end[y] for y in (*job_before(plan, x), *machine_before(plan, x)) if y not in lost]
        bounds += [last for machine, _, last in case.down if machine == instance.machine[x]]
        bounds += [told - int(instance.duration[x]) for y, told in case.delay if x == y]
        start[x] = max(bounds)
        end[x] = start[x] + int(instance.duration[x])
    return start


@st.composite
def plans(draw: Any, dates: bool | None = None, **shape: Any) -> Schedule:
    """A correct schedule with idle time anywhere; some instances have names, some keep the order of a machine."""
    dated = draw(st.booleans()) if dates is None else dates
    instance = draw(dated_instances(**shape) if dated else instances(**shape))
    if draw(st.booleans()):
        instance = instance.with_details(
            job_names=[f"job {chr(97 + job)}" for job in range(instance.n_jobs)],
            machine_names=[f"M-{machine}" for machine in range(instance.n_machines)],
        )
    order = draw(linear_orders(instance))
    idle = draw(st.lists(st.sampled_from((0, 0, 0, 1, 7)), min_size=len(order), max_size=len(order)))
    start = np.zeros(len(order), np.int64)
    job_free, machine_free = [0] * instance.n_jobs, [0] * instance.n_machines
    for x, wait in zip(order.tolist(), idle, strict=True):
        job, machine = instance.job[x], instance.machine[x]
        date = 0 if instance.earliest is None else int(instance.earliest[x])
        start[x] = max(job_free[job], machine_free[machine], date) + wait
        job_free[job] = machine_free[machine] = int(start[x] + instance.duration[x])
    by_machine = order[np.argsort(instance.machine[order], kind="stable")]
    plan = Schedule(instance, by_machine, start)
    if draw(st.integers(0, 3)) == 0:
        row = next(row for row in plan.machine_orders if len(row))
        plan = Schedule(instance.with_details(kept=(tuple(row.tolist()),)), by_machine, start)
    return plan


@st.composite
def cases(draw: Any, **shape: Any) -> Case:
    """A plan and any news about it, also such that contradict themselves."""
    plan = draw(plans(**shape))
    if plan.start.min() == plan.makespan:  # nothing takes any time
        longer = replace(plan.instance, duration=plan.instance.duration + 1, kept=())
        plan = Schedule.from_linear_order(longer, plan.linear_order)
    instance, first, last = plan.instance, int(plan.start.min()), plan.makespan
    at = draw(st.integers(first, last - 1))
    time, job = st.integers(0, last + 20), st.integers(0, instance.n_jobs - 1)
    machine = st.integers(0, instance.n_machines - 1)
    operation = st.integers(0, instance.n_operations - 1)
    outage = st.tuples(machine, time, st.integers(1, 30)).map(lambda row: (row[0], row[1], row[1] + row[2]))
    down = draw(st.lists(outage, max_size=2, unique_by=lambda row: row[0]))
    return Case(
        plan,
        at,
        drop=draw(st.frozensets(job, max_size=2)),
        down=tuple(down),
        delay=tuple(draw(st.dictionaries(operation, st.integers(at - 5, last + 20), max_size=2)).items()),
        keep_order=draw(st.frozensets(machine, max_size=2)),
        under_way=draw(st.sampled_from(("waits", "restarts"))),
        add=draw(st.none() | additions(instance)),
    )


@st.composite
def additions(draw: Any, instance: Instance) -> Instance:
    """New jobs on the machines of an instance, listed the other way round where they have names."""
    machines = list(range(instance.n_machines))[::-1]
    step = st.tuples(st.sampled_from(machines), st.integers(0, 9))
    rows = draw(st.lists(st.lists(step, min_size=1, max_size=3), min_size=1, max_size=2))
    details: dict[str, Any] = {}
    if instance.machine_names is not None:
        rows = [[(machines[machine], duration) for machine, duration in row] for row in rows]
        details["machine_names"] = instance.machine_names[::-1]
    if draw(st.booleans()):
        details["job_names"] = [f"new {k}" for k in range(len(rows))]
    added = Instance.from_jobs(rows, instance.n_machines, name="added", **details)
    if draw(st.booleans()):
        dates = st.lists(st.none() | st.integers(0, 80), min_size=len(rows), max_size=len(rows))
        added = added.with_dates(release=draw(dates), due=draw(dates))
    return added
