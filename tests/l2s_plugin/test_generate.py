"""The generators: Taillard's reproduces his benchmarks, the uniform one does what the paper says."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from l2s_plugin import generate
from l2s_plugin.data import benchmark, benchmark_names
from l2s_plugin.errors import InstanceError, UnknownNameError

# time seed and machine seed of ta01 to ta80, as Taillard published them
TAILLARD_SEEDS = """
840612802 398197754 1314640371 386720536 1227221349 316176388 342269428 1806358582 1603221416 1501949241
1357584978 1734077082 44531661 1374316395 302545136 2092186050 1153780144 1393392374 73896786 1544979948
533484900 317419073 1894307698 1474268163 874340513 509669280 1124986343 1209573668 1463788335 529048107
1056908795 25321885 195672285 1717580117 961965583 1353003786 1610169733 1734469503 532794656 998486810
1035939303 773961798 5997802 1872541150 1357503601 722225039 806159563 1166962073 1902815253 1879990068
1503184031 1850351876 1032645967 99711329 229894219 1158117804 823349822 108033225 1297900341 489486403
98640593 1981283465 1839268120 248890888 573875290 2081512253 1670898570 788294565 1118914567 1074349202
178750207 294279708 1549372605 596993084 798174738 151685779 553410952 1329272528 1661531649 1173386294
1841414609 1357882888 2116959593 1546338557 796392706 1230864158 532496463 254174057 2020525633 978943053
524444252 185526083 1569394691 487269855 1460267840 1631446539 198324822 1937476577 38071822 1541985579
17271 718939 660481279 449650254 352229765 949737911 1197518780 166840558 1376020303 483922052
2106639239 955932362 1765352082 1209982549 1105092880 1349003108 907248070 919544535 2011630757 1845447001
8493988 2738939 1991925010 709517751 342093237 786960785 1634043183 973178279 341706507 286513148
320167954 1411193018 1089696753 298068750 433032965 1589656152 615974477 331205412 236150141 592292984
302034063 1203569070 1437643198 1692025209 1792475497 1039908559 1647273132 1012841433 696480901 1689682358
1785569423 1092647459 117806902 739059626 1639154709 1319962509 2007423389 749368241 682761130 262763021
"""


def test_seeds_of_ta01_give_ta01():
    assert generate.taillard(15, 15, 840612802, 398197754) == benchmark("ta01")


def test_published_seeds_give_all_of_taillards_benchmarks():
    names = [name for name in benchmark_names() if name.startswith("ta")]
    seeds = list(map(int, TAILLARD_SEEDS.split()))
    assert len(names) == 80
    for name, time_seed, machine_seed in zip(names, seeds[::2], seeds[1::2], strict=True):
        instance = benchmark(name)
        assert generate.taillard(instance.n_jobs, instance.n_machines, time_seed, machine_seed) == instance, name


@given(st.integers(1, 2**31 - 2), st.integers(1, 2**31 - 2))
def test_taillard_follows_his_sequential_procedure(time_seed, machine_seed):
    """Against the published pseudo-code, one number at a time."""

    def unif(state, low, high):
        k = state[0] // 127773
        state[0] = 16807 * (state[0] % 127773) - k * 2836
        state[0] += (2**31 - 1) * (state[0] < 0)
        return low + int(state[0] / (2**31 - 1) * (high - low + 1))

    times, machines = [time_seed], [machine_seed]
    durations = [[unif(times, 1, 99) for _ in range(4)] for _ in range(3)]
    jobs = []
    for row in durations:
        route = list(range(4))
        for k in range(4):
            other = unif(machines, k, 3)
            route[k], route[other] = route[other], route[k]
        jobs.append(list(zip(route, row, strict=True)))
    assert generate.taillard(3, 4, time_seed, machine_seed).jobs() == jobs


@given(st.integers(0, 2**40))
def test_seeds_derived_from_one_number_are_valid_and_repeatable(seed):
    seeds = generate.taillard_seeds(seed)
    assert all(0 < each < 2**31 - 1 for each in seeds)
    assert seeds == generate.taillard_seeds(seed)


def test_uniform_visits_every_machine_once_with_durations_in_range():
    instance = generate.uniform(40, 25, seed=3)
    assert instance.is_rectangular
    assert instance.size == "40x25"
    assert (instance.duration.min(), instance.duration.max()) == (1, 99)  # 1000 draws meet both ends
    assert abs(instance.duration.mean() - 50) < 5
    routes = instance.machine.reshape(40, 25)
    assert len({tuple(row) for row in routes.tolist()}) == 40
    assert len(set(routes[:, 0].tolist())) > 10


def test_uniform_takes_another_range_of_durations():
    assert set(generate.uniform(10, 10, 0, low=0, high=2).duration.tolist()) == {0, 1, 2}


def test_a_seed_gives_one_instance():
    assert generate.uniform(6, 5, 1) == generate.uniform(6, 5, np.int64(1))
    assert generate.uniform(6, 5, 1) != generate.uniform(6, 5, 2)


def test_a_million_operations_are_generated_whole():
    assert generate.taillard(1000, 1000, 1, 2).n_operations == 1_000_000
    assert generate.uniform(1000, 1000, 1).n_operations == 1_000_000


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: generate.uniform(0, 3, 0), "cannot generate 0x3: expected at least one job and one machine"),
        (lambda: generate.taillard(3, -1, 1, 1), "cannot generate 3x-1"),
        (lambda: generate.uniform(10**6, 10**6, 0), "at most 10000000 operations"),
        (lambda: generate.uniform(2.5, 3, 0), "n_jobs must be an integer, got 2.5"),
        (lambda: generate.uniform(2, 3, -1), "seed is -1, expected 0 or more"),
        (lambda: generate.uniform(2, 3, 0, low=5, high=4), "expected 0 <= low <= high"),
        (lambda: generate.uniform(2, 3, 0, low=-1), "expected 0 <= low"),
        (lambda: generate.uniform(2, 3, 0, low=2**30 - 2, high=2**30 - 1), "total duration"),
        (lambda: generate.taillard(2, 2, 0, 1), "time_seed is 0, expected 1 to 2147483646"),
        (lambda: generate.taillard(2, 2, 1, 2**31 - 1), "machine_seed is 2147483647"),
    ],
)
def test_impossible_requests_are_refused(make, message):
    with pytest.raises(InstanceError, match=message):
        make()


@given(st.integers(1, 6), st.integers(1, 7), st.integers(0, 99), st.data())
def test_jobs_pass_the_stages_one_after_the_other(n_jobs, n_machines, seed, data):
    stages = data.draw(st.integers(1, n_machines))
    instance = generate.uniform(n_jobs, n_machines, seed, stages=stages)
    sets = np.array_split(np.arange(n_machines), stages)
    for row in instance.machine.reshape(n_jobs, n_machines):
        at = 0
        for members in sets:
            assert sorted(row[at : at + len(members)]) == members.tolist()
            at += len(members)
    if stages == 1:
        assert instance == generate.uniform(n_jobs, n_machines, seed)


@pytest.mark.parametrize("stages", [0, 5, -1])
def test_stages_without_machines_are_refused(stages):
    with pytest.raises(InstanceError, match="stages: expected 1 to 4"):
        generate.uniform(3, 4, 1, stages=stages)


@given(st.integers(1, 8), st.integers(1, 6), st.integers(0, 99), st.sampled_from(sorted(generate.TIGHTNESS)))
def test_dates_are_those_that_the_tightness_says(n_jobs, n_machines, seed, tightness):
    """Due after the release and so many times the work of the job, a tenth more or less."""
    plain = generate.uniform(n_jobs, n_machines, seed)
    dated = generate.with_dates(plain, seed, tightness)
    assert (dated.jobs(), dated.objective) == (plain.jobs(), "makespan")
    assert dated.name == f"{plain.name}-{tightness}-{seed}"
    earliest = np.zeros(plain.n_operations) if dated.earliest is None else dated.earliest
    release, work = earliest[plain.job_offset[:-1]], [sum(p for _, p in job) for job in plain.jobs()]
    assert not np.delete(earliest, plain.job_offset[:-1]).any()
    assert release.max() <= plain.duration.sum() / (2 * n_machines)
    factor = {"tight": 1.3, "medium": 1.6, "loose": 2.0}[tightness] * np.array(work)
    assert (dated.due >= np.floor(release + 0.9 * factor)).all()
    assert (dated.due <= release + 1.1 * factor).all()


def test_a_third_of_the_jobs_are_there_at_once_and_a_seed_gives_the_same_dates():
    plain = generate.uniform(600, 4, 1)
    dated = generate.with_dates(plain, 1)
    assert 0.27 < (dated.earliest[plain.job_offset[:-1]] == 0).mean() < 0.4
    assert dated == generate.with_dates(plain, 1, "medium")
    assert dated != generate.with_dates(plain, 2)


def test_tighter_dates_are_harder_to_meet():
    plain = generate.uniform(10, 5, 1)
    due = [generate.with_dates(plain, 3, tightness).due for tightness in ("tight", "medium", "loose")]
    assert (due[0] < due[1]).all()
    assert (due[1] < due[2]).all()


def test_unknown_tightness_is_refused():
    with pytest.raises(UnknownNameError, match="unknown tightness 'lose'; did you mean loose"):
        generate.with_dates(generate.uniform(2, 2, 1), 1, "lose")
    with pytest.raises(InstanceError, match="seed is -1, expected 0 or more"):
        generate.with_dates(generate.uniform(2, 2, 1), -1)
