"""Which trajectories are worth going on with: each is looked at twice on its way, beside the latest of its kind."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Hashable

from heuristics.loop.kernels import FOREVER

HURDLES = ((0.08, 0.4), (0.32, 0.6))  # (when, in parts of the patience; the part of the trajectories that goes on)
LATEST, ENOUGH = 32, 8  # trajectories to compare with: at most, and at least


class Race:
    """The hurdles of one trajectory after the other.

    How good a trajectory is soon says a lot about how good it will be; docs/results.md has what that brings.
    """

    def __init__(self, patience: int) -> None:
        self.next = FOREVER  # step of the next hurdle
        self._after = [max(1, int(part * patience)) for part, _ in HURDLES]
        self._begun, self._number = 0, 0
        self._kind: Hashable = None
        self._latest: dict[tuple[Hashable, int], deque[int]] = defaultdict(lambda: deque(maxlen=LATEST))

    def begin(self, step: int, kind: Hashable) -> None:
        """A trajectory begins; it is compared with others of its kind, and has no hurdles if that is None."""
        self._begun, self._number, self._kind = step, 0, kind
        self.next = FOREVER if kind is None else step + self._after[0]

    def passes(self, makespan: int) -> bool:
        """Whether a trajectory that comes to its hurdle with that makespan goes on."""
        latest, share = self._latest[self._kind, self._number], HURDLES[self._number][1]
        passes = len(latest) < ENOUGH or makespan <= sorted(latest)[int(share * len(latest))]
        latest.append(makespan)
        self._number += 1
        self.next = FOREVER if self._number == len(HURDLES) else self._begun + self._after[self._number]
        return passes
