"""A model's passes as recorded CUDA graphs. Needs PyTorch."""

from __future__ import annotations

from typing import Any

import torch

from harness.errors import Unavailable
from harness.workloads.torch.compiling import RECORDING


def need_recording(device: Any, *, autocast: str, compile_mode: str, activation_checkpointing: bool) -> None:
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
    if activation_checkpointing:
        raise Unavailable("checkpointing reads the state of the random numbers, which no CUDA graph can record")


def need_whole_batches(device: Any, parts: int, *, cuda_graphs: bool, compile_mode: str) -> None:
    """Make a batch in several parts unavailable where CUDA graphs compute its gradients.

    A graph writes them to the same place whenever it is replayed, and autograd leaves those of the first part there:
    https://github.com/pytorch/pytorch/issues/181723 and 169545.

    Raises:
        Unavailable: there are several parts, and graphs.
    """
    recorded = cuda_graphs or (device.type == "cuda" and compile_mode in RECORDING)
    if recorded and parts > 1:
        raise Unavailable(
            "CUDA graphs write the gradients of every part of a batch to the same place, where they do not add up"
        )


def record(model: Any, inputs: Any) -> None:
    """Record the model's forward and backward pass for inputs of this shape; from then on it replays them.

    See `torch.cuda.make_graphed_callables`, which warms up and records on a stream of its own.
    """
    # Else the graph would multiply in the workspace of the one that was recorded before it, and lose it with that one:
    # https://github.com/pytorch/pytorch/issues/193402
    torch._C._cuda_clearCublasWorkspaces()  # noqa: SLF001  nothing public does it
    torch.cuda.make_graphed_callables(model, (inputs,))
