"""Products of float32 matrices at the speed of a tuned library, without leaving compiled code.

Loops over scalars reach half that speed: LLVM does not keep a block of the result in registers by itself. So the
innermost block is written in LLVM's terms: vectors of `_LANES` numbers, which it maps to whatever registers there are.
"""

from __future__ import annotations

from llvmlite import ir  # type: ignore[import-untyped, unused-ignore]
from llvmlite.binding import get_host_cpu_features  # type: ignore[import-untyped, unused-ignore]
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from l2s_plugin.kernels.compile import kernel
from l2s_plugin.kernels.dense import float_kernel

_LANES = 16
# what fits into 32 registers of 512 bits, or into 16 of 256 (and into 32 of 128)
_ROWS, _VECTORS = (8, 2) if get_host_cpu_features().get("avx512f") else (6, 1)
_COLUMNS = _VECTORS * _LANES
_ROW_BLOCK = 30 * _ROWS  # rows of the left matrix that stay in the cache while all columns pass

_VECTOR = ir.VectorType(ir.FloatType(), _LANES)
_FLAGS = ("contract", "reassoc", "nsz")


@intrinsic
def _tile(typing_context, a, i, b, j, start, out):
    """out[i : i + _ROWS, j : j + _COLUMNS] = start + a @ b there; the sums are kept in registers."""

    def generate(context, builder, signature, arguments):
        a, b, start, out = (context.make_array(signature.args[k])(context, builder, arguments[k]) for k in (0, 2, 4, 5))
        i, j = arguments[1], arguments[3]
        depth, b_columns = cgutils.unpack_tuple(builder, b.shape, 2)
        a_columns, out_columns = (cgutils.unpack_tuple(builder, array.shape, 2)[1] for array in (a, out))

        def number(value):
            return ir.Constant(ir.IntType(64), value)

        def address(array, row, column, columns):
            return builder.gep(array.data, [builder.add(builder.mul(row, columns), column)])

        def vector_at(pointer):
            return builder.bitcast(pointer, _VECTOR.as_pointer())

        columns = [builder.add(j, number(v * _LANES)) for v in range(_VECTORS)]
        sums = [[cgutils.alloca_once(builder, _VECTOR) for _ in columns] for _ in range(_ROWS)]
        for v, column in enumerate(columns):
            first = builder.load(vector_at(builder.gep(start.data, [column])), align=4)
            for row in sums:
                builder.store(first, row[v])
        a_rows = [address(a, builder.add(i, number(r)), number(0), a_columns) for r in range(_ROWS)]
        undefined = ir.Constant(_VECTOR, ir.Undefined)
        everywhere = ir.Constant(ir.VectorType(ir.IntType(32), _LANES), [0] * _LANES)
        with cgutils.for_range(builder, depth) as loop:
            factors = [
                builder.load(vector_at(address(b, loop.index, column, b_columns)), align=4) for column in columns
            ]
            for r, a_row in enumerate(a_rows):
                x = builder.load(builder.gep(a_row, [loop.index]))
                x = builder.insert_element(undefined, x, ir.Constant(ir.IntType(32), 0))
                x = builder.shuffle_vector(x, undefined, everywhere)
                for v, factor in enumerate(factors):
                    term = builder.fmul(x, factor, flags=_FLAGS)
                    builder.store(builder.fadd(builder.load(sums[r][v]), term, flags=_FLAGS), sums[r][v])
        for r in range(_ROWS):
            for v, column in enumerate(columns):
                place = vector_at(address(out, builder.add(i, number(r)), column, out_columns))
                builder.store(builder.load(sums[r][v]), place, align=4)
        return context.get_dummy_value()

    return types.void(a, types.int64, b, types.int64, start, out), generate


@kernel
def product(a, b, start, out):
    """out = a @ b, plus the row `start`; (n, k), (k, m), (m), (n, m)."""
    n, m = out.shape
    if n < _ROWS or m < _COLUMNS:
        for i in range(n):
            for j in range(m):
                out[i, j] = start[j]
        add_product(a, b, out)
        return
    for block in range(0, n, _ROW_BLOCK):
        for j in range(0, m, _COLUMNS):
            for i in range(block, min(block + _ROW_BLOCK, n), _ROWS):
                # the last tile of a row or column overlaps the one before it and writes the same numbers again
                _tile(a, min(i, n - _ROWS), b, min(j, m - _COLUMNS), start, out)


@float_kernel
def add_product(a, b, out):
    """out += a @ b, for small matrices."""
    n, m = out.shape
    for i in range(n):
        for k in range(b.shape[0]):
            for j in range(m):
                out[i, j] += a[i, k] * b[k, j]
