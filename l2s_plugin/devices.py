"""What this machine has: cores, and devices of torch."""

from __future__ import annotations

import os
from functools import cache

from l2s_plugin.errors import L2SError, missing_extra


def available_cores() -> int:
    """Cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@cache
def check_device(device: str) -> None:
    """Raise an error of one line when torch, or the device, is not there."""
    try:
        import torch
    except ImportError:
        raise missing_extra("torch", "learn") from None
    try:
        torch.zeros(1, device=device).item()  # only use shows whether a device is there
    except (RuntimeError, AssertionError, NotImplementedError, ImportError) as error:
        reason = str(error).strip().partition("\n")[0] or type(error).__name__
        raise L2SError(f"device {device!r} cannot be used: {reason}") from None
