"""Loads and starts well; the trouble comes later."""

from __future__ import annotations

from typing import Any

from l2s_plugin import SelectorSpec, hookimpl


@hookimpl
def l2s_selectors() -> list[SelectorSpec]:
    return [SelectorSpec("fails-at", "l2s_failing:FailsAt", "takes the first move, until it raises")]


class FailsAt:
    name = "fails-at"

    def __init__(self, step: str = "5") -> None:
        self.step = int(step)

    def select(self, state: Any, moves: Any, rng: Any) -> int:
        if state.step >= self.step:
            raise RuntimeError("no more ideas")
        return 0
