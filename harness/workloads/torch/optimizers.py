"""Optimisers, and how their step goes through a model's tensors. Needs PyTorch."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import torch

from harness.errors import BadInput

# See https://docs.pytorch.org/docs/stable/optim.html. Without a word, PyTorch chooses by the device of the tensors.
IMPLEMENTATIONS: dict[str, dict[str, bool]] = {
    "for-loop": {"foreach": False, "fused": False},
    "foreach": {"foreach": True},
    "fused": {"fused": True},
}


def sgd(implementation: str | None = None, *, lr: float = 0.01) -> Callable[[Any], Any]:
    """Return what makes SGD with momentum for a model's parameters."""
    return partial(torch.optim.SGD, lr=lr, momentum=0.9, **_flags(implementation))


def adamw(implementation: str | None = None) -> Callable[[Any], Any]:
    """Return what makes AdamW for a model's parameters."""
    return partial(torch.optim.AdamW, lr=1e-3, **_flags(implementation))


def _flags(implementation: str | None) -> dict[str, bool]:
    if implementation is None:
        return {}
    if implementation not in IMPLEMENTATIONS:
        known = ", ".join(IMPLEMENTATIONS)
        raise BadInput(f"unknown implementation of the optimiser {implementation!r}; expected one of: {known}")
    return IMPLEMENTATIONS[implementation]
