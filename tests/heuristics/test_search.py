"""The hosts: correct in both gears, reproducible, and safe against parts that misbehave."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import l2s_plugin as l2s
from heuristics import Result, cooperate, dispatch, local_search, solve, tabu_search, tabu_search_batch
from heuristics.loop import kernels
from heuristics.loop.memory import Memory
from heuristics.loop.search import Search
from heuristics.monitor import SearchError
from l2s_plugin.errors import L2SError, PluginError, ScheduleError, UnknownNameError
from l2s_plugin.instance import Instance
from l2s_plugin.stop import no_improvement, seconds, steps, target, when
from tests.heuristics.test_containment import HereExecutor
from tests.l2s_plugin.evaluator.oracle import longest_paths
from tests.strategies import instances

NEIGHBOURHOODS = ["n1", "n4", "n5", "n6", "n7"]
SELECTORS = ["estimate", "greedy", "best-improvement", "first-improvement", "random", "boltzmann"]


def trajectory(result: Result) -> tuple:
    return result.schedule.order.tolist(), result.steps, [entry[1:] for entry in result.history], result.stopped_by


@pytest.mark.parametrize("neighbourhood", NEIGHBOURHOODS)
@pytest.mark.parametrize("selector", SELECTORS)
@settings(deadline=None, max_examples=12)
@given(instance=instances(), seed=st.integers(0, 1000))
def test_every_combination_agrees_in_both_gears_and_with_the_oracle(neighbourhood, selector, instance, seed):
    for host in (local_search, tabu_search):
        options = {"stop": steps(40), "seed": seed, "initial": "random"}
        compiled = host(instance, selector, neighbourhood, gear="compiled", **options)
        python = host(instance, selector, neighbourhood, gear="python", **options)
        assert trajectory(compiled) == trajectory(python)
        assert (compiled.gear, python.gear) == ("compiled", "python")
        times = longest_paths(instance, compiled.schedule.order)
        assert times is not None
        assert times.makespan == compiled.makespan
        assert compiled.lower_bound <= compiled.makespan
        if compiled.history:
            assert compiled.history[-1][2] == compiled.makespan


@pytest.mark.parametrize("host", [local_search, tabu_search, solve])
def test_same_seed_same_trajectory_other_seed_another(host):
    instance = l2s.load("la21")
    a, b, c = (host(instance, stop=steps(3000), seed=seed) for seed in (5, 5, 6))
    assert trajectory(a) == trajectory(b)
    assert trajectory(a) != trajectory(c)


def test_a_run_stops_after_exactly_the_steps_given():
    instance = l2s.load("ta21")
    for limit in (0, 1, 7, 1000):
        assert tabu_search(instance, stop=steps(limit)).steps == limit
        assert solve(instance, stop=steps(limit)).steps == limit
    assert tabu_search(instance, stop=steps(0)).makespan == dispatch(instance).makespan


def test_a_search_is_drawn_to_a_schedule_until_it_begins_anew():
    instance = l2s.load("la16")
    here, there = (dispatch(instance, "random", seed).linear_order for seed in (1, 2))
    search = Search(instance, "n7", "estimate", Memory(tenure=(2, 4)))
    search.start(here, there)
    search.run(50)
    drawn_to = search.state.drawn_to[: instance.n_operations]
    assert np.argsort(drawn_to).tolist() == there.tolist()
    search.start(there)
    assert not search.state.drawn_to.any()


def test_the_number_of_looks_at_the_clock_does_not_change_the_trajectory():
    """The compiled loop is left and entered again many times in one run."""
    instance = l2s.load("la38")
    alone = tabu_search(instance, stop=steps(20_000), seed=3)
    watched = tabu_search(instance, stop=steps(20_000) | when(lambda progress: False), seed=3)
    assert trajectory(alone) == trajectory(watched)


def test_solve_with_several_workers_is_reproducible():
    instance = l2s.load("la38")
    a, b = (solve(instance, stop=steps(150_000), seed=2, workers=2) for _ in range(2))
    assert a.schedule.order.tolist() == b.schedule.order.tolist()
    assert a.steps == b.steps
    assert a.workers == 2


@pytest.mark.parametrize("workers", [2, 4])
@pytest.mark.parametrize(
    "host", [solve, lambda *given, **options: cooperate(*given, executor=HereExecutor(), **options)]
)
def test_several_workers_take_exactly_the_steps_given(host, workers):
    for limit in (5, 1001):
        result = host(l2s.load("la21"), steps(limit), workers=workers, polisher=None)
        assert result.steps == limit
        assert result.history[-1][1] <= limit


def test_several_workers_give_the_same_schedule_in_both_gears(monkeypatch):
    """Also when schedules are exchanged on the way."""
    monkeypatch.setattr("heuristics.population.steps_per_exchange", lambda instance, stop: 150)
    monkeypatch.setattr(
        "heuristics.population.steps_per_round", lambda search, stop: 150 if search.gear == "compiled" else 7
    )
    compiled, python = (
        solve(l2s.load("la21"), steps(2000), workers=2, polisher=None, patience=50, gear=gear)
        for gear in ("compiled", "python")
    )
    assert (compiled.gear, python.gear) == ("compiled", "python")
    assert [entry[1:] for entry in compiled.history[-1:]] == [entry[1:] for entry in python.history[-1:]]
    assert (compiled.schedule.order == python.schedule.order).all()


def test_reversals_are_counted_up_to_a_limit():
    """The count never falls: it shares a number with the step, and would overflow into its sign."""
    forbidden = np.zeros(1, np.int64)
    forbidden[0] = (kernels._MOST_REVERSALS - 1) << kernels._STEP_BITS
    for step in (3, 4, 5):
        kernels._note_reversal(forbidden, 0, 1, step)
        assert forbidden[0] >> kernels._STEP_BITS == kernels._MOST_REVERSALS
        assert forbidden[0] & kernels._STEP_MASK == step


def test_solve_proves_optima_that_meet_the_one_machine_bound():
    result = solve(l2s.load("la05"), stop=steps(100_000))
    assert (result.makespan, result.lower_bound, result.bound_source) == (593, 593, "one-machine")
    assert (result.status, result.stopped_by) == ("OPTIMAL", "optimal")
    assert "makespan 593, bound 593 (one-machine), proven optimal" in result.summary()


def test_meeting_a_bound_that_was_looked_up_is_no_proof():
    result = solve(l2s.load("ft06"), stop=steps(100_000))
    assert (result.makespan, result.lower_bound, result.bound_source) == (55, 55, "literature")
    assert (result.status, result.stopped_by) == ("FEASIBLE", "known bound")
    assert "makespan 55, bound 55 (literature), optimal by the literature's bound" in result.summary()
    assert "proven" not in result.summary()
    data = result.to_dict()
    assert (data["status"], data["bound_source"], data["gap"]) == ("FEASIBLE", "literature", 0)


def cooperate_once(instance, **options):
    return cooperate(instance, executor=ThreadPoolExecutor(2), **options)


def in_a_batch(instance, **options):
    return tabu_search_batch([instance], "estimate", **options)[0]


@pytest.mark.parametrize("host", [local_search, tabu_search, solve, cooperate_once, in_a_batch])
def test_without_known_bounds_nothing_is_looked_up(host):
    """The run goes on at the optimum, and its bound is its own."""
    heard = []
    listener = {} if host is in_a_batch else {"listener": heard.append}
    instance = l2s.load("ft06")
    best = solve(instance, stop=steps(100_000)).schedule
    assert best.makespan == 55
    result = host(instance, initial=best, stop=steps(100), known_bounds=False, **listener)
    assert (result.makespan, result.stopped_by, result.bound_source) == (55, "steps", "one-machine")
    assert result.lower_bound == l2s.bounds.lower_bound(instance) < 55
    assert all((event.lower_bound, event.bound_source) == (result.lower_bound, "one-machine") for event in heard)
    assert host(instance, initial=best, stop=steps(100)).bound_source == "literature"


def test_tabu_search_is_strong():
    """Loose figures, far above what is measured in benchmarks/search.py: they catch a broken search."""
    gaps = []
    for name in ("la19", "orb03", "ta01", "ta11"):
        instance = l2s.load(name)
        result = solve(instance, stop=steps(200_000), seed=1)
        gaps.append(result.makespan / instance.upper_bound - 1)
    assert max(gaps) < 0.05
    assert np.mean(gaps) < 0.03


def test_a_bound_claimed_by_a_file_is_not_believed():
    instance = l2s.load("ft10").with_details(name="mine", lower_bound=5000)
    result = tabu_search(instance, stop=steps(50))
    assert result.status == "FEASIBLE"
    assert result.lower_bound < result.makespan


def test_stop_criteria_combine_and_are_stateless():
    instance = l2s.load("la16")
    both = steps(100_000) | target(1000)
    first, second = (tabu_search(instance, stop=both) for _ in range(2))
    assert first.stopped_by == second.stopped_by == "target"
    assert first.makespan <= 1000
    patient = tabu_search(l2s.load("ta21"), stop=no_improvement(500) | seconds(60))
    assert patient.stopped_by == "no improvement"
    assert patient.steps - patient.history[-1][1] == 500
    asked = tabu_search(l2s.load("ta41"), stop=seconds(60) | (lambda progress: progress.step > 1000))
    assert asked.stopped_by == "condition"


@pytest.mark.parametrize(
    "build",
    [
        lambda: steps(-1),
        lambda: steps(1.5),
        lambda: seconds(0),
        lambda: seconds(-3),
        lambda: seconds(float("nan")),
        lambda: no_improvement(-1),
        lambda: target(1.5),
        lambda: when(3),
    ],
)
def test_impossible_limits_are_refused_where_they_are_built(build):
    with pytest.raises(L2SError, match="must be"):
        build()


@pytest.mark.parametrize("stop", [None, target(1), when(lambda progress: False), lambda progress: False])
def test_a_stop_that_may_never_come_is_refused(stop):
    for host in (local_search, tabu_search, solve):
        with pytest.raises(L2SError, match="stop"):
            host(l2s.load("ft06"), stop=stop)


def test_unknown_names_come_with_close_matches():
    instance = l2s.load("ft06")
    with pytest.raises(UnknownNameError, match="did you mean estimate"):
        tabu_search(instance, "estimat", stop=steps(1))
    with pytest.raises(UnknownNameError, match="neighbourhood 'n66'; did you mean n6"):
        tabu_search(instance, neighbourhood="n66", stop=steps(1))
    with pytest.raises(UnknownNameError, match="dispatching rule"):
        tabu_search(instance, initial="fdd/mwk", stop=steps(1))


def test_bad_parameters_are_refused():
    instance = l2s.load("ft06")
    with pytest.raises(L2SError, match="tenure"):
        tabu_search(instance, tenure=(5, 2), stop=steps(1))
    with pytest.raises(L2SError, match="seed"):
        tabu_search(instance, seed=-1, stop=steps(1))
    with pytest.raises(L2SError, match="annealing"):
        local_search(instance, annealing=(0.0, 1.0), stop=steps(1))
    with pytest.raises(L2SError, match="workers"):
        solve(instance, stop=steps(1), workers=0)
    with pytest.raises(PluginError, match="unknown gear"):
        tabu_search(instance, gear="warp", stop=steps(1))
    with pytest.raises(ScheduleError, match="belongs to"):
        tabu_search(instance, initial=dispatch(l2s.load("la01")), stop=steps(1))


class Rubbish:
    """Behaves for ten steps, then does not."""

    name = "rubbish"

    def __init__(self, answer):
        self.answer = answer
        self.calls = 0

    def select(self, state, moves, rng):
        self.calls += 1
        if self.calls <= 10:
            return 0
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


@pytest.mark.parametrize("answer", [-1, 10**6, "first", 0.5, True, ValueError("boom")])
@pytest.mark.parametrize("host", [local_search, tabu_search])
def test_a_selector_that_misbehaves_is_named_with_its_step_and_the_incumbent_is_kept(host, answer):
    with pytest.raises(SearchError, match=r"selector 'rubbish' .* at step 10") as caught:
        host(l2s.load("ft10"), Rubbish(answer), "n1", stop=steps(100))
    result = caught.value.result
    assert result.steps == 10
    assert result.schedule.makespan == result.makespan
    result.schedule.verify()


class Backwards:
    """A neighbourhood that offers the same swap on any machine, whatever is critical."""

    name = "backwards"

    def __init__(self, move):
        self.move = move

    def moves(self, state, rng):
        return [self.move]


@pytest.mark.parametrize("move", [(1, 1, 1), (0, 1, 1), (-5, 3, 1), (10**6, 2, 0), (1, 0, 1)])
def test_a_neighbourhood_that_offers_impossible_moves_is_named(move):
    with pytest.raises(SearchError, match=r"neighbourhood 'backwards' offered an impossible move .* at step 0"):
        tabu_search(l2s.load("ft06"), "random", Backwards(move), stop=steps(5))


def test_a_python_neighbourhood_runs_in_the_python_gear():
    class AnySwap:
        name = "any swap"

        def moves(self, state, rng):
            n = state.instance.n_operations
            return [
                (x, int(y), 1)
                for x, y in enumerate(state.machine_succ)
                if y < n
                and state.instance.job[x] != state.instance.job[y]
                and state.lst[x] == state.est[x]
                and state.lst[y] == state.est[y]
                and state.est[x] + state.instance.duration[x] == state.est[y]
            ]

    result = tabu_search(l2s.load("ft06"), "estimate", AnySwap(), stop=steps(300))
    assert result.gear == "python"
    assert result.neighbourhood == "any swap"
    assert result.makespan <= 60


def test_a_python_selector_sees_the_current_schedule_and_exact_values():
    seen = []

    class Best:
        def select(self, state, moves, rng):
            values = state.evaluate(moves)
            assert (values >= 0).all()
            assert (state.est >= 0).all()
            assert (state.lst >= state.est).all()
            seen.append((state.step, state.makespan, state.incumbent))
            return int(np.argmin(values))

    result = local_search(l2s.load("ft10"), Best(), "n5", stop=steps(60))
    greedy = local_search(l2s.load("ft10"), "greedy", "n5", stop=steps(60))
    assert result.gear == "python"
    assert [step for step, _, _ in seen] == list(range(len(seen)))
    assert seen[0][1] == dispatch(l2s.load("ft10")).makespan
    assert min(incumbent for _, _, incumbent in seen) >= result.makespan
    assert greedy.makespan <= seen[0][1]


def test_local_optima_restart_from_memory_or_end_the_search():
    instance = l2s.load("ft10")
    forever = local_search(instance, "best-improvement", stop=steps(2000))
    assert forever.steps == 2000
    once = local_search(instance, "best-improvement", stop=steps(2000), recent=0)
    assert once.stopped_by == "no moves"
    assert once.steps < 200


def test_forbidding_the_undo_ends_where_only_the_undo_is_left():
    """Two jobs on two machines: one swap, and then only its reversal."""
    instance = Instance.from_jobs([[(0, 5), (1, 1)], [(0, 1), (1, 5)]])
    result = local_search(instance, "random", "n1", stop=steps(100), forbid_undo=True)
    assert result.steps <= 2
    free = local_search(l2s.load("ft06"), "random", "n1", stop=steps(100))
    assert free.steps == 100


def test_annealing_refuses_most_worsening_moves_once_it_is_cold():
    instance = l2s.load("la16")
    hot = local_search(instance, "random", "n1", annealing=(1e9, 1.0), stop=steps(5000))
    slow = local_search(instance, "random", "n1", annealing=(30.0, 0.9995), stop=steps(20_000))
    assert slow.makespan < hot.makespan


def test_a_schedule_or_a_result_can_be_the_start():
    instance = l2s.load("la16")
    first = tabu_search(instance, stop=steps(500))
    again = tabu_search(instance, initial=first, stop=steps(0))
    assert again.makespan == first.makespan
    assert tabu_search(instance, initial=first.schedule, stop=steps(500), seed=9).makespan <= first.makespan


def test_an_instance_without_moves_ends_at_once():
    for jobs in ([[(0, 3)]], [[(0, 0)], [(0, 0)]], [[(0, 2), (0, 2)], [(0, 1)]]):
        instance = Instance.from_jobs(jobs)
        for host in (local_search, tabu_search, solve):
            result = host(instance, stop=steps(1000))
            assert result.status == "OPTIMAL"


@pytest.mark.parametrize("host", [local_search, tabu_search, solve])
def test_the_name_of_an_instance_in_its_place_is_one_clear_line(host):
    with pytest.raises(L2SError, match=r"expected an Instance, such as l2s.load\('ta01'\), got 'ft06'"):
        host("ft06", stop=steps(1))
    with pytest.raises(L2SError, match="expected an Instance"):
        dispatch("ft06")
