"""Where PyTorch's workloads run."""

from __future__ import annotations

from typing import Any

import torch

from harness.errors import Unavailable


def chosen(name: str | None) -> Any:
    """Return the device of that name; without one the accelerator, or the CPU where there is none."""
    if name is not None:
        return torch.device(name)
    return torch.accelerator.current_accelerator(check_available=True) or torch.device("cpu")


def label(device: Any) -> str:
    """Return what the device is called in results: ``"cpu"``, or its type and number, such as ``"cuda:0"``."""
    if device.type == "cpu":
        return "cpu"
    number = torch.accelerator.current_device_index() if device.index is None else device.index
    return f"{device.type}:{number}"


def accelerator(name: str | None = None) -> Any:
    """Return the device of that name; without one the accelerator, for work that means nothing on the CPU alone.

    Raises:
        Unavailable: there is no accelerator.
    """
    if name is None and not torch.accelerator.is_available():
        raise Unavailable(f"torch {torch.__version__} sees no accelerator")
    return chosen(name)


def side_streams(device: Any, count: int) -> list[Any]:
    """Return so many CUDA streams of the device, beside the one on which it computes by itself.

    Raises:
        Unavailable: it is no CUDA device.
    """
    if device.type != "cuda":
        raise Unavailable(
            f"copying and computing at once needs CUDA streams, and torch {torch.__version__} computes on {device} here"
        )
    return [torch.cuda.Stream(device) for _ in range(count)]
