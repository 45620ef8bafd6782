"""The many ways in which PyTorch says that memory ran out. Needs PyTorch."""

from __future__ import annotations

import torch

# What is no torch.OutOfMemoryError: the CPU's allocator on Linux and Windows, the CUDA driver where it allocates pinned
# memory or a context or loads what Triton compiled, cuBLAS for its handle, cuDNN up to version 8 and from 9 on.
_OUT_OF_MEMORY = (
    "DefaultCPUAllocator: can't allocate memory",
    "DefaultCPUAllocator: not enough memory",
    "CUDA error: out of memory",
    "HIP error: out of memory",
    "Triton Error [CUDA]: out of memory",
    "CUBLAS_STATUS_ALLOC_FAILED",
    "CUDNN_STATUS_ALLOC_FAILED",
    "CUDNN_STATUS_INTERNAL_ERROR_DEVICE_ALLOCATION_FAILED",
)
# What cuDNN's convolutions end in where no engine gets its workspace; but also where a build or a GPU lacks them all.
_NO_ENGINE = "unable to find an engine to execute this computation"
_NEARLY_FULL = 0.25  # less of a GPU's memory than this is free


def ran_out_of_memory(error: BaseException) -> bool:
    """Say whether the host's or an accelerator's allocator ran out of memory."""
    if isinstance(error, torch.OutOfMemoryError | MemoryError):
        return True
    if not isinstance(error, RuntimeError):
        return False
    return any(text in str(error) for text in _OUT_OF_MEMORY) or (_NO_ENGINE in str(error) and _nearly_full())


def _nearly_full() -> bool:
    memories = (torch.cuda.mem_get_info(place) for place in range(torch.cuda.device_count()))
    return any(free < _NEARLY_FULL * total for free, total in memories)
