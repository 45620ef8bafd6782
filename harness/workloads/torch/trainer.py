"""A model in training, one batch at a time. Needs PyTorch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch.nn.functional import cross_entropy

from harness.errors import BadInput
from harness.experiment import Arm, Work
from harness.workloads.networks import Network
from harness.workloads.torch import devices

AUTOCAST = {"fp32": None, "bf16": torch.bfloat16, "fp16": torch.float16}


class Trainer:
    """A model with SGD and momentum, a classifier by default; the same seed gives the same weights on every device.

    ``autocast`` is ``"fp32"``, ``"bf16"`` or ``"fp16"``, the last with a gradient scaler.
    """

    def __init__(
        self,
        model: Callable[[], Any],
        *,
        seed: int,
        device: Any,
        autocast: str = "fp32",
        loss: Callable[[Any, Any], Any] = cross_entropy,
    ) -> None:
        if autocast not in AUTOCAST:
            raise BadInput(f"unknown precision {autocast!r}; expected one of: {', '.join(AUTOCAST)}")
        self._make = model
        self._seed = seed
        self._loss = loss
        self.device = device
        self._dtype = AUTOCAST[autocast]
        self._model = self._seeded().to(device).train()
        self._optimizer = torch.optim.SGD(self._model.parameters(), lr=0.01, momentum=0.9)
        self._scaler = torch.amp.GradScaler(device.type, enabled=autocast == "fp16")
        self._first_optimizer = self._optimizer.state_dict()
        self._first_scaler = self._scaler.state_dict()

    def train_on(self, inputs: Any, labels: Any) -> tuple[Any, Any]:
        """Learn from one batch; return the loss and the logits from before the weights changed."""
        self._optimizer.zero_grad(set_to_none=True)
        with self._autocast():
            logits = self._logits(inputs)
            loss = self._loss(logits, labels)
        self._scaler.scale(loss).backward()
        self._scaler.step(self._optimizer)
        self._scaler.update()
        return loss.detach(), logits.detach()

    def predict(self, inputs: Any) -> Any:
        """Return the logits, in the precision of the training and without learning."""
        self._model.eval()
        with torch.no_grad(), self._autocast():
            logits = self._logits(inputs)
        self._model.train()
        return logits

    def reset(self) -> None:
        """Return to the initial weights, without momentum, gradients or a changed gradient scale."""
        # Made anew, since a copy kept for later would count as memory of the arm.
        self._model.load_state_dict(self._seeded().state_dict())
        self._optimizer.load_state_dict(self._first_optimizer)
        self._optimizer.zero_grad(set_to_none=True)
        self._scaler.load_state_dict(self._first_scaler)

    def parameters(self) -> list[Any]:
        """Return the weights."""
        return list(self._model.parameters())

    def arm(
        self,
        step: Callable[[], Any],
        network: Network,
        learnt: int,
        *,
        read_bytes: int = 0,
        sent_bytes: int = 0,
        **facts: Any,
    ) -> Arm:
        """Return the arm of a step that learns from so many items, at once or batch by batch.

        ``read_bytes`` are those of the inputs that lie in the device's memory, ``sent_bytes`` of those that come there
        from the host's. ``facts`` are all others of the arm.
        """
        known: dict[str, Any] = {
            "items": learnt,
            "reset": self.reset,
            "device": devices.label(self.device),
            "parameters": self.parameters,
            "work": self.work(network, learnt, read_bytes=read_bytes, sent_bytes=sent_bytes),
        }
        return Arm(step=step, **known | facts)

    def work(self, network: Network, learnt: int, *, read_bytes: int = 0, sent_bytes: int = 0) -> Work:
        """Return the work of learning from so many items."""
        # SGD reads and writes weights and momenta; a gradient scaler leaves out steps that overflow.
        weights_bytes = 0 if self._scaler.is_enabled() else 4 * sum(weight.nbytes for weight in self.parameters())
        return network.learning(
            learnt,
            precision="fp32" if self._dtype is None else "",
            memory_bytes=read_bytes + weights_bytes,
            to_device_bytes=0 if self.device.type == "cpu" else sent_bytes,
        )

    def _seeded(self) -> Any:
        torch.manual_seed(self._seed)
        return self._make()

    def _autocast(self) -> Any:
        return torch.autocast(self.device.type, dtype=self._dtype, enabled=self._dtype is not None)

    def _logits(self, inputs: Any) -> Any:
        output = self._model(inputs)
        return output if isinstance(output, torch.Tensor) else output.logits
