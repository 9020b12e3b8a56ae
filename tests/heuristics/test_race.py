"""Which trajectories go on."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from heuristics.loop.kernels import FOREVER
from heuristics.race import ENOUGH, HURDLES, LATEST, Race


@given(st.lists(st.tuples(st.booleans(), st.lists(st.integers(0, 50), min_size=2, max_size=2)), max_size=80))
def test_those_go_on_that_are_among_the_best_of_the_latest_of_their_kind(trajectories):
    race, step = Race(1000), 7
    seen: dict[tuple[bool, int], list[int]] = {}
    for kind, makespans in trajectories:
        race.begin(step, kind)
        for number, ((part, share), makespan) in enumerate(zip(HURDLES, makespans, strict=True)):
            assert race.next == step + part * 1000
            latest = seen.setdefault((kind, number), [])
            better = sum(other < makespan for other in latest[-LATEST:])
            expected = len(latest) < ENOUGH or better <= int(share * len(latest[-LATEST:]))
            latest.append(makespan)
            assert race.passes(makespan) == expected
            if not expected:
                break
        else:
            assert race.next == FOREVER
        step += 500


def test_a_trajectory_of_no_kind_has_no_hurdles():
    race = Race(1000)
    race.begin(5, None)
    assert race.next == FOREVER


def test_a_hurdle_is_at_least_a_step_away():
    race = Race(1)
    race.begin(5, True)
    assert race.next == 6
