"""What makes PyTorch repeat itself bit by bit."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from harness.experiment import Arm, Build, technique


# cuBLAS repeats itself only with a workspace of fixed size, which it reads when it starts:
# https://docs.pytorch.org/docs/stable/notes/randomness.html
@technique(
    "torch",
    levels=("off", "on"),
    environment={"on": {"CUBLAS_WORKSPACE_CONFIG": ":4096:8"}},
    recipe={
        "on": 'os.environ["CUBLAS_WORKSPACE_CONFIG"] = ":4096:8"  # before CUDA starts\n'
        "torch.use_deterministic_algorithms(True)"
    },
)
def deterministic_algorithms(build: Build, level: str) -> Arm:
    """Whichever algorithm is fastest, or only those that give the same bits in every run."""
    return Arm.built_inside(build, _deterministic, level == "on")


@contextmanager
def _deterministic(wanted: bool) -> Iterator[None]:
    """Allow only deterministic algorithms, or all, and put it back."""
    import torch

    before, benchmark = torch.are_deterministic_algorithms_enabled(), torch.backends.cudnn.benchmark
    torch.use_deterministic_algorithms(wanted)
    torch.backends.cudnn.benchmark = benchmark and not wanted  # it may choose another algorithm in every run
    try:
        yield
    finally:
        torch.use_deterministic_algorithms(before)
        torch.backends.cudnn.benchmark = benchmark
