"""A model in training, one batch at a time. Needs PyTorch."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import torch
from torch.nn.functional import cross_entropy

from harness.errors import BadInput
from harness.experiment import Arm, Work
from harness.workloads.networks import Network
from harness.workloads.torch import devices, optimizers
from harness.workloads.torch.precision import Precision

SHARE_STEPS = 8  # enough for a share of a step; the speed is measured elsewhere
MEMORY_FORMATS = {"contiguous": torch.contiguous_format, "channels-last": torch.channels_last}
IMAGES_NDIM = 4


class Trainer:
    """A model in training, by default a classifier with SGD and momentum.

    The same seed gives the same weights on every device. ``autocast`` is ``"fp32"``, ``"bf16"`` or ``"fp16"``, the last
    with a gradient scaler. ``memory_format`` is that of four-dimensional weights and inputs, ``"contiguous"`` or
    ``"channels-last"``. ``optimizer`` makes one for parameters. ``accumulation`` says in how many equal parts a batch
    goes through the model.
    """

    def __init__(
        self,
        model: Callable[[], Any],
        *,
        seed: int,
        device: Any,
        autocast: str = "fp32",
        memory_format: str = "contiguous",
        loss: Callable[[Any, Any], Any] = cross_entropy,
        optimizer: Callable[[Any], Any] | None = None,
        accumulation: int = 1,
    ) -> None:
        if memory_format not in MEMORY_FORMATS:
            raise BadInput(f"unknown memory format {memory_format!r}; expected one of: {', '.join(MEMORY_FORMATS)}")
        self._make = model
        self.seed = seed
        self._loss = loss
        self._parts = accumulation
        self.device = device
        self._precision = Precision(autocast, device)
        self._format = MEMORY_FORMATS[memory_format]
        self.model = self._seeded().to(device, memory_format=self._format).train()
        self._optimizer = (optimizer or optimizers.sgd())(self.model.parameters())
        self._first_optimizer = self._optimizer.state_dict()

    def laid_out(self, inputs: Any, labels: Any) -> tuple[Any, Any]:
        """Return a batch with its images in the memory format of the weights."""
        return inputs.contiguous(memory_format=self._format) if inputs.ndim == IMAGES_NDIM else inputs, labels

    def train_on(self, inputs: Any, labels: Any) -> tuple[Any, Any]:
        """Learn from one batch; return the loss and the logits from before the weights changed."""
        self._optimizer.zero_grad(set_to_none=True)
        output = self._add_gradients(inputs, labels)
        self._precision.descend(self._optimizer)
        return output

    def optimizer_share(self, inputs: Any, labels: Any) -> float:
        """Return the optimiser's share of the time of a few training steps, each part of which is waited for."""
        total_s = optimizer_s = 0.0
        for _ in range(SHARE_STEPS):
            start_s = time.perf_counter()
            self._optimizer.zero_grad(set_to_none=True)
            self._add_gradients(inputs, labels)
            self._wait()
            between_s = time.perf_counter()
            self._precision.descend(self._optimizer)
            self._wait()
            end_s = time.perf_counter()
            total_s += end_s - start_s
            optimizer_s += end_s - between_s
        return optimizer_s / total_s

    def predict(self, inputs: Any) -> Any:
        """Return the logits, in the precision of the training and without learning."""
        self.model.eval()
        with torch.no_grad(), self._precision.autocast():
            logits = self._logits(inputs)
        self.model.train()
        return logits

    def reset(self) -> None:
        """Return to the initial weights, without momentum, gradients or a changed gradient scale."""
        # Made anew, since a copy kept for later would count as memory of the arm.
        self.model.load_state_dict(self._seeded().state_dict())
        self._optimizer.load_state_dict(self._first_optimizer)
        self._optimizer.zero_grad(set_to_none=True)
        self._precision.reset()

    def parameters(self) -> list[Any]:
        """Return the weights."""
        return list(self.model.parameters())

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
        # SGD reads and writes weights and momenta; a gradient scaler skips steps that overflow.
        weights_bytes = 0 if self._precision.may_skip_steps else 4 * sum(weight.nbytes for weight in self.parameters())
        return network.learning(
            learnt,
            precision=self._precision.name,
            memory_bytes=read_bytes + weights_bytes,
            to_device_bytes=0 if self.device.type == "cpu" else sent_bytes,
        )

    def _add_gradients(self, inputs: Any, labels: Any) -> tuple[Any, Any]:
        """Go forward and backward through the model, in parts if they accumulate; return the loss and the logits."""
        if self._parts == 1:
            return self._add_part(inputs, labels)
        parts = zip(inputs.chunk(self._parts), labels.chunk(self._parts), strict=True)
        losses, logits = zip(*(self._add_part(*part) for part in parts), strict=True)
        return torch.stack(losses).mean(), torch.cat(logits)

    def _add_part(self, inputs: Any, labels: Any) -> tuple[Any, Any]:
        with self._precision.autocast():
            logits = self._logits(inputs)
            loss = self._loss(logits, labels)
        self._precision.backward(loss if self._parts == 1 else loss / self._parts)
        return loss.detach(), logits.detach()

    def _wait(self) -> None:
        """Read a weight, for which the device must have finished all that was launched before."""
        next(self.model.parameters()).detach().flatten()[0].item()

    def _seeded(self) -> Any:
        torch.manual_seed(self.seed)
        return self._make()

    def _logits(self, inputs: Any) -> Any:
        output = self.model(inputs)
        return output if isinstance(output, torch.Tensor) else output.logits
