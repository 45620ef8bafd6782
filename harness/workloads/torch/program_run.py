"""A user's program on its way through an epoch, batch by batch. Needs PyTorch."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import torch

from harness.errors import BadInput
from harness.experiment import Program
from harness.frameworks.nesting import mapped
from harness.workloads.torch.precision import Precision
from harness.workloads.torch.trainer import IMAGES_NDIM, MEMORY_FORMATS


class ProgramRun:
    """A program's model and optimizer on a device, in a precision and a memory format.

    Raises:
        BadInput: the program's model is no ``torch.nn.Module``.
    """

    def __init__(self, program: Program, *, seed: int, device: Any, autocast: str, memory_format: str) -> None:
        if not isinstance(program.model, torch.nn.Module):
            raise BadInput(f"the program's model is a {type(program.model).__name__}; expected a torch.nn.Module")
        self._program = program
        self._seed = seed
        self.device = device
        self._precision = Precision(autocast, device)
        self._format = MEMORY_FORMATS[memory_format]
        self._learns = program.optimizer is not None
        self._first_weights = deepcopy(program.model.state_dict())
        self._first_optimizer = deepcopy(program.optimizer.state_dict()) if self._learns else {}
        program.model.to(device, memory_format=self._format).train(self._learns)  # the optimizer holds the same weights

    def take(self, batch: Any, *, non_blocking: bool) -> Any:
        """Send one batch to the device, compute with it, and learn from it if the program learns.

        Raises:
            BadInput: the program learns, and its step returned no loss.
        """
        sent = mapped(batch, lambda part: self._sent(part, non_blocking))
        if not self._learns:
            with torch.no_grad(), self._precision.autocast():
                return self._program.step(self._program.model, sent)
        self._program.optimizer.zero_grad(set_to_none=True)
        with self._precision.autocast():
            loss = self._program.step(self._program.model, sent)
        if not isinstance(loss, torch.Tensor) or loss.ndim:
            raise BadInput(f"the program's step returned {_described(loss)}; expected the loss: a tensor of one number")
        self._precision.backward(loss)
        self._precision.descend(self._program.optimizer)
        return loss.detach()

    def reset(self) -> None:
        """Return to the weights, the optimizer and the seed of the beginning."""
        torch.manual_seed(self._seed)
        self._program.model.load_state_dict(self._first_weights)
        if self._learns:
            self._program.optimizer.load_state_dict(deepcopy(self._first_optimizer))
            self._program.optimizer.zero_grad(set_to_none=True)
        self._precision.reset()

    def parameters(self) -> list[Any]:
        """Return the model's weights."""
        return list(self._program.model.parameters())

    def _sent(self, part: Any, non_blocking: bool) -> Any:
        if not isinstance(part, torch.Tensor):
            return part
        images = {"memory_format": self._format} if part.ndim == IMAGES_NDIM else {}
        return part.to(self.device, non_blocking=non_blocking, **images)


def copied(output: Any) -> Any:
    """Return a copy of what a step returned: a recorded graph writes its next output over it."""
    return mapped(output, lambda part: part.clone() if isinstance(part, torch.Tensor) else part)


def _described(value: Any) -> str:
    return f"a tensor of shape {tuple(value.shape)}" if isinstance(value, torch.Tensor) else f"a {type(value).__name__}"
