"""Colours for charts."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def palette(n: int, lightness: float = 0.74) -> NDArray[np.float64]:
    """`n` colours of equal strength (OKLCH), neighbours far apart; RGB rows in [0, 1]."""
    index = np.arange(n, dtype=np.float64)
    turn = index / n if n <= 12 else index * 0.61803398875 % 1  # the golden ratio never comes near itself
    hue = 2 * np.pi * (0.08 + turn)
    shades = np.zeros(n) if n <= 12 else np.array([0.0, -0.08, 0.07])[np.arange(n) % 3]
    return _oklch_to_rgb(lightness + shades, np.full(n, 0.125), hue)


def _oklch_to_rgb(
    lightness: NDArray[np.float64], chroma: NDArray[np.float64], hue: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Björn Ottosson's OKLab in polar form, clipped to what a screen can show."""
    a, b = chroma * np.cos(hue), chroma * np.sin(hue)
    lms = np.stack(
        [
            lightness + 0.3963377774 * a + 0.2158037573 * b,
            lightness - 0.1055613458 * a - 0.0638541728 * b,
            lightness - 0.0894841775 * a - 1.2914855480 * b,
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
