"""Mirrored trials: how the result of a search changes with every weight of a rule, from many short searches.

Each instance of a batch is searched twice from the same schedule, by the present weights plus and minus a deviation of
its own. Regressed on the deviations, the differences between the two are the slopes along all weights at once, and the
weights go downhill (evolution strategies with mirrored sampling: Brockhoff et al. 2010, Salimans et al. 2017). Like the
cross-entropy method it improves the figure that counts, but every search says something about every weight, so
that many more weights can be told apart.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor

import numpy as np
from numpy.typing import NDArray

from l2s_plugin.kernels.move_features import COMMON, N_MOVE_FEATURES, MoveFeature

Weights = NDArray[np.float64]

SPREAD = 0.3  # of the deviations; the estimate's weight is about -3
MILESTONES = (0.1, 0.2, 0.4, 1.0)  # when results are taken, in parts of the search
_INERTIA = 0.7  # of the slopes, from batch to batch


def deviations(shape: tuple[int, int], features: Sequence[str], rng: np.random.Generator) -> Weights:
    """Random deviations, a row each; only weights of the given features differ, or all if there are none given."""
    feature = np.arange(shape[1]) % N_MOVE_FEATURES
    wanted = [MoveFeature[name.upper()] for name in features] or list(MoveFeature)
    free = np.isin(feature, wanted) & ~np.isin(feature, COMMON)
    return rng.normal(0, SPREAD, shape) * free


def mirrored_results(
    search: Callable[[Weights, int], float], centre: Weights, tried: Weights, own: range, threads: int = 1
) -> Weights:
    """Results (n, 2) of centre + deviation and centre - deviation on each instance of `own`, zeros for the others;
    `search` gives the result of weights on an instance."""
    results = np.zeros((len(tried), 2))
    with ThreadPoolExecutor(threads) as pool:
        for k, pair in zip(
            own, pool.map(lambda k: [search(centre + s * tried[k], k) for s in (1, -1)], own), strict=True
        ):
            results[k] = pair
    return results


def slopes(tried: Weights, results: Weights) -> Weights:
    """Change of the result with each weight; zero for weights that did not deviate."""
    free = tried.any(axis=0)
    found = np.zeros(tried.shape[1])
    found[free] = np.linalg.lstsq(tried[:, free], (results[:, 0] - results[:, 1]) / 2, rcond=None)[0]
    return found


def smoothed(before: Weights, now: Weights, batch: int) -> tuple[Weights, Weights]:
    """Slopes averaged over batches, to keep, and as the estimate after `batch` of them."""
    kept = _INERTIA * before + (1 - _INERTIA) * now
    return kept, kept / (1 - _INERTIA**batch)
