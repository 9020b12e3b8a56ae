"""Dispatching rules against slow, obvious forms of themselves."""

from __future__ import annotations

import heapq
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from heuristics.hosts.dispatching import InsertionRule, NonDelayRule, _shop, _ties, dispatch
from l2s_plugin.data import benchmark
from l2s_plugin.errors import PluginError, UnknownNameError
from l2s_plugin.hookspecs import hookimpl
from l2s_plugin.instance import Instance
from l2s_plugin.kernels.dispatch import dispatch_by_insertion, dispatch_without_delay, draw_ties
from l2s_plugin.kernels.heap import pop, push
from l2s_plugin.registry import Registry
from l2s_plugin.schedule import Schedule
from l2s_plugin.specs import DispatchingRuleSpec
from tests.strategies import instances

RULES = ("fdd/mwkr", "spt", "lpt", "mwkr", "lwkr", "mopnr", "fifo", "random")


def job_rest(instance, x):
    """The durations of the job from operation x on."""
    return instance.duration[x : instance.job_offset[instance.job[x] + 1]].tolist()


def flow_due_date_per_work_remaining(instance, x):
    due = sum(instance.duration[instance.job_offset[instance.job[x]] : x + 1].tolist())
    remaining = sum(job_rest(instance, x))
    return (0, Fraction(due, remaining)) if remaining else (1, 0)


PRIORITY = {
    "spt": lambda instance, x, arrival: instance.duration[x],
    "lpt": lambda instance, x, arrival: -instance.duration[x],
    "mwkr": lambda instance, x, arrival: -sum(job_rest(instance, x)),
    "lwkr": lambda instance, x, arrival: sum(job_rest(instance, x)),
    "mopnr": lambda instance, x, arrival: -len(job_rest(instance, x)),
    "fifo": lambda instance, x, arrival: arrival,
    "random": lambda instance, x, arrival: 0,
}


def follow_the_clock(instance, priority, ties):
    """Start times of a non-delay schedule, found by looking at every machine at every moment."""
    start = {}
    running = {}  # machine: operation
    waiting = {int(x): 0 for x in instance.job_offset[:-1]}  # operation: since when
    time = 0
    while waiting or running:
        for m in range(instance.n_machines):
            candidates = [x for x in waiting if instance.machine[x] == m]
            if m not in running and candidates:
                x = min(candidates, key=lambda x: (priority(instance, x, waiting[x]), ties[x]))
                start[x], running[m] = time, x
                del waiting[x]
        time = min(start[x] + int(instance.duration[x]) for x in running.values())
        for m, x in list(running.items()):
            if start[x] + instance.duration[x] == time:
                del running[m]
                if x + 1 not in instance.job_offset:
                    waiting[x + 1] = time
    return [start[x] for x in range(instance.n_operations)]


def insert_into_gaps(instance, priority, ties):
    """Start times when the smallest priority of all next operations goes into the first gap that fits."""
    start = {}
    following = {int(x): 0 for x in instance.job_offset[:-1]}  # operation: end of its predecessor
    while following:
        x = min(following, key=lambda x: (priority(instance, x), ties[x]))
        ready, length = following.pop(x), int(instance.duration[x])
        placed = [
            (start[y], start[y] + int(instance.duration[y]))
            for y in start
            if instance.machine[y] == instance.machine[x]
        ]
        moments = [ready] + [end for _, end in placed if end > ready]
        start[x] = min(t for t in moments if all(end <= t or t + length <= begin for begin, end in placed))
        if x + 1 not in instance.job_offset:
            following[x + 1] = start[x] + length
    return [start[x] for x in range(instance.n_operations)]


@given(instances(), st.integers(0, 5))
@settings(deadline=None)
def test_fdd_mwkr_inserts_the_smallest_ratio_into_the_first_gap_that_fits(instance, seed):
    schedule = dispatch(instance, "fdd/mwkr", seed=seed)
    expected = insert_into_gaps(instance, flow_due_date_per_work_remaining, _ties(instance, seed))
    assert schedule.start.tolist() == expected
    schedule.verify()


@pytest.mark.parametrize("rule", [rule for rule in RULES if rule != "fdd/mwkr"])
@given(instance=instances(), seed=st.integers(0, 5))
@settings(deadline=None)
def test_plain_rules_never_leave_a_machine_idle_and_take_the_smallest_priority(rule, instance, seed):
    schedule = dispatch(instance, rule, seed=seed)
    assert schedule.start.tolist() == follow_the_clock(instance, PRIORITY[rule], _ties(instance, seed))
    schedule.verify()


