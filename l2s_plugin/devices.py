"""Devices of torch: whether one can be used."""

from __future__ import annotations

from functools import cache

from l2s_plugin.errors import L2SError, missing_extra


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
