"""Random instances: Taillard's generator, which reproduces his benchmarks, and the paper's uniform one."""

from __future__ import annotations

import operator
from math import inf, prod

import numpy as np
from numpy.typing import NDArray

from l2s_plugin.errors import InstanceError, unknown_name
from l2s_plugin.instance import MAX_TOTAL_DURATION, Instance

MAX_OPERATIONS = 10_000_000
TIGHTNESS = {"tight": 1.3, "medium": 1.6, "loose": 2.0}

_MULTIPLIER, _MODULUS = 16807, 2**31 - 1  # Taillard 1993, section 2: x <- 16807 x mod (2^31 - 1)


def taillard(n_jobs: int, n_machines: int, time_seed: int, machine_seed: int) -> Instance:
    """Generate an instance as Taillard did: durations from 1 to 99; every job visits all machines, in random order.

    The seeds of the two streams of random numbers go from 1 to 2^31 - 2. Those published with his benchmarks reproduce
    them: `taillard(15, 15, 840612802, 398197754)` is ta01.
    """
    n_jobs, n_machines = _size(n_jobs, n_machines)
    time_seed = _integer("time_seed", time_seed, 1, _MODULUS - 1)
    machine_seed = _integer("machine_seed", machine_seed, 1, _MODULUS - 1)
    duration = 1 + (_lcg(time_seed, (n_jobs, n_machines)) * 99).astype(np.int32)
    # operation k swaps its machine with that of an operation from k to the last, job by job
    rows, columns = np.arange(n_jobs), np.arange(n_machines)
    partner = columns + (_lcg(machine_seed, (n_jobs, n_machines)) * (n_machines - columns)).astype(np.int64)
    machine = np.tile(columns.astype(np.int32), (n_jobs, 1))
    for k, other in enumerate(partner.T):
        machine[rows, k], machine[rows, other] = machine[rows, other], machine[rows, k]
    name = f"taillard-{n_jobs}x{n_machines}-{time_seed}-{machine_seed}"
    return Instance.from_matrices(duration, machine, name=name, source="Taillard's generator")


def taillard_seeds(seed: int) -> tuple[int, int]:
    """A pair of seeds for `taillard`, derived from any one non-negative number."""
    time_seed, machine_seed = np.random.default_rng(_integer("seed", seed, 0)).integers(1, _MODULUS, size=2)
    return int(time_seed), int(machine_seed)


def uniform(n_jobs: int, n_machines: int, seed: int, low: int = 1, high: int = 99, stages: int = 1) -> Instance:
    """Generate an instance as in the paper: uniform durations, and a random permutation of machines per job.

    Parameters
    ----------
    seed
        Any non-negative number; the same seed gives the same instance.
    low, high
        Smallest and largest duration.
    stages
        In how many sets of about equal size machines are divided; jobs visit all of one before any of the next. Two of
        them are what the swv benchmarks have.
    """
    n_jobs, n_machines = _size(n_jobs, n_machines)
    stages, low, high = _integer("stages", stages), _integer("low", low), _integer("high", high)
    if not 1 <= stages <= n_machines:
        raise InstanceError(f"{stages} stages: expected 1 to {n_machines}, the number of machines")
    if not 0 <= low <= high <= MAX_TOTAL_DURATION:
        raise InstanceError(f"durations from {low} to {high}: expected 0 <= low <= high <= {MAX_TOTAL_DURATION}")
    rng = np.random.default_rng(_integer("seed", seed, 0))
    duration = rng.integers(low, high, size=(n_jobs, n_machines), endpoint=True)
    sets = np.array_split(np.arange(n_machines, dtype=np.int32), stages)
    machine = np.hstack([rng.permuted(np.tile(part, (n_jobs, 1)), axis=1) for part in sets])
    span = "" if (low, high) == (1, 99) else f"-{low}-{high}"
    structure = "" if stages == 1 else f"-stages{stages}"
    name = f"uniform-{n_jobs}x{n_machines}{structure}{span}-{seed}"
    return Instance.from_matrices(duration, machine, name=name, source="uniform generator")


def with_dates(instance: Instance, seed: int, tightness: str = "medium") -> Instance:
    """The same with random release and due dates.

    A third of the jobs are there at 0, the others come until half of the mean work of a machine is done. A job is due
    after its release and 1.3 (tight), 1.6 (medium) or 2 times its work (loose), a tenth more or less. The same seed
    gives the same dates.
    """
    if tightness not in TIGHTNESS:
        raise unknown_name("tightness", str(tightness), TIGHTNESS)
    rng = np.random.default_rng((_integer("seed", seed, 0), 1))
    jobs, last = instance.n_jobs, instance.job_offset[1:] - 1
    latest = int(instance.duration.sum(dtype=np.int64)) // (2 * instance.n_machines)
    release = np.where(rng.random(jobs) < 1 / 3, 0, rng.integers(0, latest, jobs, endpoint=True))
    allowance = TIGHTNESS[tightness] * rng.uniform(0.9, 1.1, jobs) * (instance.job_head[last] + instance.duration[last])
    dated = instance.with_dates(release=release.tolist(), due=(release + allowance).astype(np.int64).tolist())
    return dated.with_details(name=f"{instance.name}-{tightness}-{seed}")


def _lcg(seed: int, shape: tuple[int, int]) -> NDArray[np.float64]:
    """The first numbers of Taillard's stream, in (0, 1).

    The k-th state is seed * 16807^k mod m, and the powers known double per round, so no loop over draws is
    needed; products of two residues stay below 2^62.
    """
    powers = np.array([_MULTIPLIER], np.int64)
    while len(powers) < prod(shape):
        powers = np.concatenate((powers, powers * powers[-1] % _MODULUS))
    return (powers[: prod(shape)] * seed % _MODULUS / _MODULUS).reshape(shape)


def _size(n_jobs: int, n_machines: int) -> tuple[int, int]:
    n_jobs, n_machines = _integer("n_jobs", n_jobs), _integer("n_machines", n_machines)
    if n_jobs < 1 or n_machines < 1:
        raise InstanceError(f"cannot generate {n_jobs}x{n_machines}: expected at least one job and one machine")
    if n_jobs * n_machines > MAX_OPERATIONS:
        raise InstanceError(f"cannot generate {n_jobs}x{n_machines}: at most {MAX_OPERATIONS} operations")
    return n_jobs, n_machines


def _integer(name: str, value: int, least: float = -inf, most: float = inf) -> int:
    try:
        number = operator.index(value)
    except TypeError:
        raise InstanceError(f"{name} must be an integer, got {value!r}") from None
    if not least <= number <= most:
        expected = f"{least} or more" if most == inf else f"{least} to {most}"
        raise InstanceError(f"{name} is {number}, expected {expected}")
    return number
