"""What charts have in common, whoever draws them: colours, and the rows of a Gantt chart."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from l2s_plugin.instance import Instance, IntArray

INK = "#1f2937"
QUIET = "#6b7280"
GRID = "#e5e7eb"
BAR = 0.82  # of the height of a row


def view(instance: Instance, by: str) -> tuple[IntArray, IntArray, int, int]:
    """Rows and colours of all operations and their numbers: `by` machine (colours are jobs), or by job."""
    if by == "machine":
        return instance.machine, instance.job, instance.n_machines, instance.n_jobs
    return instance.job, instance.machine, instance.n_jobs, instance.n_machines


def pale(colours: NDArray[np.float64]) -> NDArray[np.float64]:
    """Halfway to white."""
    return (1 + colours) / 2


def css(colours: NDArray[np.float64]) -> list[str]:
    """RGB rows in [0, 1] as a browser wants them."""
    return [f"#{bytes(row).hex()}" for row in (colours * 255).round().astype(np.uint8)]


def palette(n: int, lightness: float = 0.74) -> NDArray[np.float64]:
    """`n` colours of equal strength, neighbours far apart; RGB rows in [0, 1].

    Björn Ottosson's OKLab in polar form, clipped to what a screen can show.
    """
    index = np.arange(n, dtype=np.float64)
    turn = index / n if n <= 12 else index * 0.61803398875 % 1  # the golden ratio never comes near itself
    hue = 2 * np.pi * (0.08 + turn)
    light = lightness + (0 if n <= 12 else np.array([0.0, -0.08, 0.07])[np.arange(n) % 3])
    a, b = 0.125 * np.cos(hue), 0.125 * np.sin(hue)
    lms = np.stack(
        [
            light + 0.3963377774 * a + 0.2158037573 * b,
            light - 0.1055613458 * a - 0.0638541728 * b,
            light - 0.0894841775 * a - 1.2914855480 * b,
        ],
        -1,
    )
    to_rgb = np.array(
        [
            [4.0767416621, -3.3077115913, 0.2309699292],
            [-1.2684380046, 2.6097574011, -0.3413193965],
            [-0.0041960863, -0.7034186147, 1.7076147010],
        ]
    )
    linear = np.clip(lms**3 @ to_rgb.T, 0, 1)
    return np.where(linear <= 0.0031308, 12.92 * linear, 1.055 * linear ** (1 / 2.4) - 0.055)
