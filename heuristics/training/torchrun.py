"""Several training processes, as `torchrun` starts them."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta

import numpy as np
from numpy.typing import NDArray

from l2s_plugin.errors import missing_extra

try:
    import torch
    import torch.distributed as distributed
    from torch import Tensor
except ImportError:
    raise missing_extra("torch", "learn") from None

_PATIENCE = timedelta(hours=4)  # of the processes that wait while the first one validates


@dataclass(frozen=True)
class Processes:
    """The processes of a run, of which this is number `rank`."""

    rank: int = 0
    count: int = 1

    @property
    def threads(self) -> int:
        """Of this process."""
        return torch.get_num_threads()

    def total(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """The sum over the processes."""
        if self.count > 1:
            distributed.all_reduce(torch.from_numpy(values))
        return values

    def average(self, tensors: list[Tensor]) -> None:
        """Replace each by its mean over the processes: all in one message, many small ones take longer."""
        if self.count == 1:
            return
        flat = torch.cat([tensor.flatten() for tensor in tensors])
        distributed.all_reduce(flat)
        parts = flat.div_(self.count).split([tensor.numel() for tensor in tensors])
        for tensor, part in zip(tensors, parts, strict=True):
            tensor.copy_(part.view_as(tensor))

    def wait(self) -> None:
        """For all others."""
        if self.count > 1:
            distributed.barrier()


def own_device(device: str) -> str:
    """With `torchrun`, every process of a machine has a GPU of its own."""
    number = os.environ.get("LOCAL_RANK")
    return device if number is None or device != "cuda" else f"cuda:{number}"


@contextmanager
def process_group(device: str, threads: int | None) -> Iterator[Processes]:
    """The processes, as `torchrun` says in the environment, each with so many threads."""
    if threads is not None:
        torch.set_num_threads(threads)
    count = int(os.environ.get("WORLD_SIZE", "1"))
    if count == 1:
        yield Processes()
        return
    on_gpu = device.startswith("cuda")
    if on_gpu:
        torch.cuda.set_device(device)  # where the processes wait for each other, too
    backend = "cpu:gloo,cuda:nccl" if on_gpu else "gloo"
    distributed.init_process_group(backend, timeout=_PATIENCE)
    try:
        yield Processes(distributed.get_rank(), count)
    finally:
        distributed.destroy_process_group()
