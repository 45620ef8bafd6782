"""What can be switched between NumPy and PyTorch as an array library."""

from __future__ import annotations

from harness.experiment import Arm, Build, technique


@technique(
    "torch",
    levels=("numpy", "torch-cpu", "torch-accelerator"),
    recipe={
        "torch-cpu": "array = torch.from_numpy(array)  # once, then PyTorch's functions",
        "torch-accelerator": 'array = torch.from_numpy(array).to("{device}")  # once, then PyTorch\'s functions',
    },
)
def array_library(build: Build, level: str) -> Arm:
    """NumPy on the host, or PyTorch's arrays: on the CPU with all of its threads, or resident on the accelerator."""
    return build(array_library=level)
