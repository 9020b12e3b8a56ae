"""Populations: how members are born, how they are recombined, and which of them stay so that they differ."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from heuristics.loop.kernels import FOREVER
from l2s_plugin.instance import Instance
from l2s_plugin.schedule import Schedule, respecting

_RIVALS = 4  # members are drawn, with replacement, and the best of them is polished
_POLISHED_SHARE = (0.4, 0.95)  # of that one, in what polishing begins with

Order = NDArray[np.uint32]
Places = NDArray[np.int32]
Distances = NDArray[np.float64]


@dataclass(frozen=True, order=True)
class Member:
    """A schedule by its longest path, the makespan unless due dates count, by which members compare, and its linear
    order, sorted by start time."""

    makespan: int
    order: Order = field(compare=False)

    @classmethod
    def of(cls, schedule: Schedule) -> Member:
        return cls(schedule.length, schedule.linear_order.astype(np.uint32))

    def places(self, instance: Instance) -> Places:
        """The place of every operation in the order of its machine."""
        by_machine = self.order[np.argsort(instance.machine[self.order], kind="stable")]
        places = np.empty(len(self.order), np.int32)
        places[by_machine] = np.arange(len(self.order))
        return places


NO_MEMBER = Member(FOREVER, np.zeros(0, np.uint32))


def random_order(instance: Instance, rng: np.random.Generator) -> Order:
    """A random linear order of the operations that respects the jobs and kept machine orders."""
    places = np.argsort(rng.permutation(instance.job), kind="stable")  # a job's k-th place is its k-th operation's
    order = np.empty(instance.n_operations, np.uint32)
    order[places] = np.arange(instance.n_operations)
    return respecting(instance, order)


def recombine(a: Order, b: Order, rng: np.random.Generator, least: float = 0.3, most: float = 0.7) -> Order:
    """Begin like `a`, go on like `b`: the first part of one linear order, then the rest in the order of the other.

    The child is a linear order that respects the jobs, so it is acyclic; whatever comes first in both parents comes
    first in the child. The part of `a` is between `least` and `most` of the operations.
    """
    cut = int(len(a) * rng.uniform(least, most))
    begun = np.zeros(len(a), bool)
    begun[a[:cut]] = True
    return np.concatenate((a[:cut], b[~begun[b]]))


def polished_start(members: Sequence[Member], rng: np.random.Generator) -> tuple[Order, Member]:
    """Where a search begins that is to make a member better, and that member: the best of a few at random.

    It begins like the member, most often for the larger part, and goes on like another.
    """
    ranked = sorted(members)
    target = ranked.pop(int(rng.integers(len(ranked), size=_RIVALS).min()))
    other = ranked[rng.integers(len(ranked))] if ranked else target
    return recombine(target.order, other.order, rng, *_POLISHED_SHARE), target


def survivors(members: Sequence[Member], distances: Distances, count: int, required: float) -> list[int]:
    """Which `count` of the members stay: the best one, then again and again the best of those that are at least
    `required` from all that stay, or else the one that is farthest from them.

    This is the replacement "best non-penalised" of Constantino & Segura (2022).
    """
    waiting = sorted(range(len(members)), key=lambda k: members[k])
    stay = [waiting.pop(0)]
    nearest = distances[stay[0]]
    while waiting and len(stay) < count:
        far_enough = np.flatnonzero(nearest[waiting] >= required)
        chosen = waiting.pop(int(far_enough[0] if len(far_enough) else nearest[waiting].argmax()))
        stay.append(chosen)
        nearest = np.minimum(nearest, distances[chosen])
    return stay


class Population:
    """Schedules of an instance that are no copies of each other, and their `distances`: by how many places on its
    machine an operation is displaced, on average."""

    def __init__(self, instance: Instance, members: Sequence[Member] = ()) -> None:
        self.instance = instance
        self.members: list[Member] = []
        self.distances: Distances = np.zeros((0, 0))
        self._places: Places = np.zeros((0, instance.n_operations), np.int32)  # of the members, a row each
        self.take_in(members)

    def take_in(self, members: Sequence[Member]) -> None:
        """Add those that are not there yet."""
        for member in members:
            if any(member is own for own in self.members):
                continue
            places = member.places(self.instance)
            distances = np.abs(self._places - places).mean(axis=1)
            if distances.all():  # no copy of another
                self.members.append(member)
                self._places = np.vstack((self._places, places))
                self.distances = np.pad(self.distances, (0, 1))
                self.distances[-1, :-1] = self.distances[:-1, -1] = distances

    def reduce(self, count: int, required: float) -> None:
        """Let members leave until there are no more than `count`: see `survivors`."""
        if len(self.members) > count:
            stay = survivors(self.members, self.distances, count, required)
            self.members = [self.members[k] for k in stay]
            self._places, self.distances = self._places[stay], self.distances[np.ix_(stay, stay)]

    def spread(self) -> float:
        """The mean distance of two members."""
        return float(self.distances[np.tril_indices(len(self.members), -1)].mean())

    def copy(self) -> Population:
        """One that can change without this one."""
        twin = Population(self.instance)
        twin.members, twin._places, twin.distances = [*self.members], self._places, self.distances
        return twin