@given(instances(), st.data())
@settings(deadline=None)
def test_both_schemes_give_correct_schedules_for_any_priorities(instance, data):
    """Small integers: many ties, in every combination with durations of 0."""
    n = instance.n_operations
    values = data.draw(st.lists(st.integers(0, 3), min_size=n, max_size=n))
    for base in (NonDelayRule, InsertionRule):
        rule = type("Rule", (base,), {"priority": lambda self, instance: values})
        dispatch(instance, rule()).verify()


@given(instances(), st.integers(0, 5), st.booleans())
@settings(deadline=None, max_examples=30)
def test_kernels_agree_compiled_and_interpreted(instance, seed, first_come):
    n, n_machines = instance.n_operations, instance.n_machines
    ties = []
    for kernel in (draw_ties, draw_ties.py_func):
        ties.append(np.empty(n, np.uint64))
        kernel(np.array([seed], np.uint64), ties[-1])
    assert np.array_equal(*ties)

    priority = instance.duration.astype(np.float64)
    inserted, timed = [], []
    for compiled in (True, False):
        order = np.empty(n, np.uint32)
        kernel = dispatch_by_insertion if compiled else dispatch_by_insertion.py_func
        work = [
            np.empty(n, np.int32),
            np.empty(n, np.int32),
            np.empty(n_machines, np.int32),
            np.empty(n, np.uint32),
        ]
        kernel(_shop(instance), priority, ties[0], order, *work)
        inserted.append(order)

        order = np.empty(n, np.uint32)
        kernel = dispatch_without_delay if compiled else dispatch_without_delay.py_func
        work = [
            np.empty(n, np.int32),
            np.empty(n_machines, np.int32),
            np.empty(n_machines, np.int32),
            np.empty(n_machines, np.bool_),
            np.empty(2 * n_machines + instance.n_jobs, np.uint32),
            np.empty(n, np.uint32),
            np.empty(n_machines, np.uint32),
            np.empty(n, np.int32),
            np.empty(instance.n_jobs, np.uint32),
        ]
        kernel(_shop(instance), priority.copy(), first_come, ties[0], order, *work)
        timed.append(order)
    assert np.array_equal(*inserted)
    assert np.array_equal(*timed)


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), min_size=1, max_size=40), st.data())
@settings(deadline=None)
def test_heap_agrees_with_heapq_compiled_and_interpreted(pairs, data):
    key, tie = np.array(pairs, np.int32).T.copy()
    actions = data.draw(st.lists(st.booleans(), max_size=2 * len(pairs)))
    for put, take in ((push, pop), (push.py_func, pop.py_func)):
        heap = np.full(len(pairs) + 3, 99, np.uint32)
        reference: list[tuple[int, int]] = []
        following = 0
        for add in actions:
            if add and following < len(pairs):
                put(heap, 3, len(reference), np.uint32(following), key, tie)
                heapq.heappush(reference, pairs[following])
                following += 1
            elif reference:
                x = take(heap, 3, len(reference), key, tie)
                assert pairs[x] == heapq.heappop(reference)
        assert heap[:3].tolist() == [99, 99, 99]


@pytest.mark.parametrize("rule", RULES)
def test_the_seed_decides(rule):
    """Equal durations: many ties."""
    instance = Instance.from_jobs([[(m, 5) for m in range(5)] for _ in range(8)])
    schedules = [dispatch(instance, rule, seed=seed).start.tolist() for seed in (1, 1, 2, 2**64 + 1, -1)]
    assert schedules[0] == schedules[1]
    assert any(start != schedules[0] for start in schedules[2:])


def test_every_tie_can_go_either_way():
    instance = Instance.from_jobs([[(0, 5)], [(0, 5)]])
    for rule in RULES:
        assert {dispatch(instance, rule, seed=seed).order[0] for seed in range(20)} == {0, 1}


@pytest.mark.parametrize("rule", RULES)
def test_a_single_operation(rule):
    assert dispatch(Instance.from_jobs([[(2, 7)]]), rule).makespan == 7
    assert dispatch(Instance.from_jobs([[(0, 0)]]), rule).makespan == 0


@pytest.mark.parametrize(("first", "low", "high"), [(1, 23, 27), (41, 30, 34)])
def test_fdd_mwkr_starts_where_the_paper_does(first, low, high):
    """About 25 % above the best known makespan on Taillard 15x15, about 32 % on 30x20."""
    names = [f"ta{i:02d}" for i in range(first, first + 10)]
    gaps = [dispatch(benchmark(name)).makespan / benchmark(name).upper_bound - 1 for name in names]
    assert low < 100 * np.mean(gaps) < high


