"""A search that notes what it is told to do."""

from __future__ import annotations

from heuristics.loop.search import Search


class Watched(Search):
    """A search that notes who chooses in every trajectory, from which schedule it starts and what it is drawn to."""

    def __init__(self, *arguments) -> None:
        self.trajectories: list[tuple[str, list[int], list[int] | None]] = []
        self.begun: list[int] = []
        super().__init__(*arguments)

    def start(self, linear_order, drawn_to=None) -> None:
        target = None if drawn_to is None else list(drawn_to)
        self.trajectories.append((self.selector.name, list(linear_order), target))
        self.begun.append(self.step)
        super().start(linear_order, drawn_to)
