"""Where PyTorch's workloads run."""

from __future__ import annotations

from typing import Any

import torch

from accelbench.errors import Unavailable
from accelbench.schema.reasons import reason


def choose(name: str | None) -> Any:
    """Return the device of that name; without one the accelerator, or the CPU where there is none.

    Raises:
        Unavailable: there is no such device.
    """
    found = torch.accelerator.current_accelerator(check_available=True) or torch.device("cpu")
    if name is None:
        return found
    kinds = list(dict.fromkeys(("cpu", found.type)))
    if name.partition(":")[0] not in kinds:
        raise Unavailable(f"torch {torch.__version__} sees no {name}; it sees {', '.join(kinds)}")
    return torch.device(name)


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
        raise Unavailable(reason("no-accelerator", library="torch", version=torch.__version__, device="accelerator"))
    return choose(name)


def side_streams(device: Any, count: int) -> list[Any]:
    """Return ``count`` CUDA streams of the device, beside its default one.

    Raises:
        Unavailable: the device is not a CUDA device.
    """
    if device.type != "cuda":
        raise Unavailable(reason("needs-streams", library="torch", version=torch.__version__, device=str(device)))
    return [torch.cuda.Stream(device) for _ in range(count)]
