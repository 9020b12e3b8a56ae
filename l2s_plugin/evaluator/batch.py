"""Solutions of one or several instances as flat arrays: the form that both engines read."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from l2s_plugin.errors import ScheduleError
from l2s_plugin.instance import Instance

Int32 = NDArray[np.int32]
Int64 = NDArray[np.int64]
Operations = NDArray[np.uint32]

_NO_DATES = np.empty(0, np.int32)
_NO_DATES.flags.writeable = False


class Batch(NamedTuple):
    """Solutions one after the other, and the instances they are of, each instance stored once.

    Operations are numbered within their instance. All arrays are read-only, whoever made them: the kernels
    are compiled for exactly that.
    """

    order: Operations  # all solutions: operations machine by machine, in processing order
    offset: Int64  # solution b owns order[offset[b]:offset[b + 1]]
    which: Int32  # the instance each solution is of
    duration: Int32  # this and the next two: all instances one after the other
    machine: Int32
    job_succ: Int32  # the number of operations of the instance stands for none
    operation_offset: Int64  # instance i owns duration[operation_offset[i]:operation_offset[i + 1]]
    earliest: Int32  # like duration, and the next one, too: `Instance.head` and `.tail`; both empty without dates
    after: Int32


def pack(instances: Instance | Sequence[Instance], orders: Sequence[ArrayLike] | NDArray[Any]) -> Batch:
    """Bring solutions into the form of a `Batch`; lengths and types are checked, the numbers are not."""
    if isinstance(instances, Instance):
        return _of_one_instance(instances, orders)
    if len(instances) != len(orders):
        raise ScheduleError(f"{len(orders)} orders of {len(instances)} instances, expected as many of both")
    distinct = {id(instance): instance for instance in instances}
    for instance in distinct.values():
        if not isinstance(instance, Instance):
            raise ScheduleError(f"expected an Instance or a sequence of them, got {type(instance).__name__}")
    if len(distinct) == 1:
        return _of_one_instance(instances[0], orders)
    index = {key: i for i, key in enumerate(distinct)}
    which = np.array([index[id(instance)] for instance in instances], np.int32)
    sizes = np.array([instance.n_operations for instance in distinct.values()], np.int64)

    def joined(name: str) -> Int32:
        return np.concatenate([np.empty(0, np.int32), *(getattr(each, name) for each in distinct.values())])

    order, offset = _flat_order(orders, sizes[which]), np.append(0, np.cumsum(sizes[which]))
    operations = joined("duration"), joined("machine"), joined("job_succ"), np.append(0, np.cumsum(sizes))
    dated = any(instance.has_dates for instance in distinct.values())
    dates = (joined("head"), joined("tail")) if dated else (_NO_DATES, _NO_DATES)
    return Batch(*map(_read_only, (order, offset, which, *operations, *dates)))


def _of_one_instance(instance: Instance, orders: Sequence[ArrayLike] | NDArray[Any]) -> Batch:
    n = instance.n_operations
    offset, which, operation_offset = _layout(n, len(orders))
    order = _read_only(_flat_order(orders, n))
    dates = (instance.head, instance.tail) if instance.has_dates else (_NO_DATES, _NO_DATES)
    return Batch(order, offset, which, instance.duration, instance.machine, instance.job_succ, operation_offset, *dates)


@lru_cache(maxsize=64)  # searches evaluate the same instance again and again, often one solution at a time
def _layout(n: int, count: int) -> tuple[Int64, Int32, Int64]:
    return (
        _read_only(np.arange(0, n * count + 1, n, dtype=np.int64)),
        _read_only(np.zeros(count, np.int32)),
        _read_only(np.array((0, n), np.int64)),
    )


def _flat_order(orders: Sequence[ArrayLike] | NDArray[Any], sizes: Int64 | int) -> Operations:
    """All orders in one array; negative numbers become large ones, which no instance has."""
    if isinstance(orders, np.ndarray) and orders.ndim == 2:
        flat, length = orders.reshape(-1), orders.shape[1]
        if len(orders) and np.any(sizes != length):
            _check_lengths(np.full(len(orders), length), sizes)
    else:
        rows = [np.asarray(order) for order in orders]
        for b, row in enumerate(rows):
            if row.ndim != 1:
                raise ScheduleError(f"solution {b}: the order must be one flat array, got shape {row.shape}")
        _check_lengths(np.array([len(row) for row in rows], np.int64), sizes)
        flat = np.concatenate(rows) if rows else np.empty(0, np.uint32)
    if flat.dtype == np.int32:  # what `Schedule.order` is: no copy
        return np.ascontiguousarray(flat).view(np.uint32)
    if flat.dtype.kind not in "iu":
        raise ScheduleError(f"orders must hold integers, got {flat.dtype}")
    signed = flat.dtype.kind == "i"
    if flat.dtype.itemsize > 4:  # no number may turn into a valid one by being cut off
        flat = flat.clip(-1 if signed else 0, 2**31 - 1)
    return flat.astype(np.int32 if signed else np.uint32).view(np.uint32)


def _check_lengths(lengths: Int64, sizes: Int64 | int) -> None:
    for b in np.flatnonzero(lengths != sizes)[:1]:
        expected = sizes if isinstance(sizes, int) else sizes[b]
        raise ScheduleError(f"solution {b}: the order lists {lengths[b]} operations, expected {expected}")


def _read_only(array: NDArray[Any]) -> NDArray[Any]:
    if array.flags.writeable:
        array = array.view()  # the caller's own array stays as it is
        array.flags.writeable = False
    return array
