"""NumPy files as the authors of the paper publish them: integers of shape [2, J, M] or [n, 2, J, M].

The first of the two matrices holds durations, the second machines. The authors count machines from 1; files
that count from 0 are read as well. This is no guess: every row of machines must be a permutation of 1..M,
or every row one of 0..M-1, and anything else is an error. Written files count from 1. Arrays of Python
objects are refused.
"""

from __future__ import annotations

import io
import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from l2s_plugin.errors import InstanceError, InstanceFormatError
from l2s_plugin.formats.parsing import fail, refuse_dates, stem
from l2s_plugin.instance import Instance

MAGIC = b"\x93NUMPY"


class Npy:
    """Integer arrays [2, jobs, machines] or [n, 2, jobs, machines]."""

    name = "npy"
    suffixes = (".npy",)
    expects = "a NumPy .npy file"

    def detect(self, data: bytes, source: str) -> bool:
        return data.startswith(MAGIC)

    def read(self, data: bytes, source: str) -> list[Instance]:
        array = _array(data, source)
        if array.dtype.kind not in "iu":
            raise fail(source, 1, f"array of {array.dtype}, expected integers")
        if array.ndim not in (3, 4) or array.shape[-3] != 2 or not array.size:
            shape = "x".join(map(str, array.shape)) or "no dimensions"
            raise fail(source, 1, f"array of shape {shape}, expected 2 x jobs x machines or n x 2 x jobs x machines")
        name = stem(source)
        if array.ndim == 3:
            return [_instance(array, source, name, "")]
        return [_instance(pair, source, f"{name}#{k}", f"instance {k}, ") for k, pair in enumerate(array)]

    def write(self, instance: Instance) -> bytes:
        refuse_dates(instance, self.name)
        if not instance.is_rectangular:
            raise InstanceFormatError(
                f"{instance.name}: the npy format expects every job to visit each of the "
                f"{instance.n_machines} machines exactly once; use standard or l2s-json"
            )
        matrices = np.stack((instance.duration, instance.machine + 1)).astype(np.int64)
        file = io.BytesIO()
        np.save(file, matrices.reshape(2, instance.n_jobs, instance.n_machines), allow_pickle=False)
        return file.getvalue()


def _array(data: bytes, source: str) -> NDArray[Any]:
    if not data.startswith(MAGIC):
        raise fail(source, 1, "no NumPy header, expected a NumPy .npy file")
    file = io.BytesIO(data)
    headers = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}
    try:
        shape, _, dtype = headers[np.lib.format.read_magic(file)](file)
        if min(shape, default=0) < 0 or math.prod(shape) * dtype.itemsize > len(data):  # before numpy makes room for it
            raise ValueError(f"an array of {'x'.join(map(str, shape))[:60]} in {len(data)} bytes")
        file.seek(0)
        array = np.load(file, allow_pickle=False)
    except Exception as error:  # numpy's header parser lets out whatever the damage leads to
        reason = " ".join(str(error).split())
        raise fail(source, 1, f"damaged NumPy file ({reason}), expected an array of integers") from error
    rest = len(data) - file.tell()
    if rest:
        raise fail(source, 1, f"{rest} bytes after the array, expected the end of the file")
    return array


def _instance(pair: NDArray[Any], source: str, name: str, where: str) -> Instance:
    duration, machine = pair
    n_machines = machine.shape[1]
    ordered = np.sort(machine, axis=1)
    first = int(ordered[0, 0] == 1)  # what the machines of all jobs are counted from
    for job in np.flatnonzero((ordered != np.arange(n_machines) + first).any(axis=1))[:1]:
        found = f"{where}job {job} has machines {machine[job].tolist()[:8]}"
        expected = f"a permutation of 1 to {n_machines} in every job, or of 0 to {n_machines - 1} in every job"
        raise fail(source, 1, f"{found}, expected {expected}")
    try:
        return Instance.from_matrices(duration, machine.astype(np.int64) - first, name=name, source=source)
    except InstanceError as error:
        raise fail(source, 1, f"{where}{error}, expected durations of 0 or more") from error
