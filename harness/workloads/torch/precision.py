"""The precision of a training: what autocast computes in, and the scaler of gradients that float16 needs."""

from __future__ import annotations

from typing import Any

import torch

from harness.errors import BadInput

_DTYPES = {"fp32": None, "bf16": torch.bfloat16, "fp16": torch.float16}


class Precision:
    """``"fp32"``, ``"bf16"`` or ``"fp16"`` on a device, the last with a gradient scaler.

    Raises:
        BadInput: there is no such precision.
    """

    def __init__(self, name: str, device: Any) -> None:
        if name not in _DTYPES:
            raise BadInput(f"unknown precision {name!r}; expected one of: {', '.join(_DTYPES)}")
        self.name = name
        self._device = device
        self._dtype = _DTYPES[name]
        self._scaler = torch.amp.GradScaler(device.type, enabled=name == "fp16")
        self._first_scale = self._scaler.state_dict()

    @property
    def may_skip_steps(self) -> bool:
        """Whether a step in which gradients overflow is skipped."""
        return bool(self._scaler.is_enabled())

    def autocast(self) -> Any:
        """Return the context in which a model computes."""
        return torch.autocast(self._device.type, dtype=self._dtype, enabled=self._dtype is not None)

    def backward(self, loss: Any) -> None:
        """Add the gradients of a loss."""
        self._scaler.scale(loss).backward()

    def descend(self, optimizer: Any) -> None:
        """Let the optimizer make its step."""
        self._scaler.step(optimizer)
        self._scaler.update()

    def reset(self) -> None:
        """Return to the first scale."""
        self._scaler.load_state_dict(self._first_scale)
