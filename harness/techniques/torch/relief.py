"""What can be taken off a training loop in PyTorch to see what holds it back."""

from __future__ import annotations

from typing import Any

from harness.experiment import Arm, Build, technique

_RELIEFS: dict[str, dict[str, Any]] = {
    "none": {},
    "decoded": {"batches": "decoded"},
    "resident": {"batches": "resident"},
    "silent": {"log_interval": None},
    "larger-batch": {"batch_factor": 4},
}


@technique(
    "torch",
    levels=tuple(_RELIEFS),
    same_output=("decoded", "resident", "silent"),
    unadvised={"*": "it takes off work that a program needs, to show what holds it back"},
)
def relief(build: Build, level: str) -> Arm:
    """Training with its burdens, or without one: decoding, decoding and sending, reading the loss, small batches."""
    return build(**_RELIEFS[level])
