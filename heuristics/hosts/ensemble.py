"""Several policies on one instance, and the best of what they find (paper, appendix "Ensemble Performance")."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from heuristics.hosts.trajectories import local_search
from heuristics.result import Result
from l2s_plugin.data import best_known
from l2s_plugin.errors import L2SError
from l2s_plugin.instance import Instance
from l2s_plugin.policy.checkpoint import Policy
from l2s_plugin.policy.selector import L2SSelector
from l2s_plugin.registry import Registry
from l2s_plugin.schedule import Schedule


@dataclass(frozen=True)
class EnsembleResult:
    """The results of all policies; what is asked of the whole is answered by the best of them, the first of equals."""

    singles: tuple[Result, ...]

    @property
    def best(self) -> Result:
        return min(self.singles, key=lambda result: result.makespan)

    @property
    def schedule(self) -> Schedule:
        return self.best.schedule

    @property
    def makespan(self) -> int:
        return self.best.makespan

    @property
    def seconds(self) -> float:
        """Of all together: one ran after the other."""
        return sum(result.seconds for result in self.singles)

    def to_dict(self) -> dict[str, Any]:
        """Plain data: the best result, and all of them beside it."""
        return {"best": self.best.to_dict(), "singles": [result.to_dict() for result in self.singles]}

    def summary(self) -> str:
        """The single results and the best of them, side by side."""
        known = best_known(self.best.instance) or self.best.lower_bound
        rows = [(result.selector or "", result) for result in self.singles] + [("ensemble", self.best)]
        width = max(len(name) for name, _ in rows)
        return "\n".join(
            f"{name:<{width}}  {result.makespan:>8}  {100 * (result.makespan / known - 1) if known else 0:+7.2f} %"
            for name, result in rows
        )


def ensemble_search(
    instance: Instance,
    policies: Iterable[str | Path | Policy | L2SSelector],
    *,
    host: Callable[..., Result] = local_search,
    sample: bool = True,
    device: str = "cpu",
    registry: Registry | None = None,
    **options: Any,
) -> EnsembleResult:
    """Run one search per policy, each with the whole budget, and keep all the results.

    Parameters
    ----------
    policies
        Names of installed policies, files, policies, or selectors made from them.
    host
        `local_search`, as in the paper, or `tabu_search`.
    sample, device
        See `l2s_plugin.policy.L2SSelector`; do not concern policies given as selectors.
    options
        Of the host, the same for each policy: `stop`, `time_limit`, `seed`, `neighbourhood`, ...
    """
    selectors = [
        policy if isinstance(policy, L2SSelector) else L2SSelector(policy, sample, device, registry=registry)
        for policy in policies
    ]
    if not selectors:
        raise L2SError("an ensemble needs at least one policy")
    results = []
    for selector in selectors:
        results.append(host(instance, selector, registry=registry, **options))
        if results[-1].stopped_by == "interrupt":
            break
    return EnsembleResult(tuple(results))
