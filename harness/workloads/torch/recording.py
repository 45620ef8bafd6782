"""A model's passes as recorded CUDA graphs. Needs PyTorch."""

from __future__ import annotations

from typing import Any

import torch

from harness.errors import Unavailable


def need_recording(device: Any, *, autocast: str, compile_mode: str) -> None:
    """Make CUDA graphs unavailable where none can be recorded.

    Raises:
        Unavailable: the device has no CUDA graphs, or the model's other options leave nothing to record.
    """
    if device.type != "cuda":
        raise Unavailable(f"CUDA graphs need a CUDA device, and the model computes on {device} here")
    if autocast != "fp32":
        raise Unavailable("CUDA graphs are recorded in float32 here: autocast's cache of weights must not be recorded")
    if compile_mode != "eager":
        raise Unavailable("torch.compile records CUDA graphs by its mode reduce-overhead")


def record(model: Any, inputs: Any) -> None:
    """Record the model's forward and backward pass for inputs of this shape; from then on it replays them.

    See `torch.cuda.make_graphed_callables`, which warms up and records on a stream of its own.
    """
    torch.cuda.make_graphed_callables(model, (inputs,))
