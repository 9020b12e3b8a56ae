"""Solutions of one or several instances as flat arrays: the form that both engines read."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from l2s_plugin.errors import ScheduleError
from l2s_plugin.instance import Instance

Int32 = NDArray[np.int32]
Int64 = NDArray[np.int64]
Operations = NDArray[np.uint32]


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
    machine_offset: Int32  # where each machine begins in an order, `Instance.machine_offset` of all instances
    machine_base: Int64  # instance i owns machine_offset[machine_base[i]:machine_base[i + 1]]

    @property
    def n_solutions(self) -> int:
        return len(self.which)


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
    splits = [instance.machine_offset for instance in distinct.values()]
    return _read_only(
        order=_flat_order(orders, sizes[which]),
        offset=_offsets(sizes[which]),
        which=which,
        duration=_joined([instance.duration for instance in distinct.values()]),
        machine=_joined([instance.machine for instance in distinct.values()]),
        job_succ=_joined([instance.job_succ for instance in distinct.values()]),
        operation_offset=_offsets(sizes),
        machine_offset=_joined(splits),
        machine_base=_offsets(np.array([len(split) for split in splits], np.int64)),
    )


def _of_one_instance(instance: Instance, orders: Sequence[ArrayLike] | NDArray[Any]) -> Batch:
    n, count = instance.n_operations, len(orders)
    return _read_only(
        order=_flat_order(orders, n),
        offset=np.arange(0, n * count + 1, n, dtype=np.int64),
        which=np.zeros(count, np.int32),
        duration=instance.duration,
        machine=instance.machine,
        job_succ=instance.job_succ,
        operation_offset=np.array((0, n), np.int64),
        machine_offset=instance.machine_offset,
        machine_base=np.array((0, instance.n_machines + 1), np.int64),
    )


def _flat_order(orders: Sequence[ArrayLike] | NDArray[Any], sizes: Int64 | int) -> Operations:
    """All orders in one array; negative numbers become large ones, which no instance has."""
    if isinstance(orders, np.ndarray) and orders.ndim == 2:
        lengths: Int64 | int = orders.shape[1] if len(orders) else sizes
        flat = orders.reshape(-1)
    else:
        rows = [np.asarray(order) for order in orders]
        for b, row in enumerate(rows):
            if row.ndim != 1:
                raise ScheduleError(f"solution {b}: the order must be one flat array, got shape {row.shape}")
        lengths = np.array([len(row) for row in rows], np.int64)
        flat = np.concatenate(rows) if rows else np.empty(0, np.uint32)
    wrong = np.flatnonzero(lengths != sizes)
    if len(wrong):
        b = int(wrong[0])
        found, expected = (int(np.broadcast_to(values, len(orders))[b]) for values in (lengths, sizes))
        raise ScheduleError(f"solution {b}: the order lists {found} operations, expected {expected}")
    if flat.dtype == np.int32:  # what `Schedule.order` is: no copy
        return np.ascontiguousarray(flat).view(np.uint32)
    if flat.dtype.kind not in "iu":
        raise ScheduleError(f"orders must hold integers, got {flat.dtype}")
    if flat.dtype.itemsize > 4:
        flat = flat.clip(-1, 2**31 - 1)
    return flat.astype(np.int32 if flat.dtype.kind == "i" else np.uint32).view(np.uint32)


def _offsets(sizes: Int64) -> Int64:
    offset = np.zeros(len(sizes) + 1, np.int64)
    np.cumsum(sizes, out=offset[1:])
    return offset


def _joined(arrays: Sequence[Int32]) -> Int32:
    return np.concatenate(arrays) if arrays else np.empty(0, np.int32)


def _read_only(**arrays: NDArray[Any]) -> Batch:
    for name, array in arrays.items():
        if array.flags.writeable:
            arrays[name] = array = array.view()  # the caller's own array stays as it is
            array.flags.writeable = False
    return Batch(**arrays)
