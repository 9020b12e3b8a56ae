"""Several processes that train together: `torchrun` starts them and tells each, in the environment, which one it is."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta

import torch
import torch.distributed as distributed

from l2s_plugin.devices import check_device

_PATIENCE = timedelta(hours=4)  # of those that wait while the first one validates


def own_device(device: str) -> str:
    """The device of this process, which can be used; of the GPUs of a machine, each process takes one."""
    local = os.environ.get("LOCAL_RANK")
    name = f"cuda:{local}" if device == "cuda" and local is not None else device
    check_device(name)
    return name


@contextmanager
def process_group(device: str) -> Iterator[tuple[int, int]]:
    """Number of this process and of all."""
    processes = int(os.environ.get("WORLD_SIZE", "1"))
    if processes == 1:
        yield 0, 1
        return
    on_gpu = device.startswith("cuda")
    if on_gpu:
        torch.cuda.set_device(device)
    # gradients are averaged where they are, figures on the CPU
    distributed.init_process_group("cpu:gloo,cuda:nccl" if on_gpu else "gloo", timeout=_PATIENCE)
    try:
        yield distributed.get_rank(), processes
    finally:
        distributed.destroy_process_group()
