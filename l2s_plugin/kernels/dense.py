"""Dense float32 arithmetic, vectorised by LLVM: exponentials, sums over rows.

Sums may be reordered (else LLVM keeps them scalar), but infinities and NaN stay what they are.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np
from numba import types
from numba.extending import intrinsic

from l2s_plugin.kernels.compile import kernel

Function = TypeVar("Function", bound=Callable[..., Any])

_FAST = {"reassoc", "contract", "nsz", "arcp"}
_ROW_BLOCK = 64  # rows added up in one go: two-level sums keep float32 exact enough over many rows

_ZERO, _HALF, _ONE, _TWO = (np.float32(value) for value in (0.0, 0.5, 1.0, 2.0))
SLOPE = np.float32(0.2)  # of the leaky rectifier in graph attention


def float_kernel(function: Function) -> Function:
    """Like `kernel`, for arithmetic in float32: free to reorder sums and to fuse products with them."""
    compiled: Any = kernel(function)
    if hasattr(compiled, "targetoptions"):  # else compilation is switched off
        compiled.targetoptions.update(fastmath=_FAST, error_model="numpy")
    return compiled


@intrinsic
def _bits_as_float(typing_context, bits):
    def generate(context, builder, signature, arguments):
        return builder.bitcast(arguments[0], context.get_value_type(types.float32))

    return types.float32(types.int32), generate


@float_kernel
def exp(x):
    """e^x for -87 <= x <= 88 (clamped), to about one unit in the last place; branch-free, so loops vectorise.

    Cephes' expf: x = n log 2 + r, a polynomial for e^r, and n goes into the exponent's bits.
    """
    x = min(max(x, np.float32(-87.0)), np.float32(88.0))
    n = np.floor(x * np.float32(1.44269504088896341) + _HALF)
    r = x - n * np.float32(0.693359375) - n * np.float32(-2.12194440e-4)
    y = np.float32(1.9875691500e-4)
    y = y * r + np.float32(1.3981999507e-3)
    y = y * r + np.float32(8.3334519073e-3)
    y = y * r + np.float32(4.1665795894e-2)
    y = y * r + np.float32(1.6666665459e-1)
    y = y * r + np.float32(5.0000001201e-1)
    y = y * r * r + r + _ONE
    return y * _bits_as_float((np.int32(n) + np.int32(127)) << np.int32(23))


@float_kernel
def elu(x):
    """x where positive, else e^x - 1."""
    return x if x > _ZERO else exp(min(x, _ZERO)) - _ONE


@float_kernel
def leaky(x):
    """x where positive, else `SLOPE` x."""
    return max(x, SLOPE * x)


@float_kernel
def tanh(x):
    """Hyperbolic tangent."""
    return _ONE - _TWO / (exp(_TWO * x) + _ONE)


@float_kernel
def sigmoid(x):
    """1 / (1 + e^-x)."""
    return _ONE / (_ONE + exp(-x))


@float_kernel
def mean_rows(x, mean, block):
    """Mean over the rows of `x` (n, p) into `mean` (p); `block` (p) is work space."""
    n, p = x.shape
    mean[:] = _ZERO
    for first in range(0, n, _ROW_BLOCK):
        block[:] = _ZERO
        for i in range(first, min(first + _ROW_BLOCK, n)):
            for j in range(p):
                block[j] += x[i, j]
        for j in range(p):
            mean[j] += block[j]
    for j in range(p):
        mean[j] /= np.float32(n)


@float_kernel
def standardise_rows(x, scale, shift, work):
    """Numbers a, b (rows 0, 1 of `work`) such that a x + b has mean `shift` and deviation `scale` in each column.

    Batch normalisation over the rows of `x` (n, p). Sums are taken of differences to row 0, which are small where
    the variance is: nothing cancels. `work` is (6, p).
    """
    n, p = x.shape
    work[2:4] = _ZERO
    for first in range(0, n, _ROW_BLOCK):
        work[4:6] = _ZERO
        for i in range(first, min(first + _ROW_BLOCK, n)):
            for j in range(p):
                d = x[i, j] - x[0, j]
                work[4, j] += d
                work[5, j] += d * d
        for j in range(p):
            work[2, j] += work[4, j]
            work[3, j] += work[5, j]
    for j in range(p):
        mean = work[2, j] / np.float32(n)
        variance = max(work[3, j] / np.float32(n) - mean * mean, _ZERO)
        a = scale[j] / np.sqrt(variance + np.float32(1e-5))
        work[0, j] = a
        work[1, j] = shift[j] - (mean + x[0, j]) * a
