"""Several training processes, as `torchrun` starts them."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta

import torch
import torch.distributed as distributed

_PATIENCE = timedelta(hours=4)  # of the processes that wait while the first one validates


def own_device(device: str) -> str:
    """With `torchrun`, every process of a machine has a GPU of its own."""
    number = os.environ.get("LOCAL_RANK")
    return device if number is None or device != "cuda" else f"cuda:{number}"


@contextmanager
def process_group(device: str) -> Iterator[tuple[int, int]]:
    """Number of this process and of all; `torchrun` says so in the environment."""
    processes = int(os.environ.get("WORLD_SIZE", "1"))
    if processes == 1:
        yield 0, 1
        return
    on_gpu = device.startswith("cuda")
    if on_gpu:
        torch.cuda.set_device(device)  # where the processes wait for each other, too
    backend = "cpu:gloo,cuda:nccl" if on_gpu else "gloo"
    distributed.init_process_group(backend, timeout=_PATIENCE)
    try:
        yield distributed.get_rank(), processes
    finally:
        distributed.destroy_process_group()
