"""A user's own program: what the suite needs of it to switch its techniques on and off."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, kw_only=True)
class Program:
    """A PyTorch model that learns from batches, or only computes with them.

    ``step`` takes the model and a batch and returns the loss, a tensor of one number. The suite sends the batch to the
    device, calls ``step`` under autocast where that is switched on, and does what follows: the backward pass and a step
    of ``optimizer``, which holds the model's parameters. Without an optimizer nothing is learnt: ``step`` runs without
    gradients, and may return any tensor.

    ``loader`` is a ``torch.utils.data.DataLoader``; its batch size, worker processes and pinned memory are what the
    baseline uses wherever they are not switched. An iteration is a whole epoch of at most ``batches`` batches.
    """

    model: Any
    loader: Any
    step: Callable[[Any, Any], Any]
    optimizer: Any = None
    batches: int = 8
