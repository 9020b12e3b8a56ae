"""A tiny generator whose whole state is one uint64, so that a search can be stopped, copied and resumed anywhere.

splitmix64 (Steele, Lea, Flood 2014): passes BigCrush, three multiplications a number.
"""

from __future__ import annotations

import numpy as np

from l2s_plugin.kernels.compile import kernel

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_MIX_1 = np.uint64(0xBF58476D1CE4E5B9)
_MIX_2 = np.uint64(0x94D049BB133111EB)


@kernel
def next_uint64(rng):
    """Advance `rng[0]` and return 64 random bits."""
    rng[0] += _GOLDEN
    z = rng[0]
    z = (z ^ (z >> np.uint64(30))) * _MIX_1
    z = (z ^ (z >> np.uint64(27))) * _MIX_2
    return z ^ (z >> np.uint64(31))


@kernel
def random(rng):
    """A float64 in [0, 1)."""
    return np.float64(next_uint64(rng) >> np.uint64(11)) * (1.0 / 9007199254740992.0)


@kernel
def integer(rng, n):
    """An integer in [0, n), 0 < n < 2**32."""
    high = next_uint64(rng) >> np.uint64(32)
    return np.int64((high * np.uint64(n)) >> np.uint64(32))