def test_most_work_remaining_beats_random_and_least():
    names = [f"ta{i:02d}" for i in range(1, 11)]
    total = {
        rule: sum(dispatch(benchmark(name), rule).makespan for name in names) for rule in ("mwkr", "random", "lwkr")
    }
    assert total["mwkr"] < total["random"] < total["lwkr"]


def test_large_instances_work():
    rng = np.random.default_rng(0)
    machine = np.argsort(rng.random((1000, 40)), axis=1).ravel()
    instance = Instance(rng.integers(1, 100, 40_000), machine, np.arange(0, 40_001, 40), 40)
    for rule in ("fdd/mwkr", "fifo"):
        dispatch(instance, rule).verify()


class ReturnsNothing:
    def __call__(self, instance, seed):
        return None


class Raises:
    def __call__(self, instance, seed):
        raise KeyError("machine")


class StartsEverythingAtOnce:
    def __call__(self, instance, seed):
        return Schedule(instance, np.argsort(instance.machine), np.zeros(instance.n_operations))  # type: ignore[arg-type]


class ForgetsTheLastJob:
    def __call__(self, instance, seed):
        return dispatch(Instance.from_jobs(instance.jobs()[:-1], instance.n_machines), "spt", seed)


class OneAfterTheOther:
    def __call__(self, instance, seed):
        return Schedule.from_linear_order(instance, np.arange(instance.n_operations))


class WrongNumberOfPriorities(NonDelayRule):
    def priority(self, instance):
        return [1.0]


class NanPriorities(InsertionRule):
    def priority(self, instance):
        return np.full(instance.n_operations, np.nan)


class ThirdParty:
    """A plugin as others write it."""

    @hookimpl
    def l2s_dispatching_rules(self):
        here = f"{__name__}:"
        return [
            DispatchingRuleSpec("nothing", here + "ReturnsNothing"),
            DispatchingRuleSpec("raises", here + "Raises"),
            DispatchingRuleSpec("at-once", here + "StartsEverythingAtOnce"),
            DispatchingRuleSpec("forgets", here + "ForgetsTheLastJob"),
            DispatchingRuleSpec("in-turn", here + "OneAfterTheOther"),
            DispatchingRuleSpec("too-few", here + "WrongNumberOfPriorities"),
            DispatchingRuleSpec("nan", here + "NanPriorities"),
        ]


@pytest.fixture
def registry():
    registry = Registry()
    registry.register(ThirdParty(), "third-party")
    return registry


def test_a_third_party_rule_is_used_by_name(registry):
    schedule = dispatch(benchmark("ft06"), "in-turn", registry=registry)
    assert schedule.linear_order.tolist()[0] == 0
    schedule.verify()


def test_a_rule_can_be_given_as_class_object_or_function():
    for rule in (
        OneAfterTheOther,
        OneAfterTheOther(),
        lambda instance, seed: OneAfterTheOther()(instance, seed),
    ):
        assert dispatch(benchmark("ft06"), rule).makespan == dispatch(benchmark("ft06"), OneAfterTheOther).makespan


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        ("nothing", "must return a Schedule, got NoneType"),
        ("raises", "raised KeyError: 'machine'"),
        ("at-once", "returned a wrong schedule: operation 1"),
        ("forgets", "returned a wrong schedule: a schedule of"),
    ],
)
def test_a_rule_that_breaks_its_contract_is_named(registry, rule, message):
    with pytest.raises(PluginError, match=f"third-party, dispatching rule '{rule}' {message}"):
        dispatch(benchmark("ft06"), rule, registry=registry)


@pytest.mark.parametrize(("rule", "message"), [("too-few", r"shape \(1,\), expected \(36,\)"), ("nan", "is nan")])
def test_priorities_that_make_no_sense_are_refused(registry, rule, message):
    with pytest.raises(PluginError, match=message):
        dispatch(benchmark("ft06"), rule, registry=registry)


def test_what_is_no_rule_is_refused():
    with pytest.raises(PluginError, match="not callable"):
        dispatch(benchmark("ft06"), 5)


def test_an_unknown_name_brings_close_matches():
    with pytest.raises(UnknownNameError, match="did you mean mwkr"):
        dispatch(benchmark("ft06"), "mwk")
