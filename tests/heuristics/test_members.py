"""Members of a population: birth, recombination, distance, and which of them stay."""

from __future__ import annotations

from itertools import combinations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from heuristics.members import Member, Population, polished_start, random_order, recombine, survivors
from l2s_plugin.schedule import Schedule
from tests.strategies import instances, linear_orders


def respects_jobs(instance, order) -> bool:
    place = np.empty(instance.n_operations, int)
    place[order] = np.arange(instance.n_operations)
    return sorted(order.tolist()) == list(range(instance.n_operations)) and all(
        (np.diff(places) > 0).all() for places in instance.split_by_job(place)
    )


@settings(deadline=None)
@given(instances(), st.integers(0, 100))
def test_random_orders_respect_the_jobs(instance, seed):
    assert respects_jobs(instance, random_order(instance, np.random.default_rng(seed)))


@settings(deadline=None)
@given(st.data(), instances(), st.integers(0, 100))
def test_a_child_is_feasible_and_keeps_what_both_parents_agree_on(data, instance, seed):
    a, b = (data.draw(linear_orders(instance)).astype(np.uint32) for _ in range(2))
    child = recombine(a, b, np.random.default_rng(seed))
    assert respects_jobs(instance, child)
    place_a, place_b, place = (np.argsort(order) for order in (a, b, child))
    for x in range(instance.n_operations):
        for y in range(instance.n_operations):
            if place_a[x] < place_a[y] and place_b[x] < place_b[y]:
                assert place[x] < place[y]


@settings(deadline=None)
@given(instances(), st.integers(1, 5), st.integers(0, 100))
def test_what_is_polished_begins_like_a_member_and_goes_on_like_another(instance, count, seed):
    rng = np.random.default_rng(seed)
    members = [Member(int(rng.integers(9)), random_order(instance, rng)) for _ in range(count)]
    start, target = polished_start(members, rng)
    assert any(target is member for member in members)
    others = [member.order.tolist() for member in members if member is not target] or [target.order.tolist()]
    cut = int(0.4 * len(start))
    assert start[:cut].tolist() == target.order[:cut].tolist()
    rests = [[x for x in other if x not in start[:cut]] for other in others]
    assert any(
        start[cut:].tolist() == [*start[cut:k], *(x for x in rest if x not in start[cut:k])]
        for rest in rests
        for k in range(cut, len(start) + 1)
    )


def test_the_better_a_member_the_more_often_it_is_polished():
    rng = np.random.default_rng(0)
    members = [Member(value, np.arange(9, dtype=np.uint32)) for value in (3, 1, 4, 0, 2)]
    drawn = np.bincount([polished_start(members, rng)[1].makespan for _ in range(4000)], minlength=5)
    left = np.arange(5, -1, -1) / 5  # the part of the members that are no better; the best of four is to be among them
    np.testing.assert_allclose(drawn / 4000, left[:-1] ** 4 - left[1:] ** 4, atol=0.02)


@settings(deadline=None)
@given(st.data(), instances())
def test_distance_is_how_far_operations_are_displaced_on_their_machines(data, instance):
    a, b = (Schedule.from_linear_order(instance, data.draw(linear_orders(instance))) for _ in range(2))
    orders = zip(a.machine_orders, b.machine_orders, strict=True)
    displaced = [abs(one.tolist().index(x) - other.tolist().index(x)) for one, other in orders for x in one]
    population = Population(instance, [Member.of(a), Member.of(b), Member.of(a)])
    if any(displaced):
        assert population.distances.tolist() == [[0, np.mean(displaced)], [np.mean(displaced), 0]]
        assert population.spread() == np.mean(displaced)
    else:  # copies are left out
        assert len(population.members) == 1


@settings(deadline=None)
@given(
    st.lists(st.tuples(st.integers(0, 9), st.integers(0, 20)), min_size=2, max_size=9),
    st.integers(1, 9),
    st.integers(0, 12),
)
def test_the_best_stay_that_are_far_from_each_other(given_members, count, required):
    """Members are points on a line here; those that stay are chosen as slowly and plainly as can be."""
    members = [Member(value, np.zeros(0, np.uint32)) for value, _ in given_members]
    points = np.array([float(point) for _, point in given_members])
    distances = np.abs(points[:, None] - points)
    stay = survivors(members, distances, count, required)
    assert len(stay) == len({*stay}) == min(count, len(members))
    assert members[stay[0]] == min(members)
    for k in range(1, len(stay)):
        gone = [j for j in range(len(members)) if j not in stay[:k]]
        gaps = {j: min(distances[j, i] for i in stay[:k]) for j in gone}
        far = [j for j in gone if gaps[j] >= required]
        if far:
            assert stay[k] in far
            assert members[stay[k]].makespan == min(members[j].makespan for j in far)
        else:
            assert gaps[stay[k]] == max(gaps.values())
    if required == 0 or (
        count < len(members) and all(distances[i, j] >= required for i, j in combinations(range(len(members)), 2))
    ):
        assert sorted(members[k].makespan for k in stay) == sorted(m.makespan for m in members)[:count]
