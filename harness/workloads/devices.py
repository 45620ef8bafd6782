"""Where PyTorch's workloads run."""

from __future__ import annotations

from typing import Any

import torch


def chosen(name: str | None) -> Any:
    """Return the device of that name; without one the accelerator, or the CPU where there is none."""
    if name is not None:
        return torch.device(name)
    return torch.accelerator.current_accelerator(check_available=True) or torch.device("cpu")
