"""A model in training, one batch at a time: precision, layout, optimizer, accumulation. Needs PyTorch."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from copy import deepcopy
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import torch
from torch import nn
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils.checkpoint import checkpoint, checkpoint_sequential

from accelbench.core import Program, Work
from accelbench.errors import BadInput, Unavailable, check_choice
from accelbench.frameworks.tree import tree_map
from accelbench.workloads.torch.data import items_in
from accelbench.workloads.torch.models import Problem, logits_of

SHARE_STEPS = 8  # enough for a share of a step; the speed is measured elsewhere
MEMORY_FORMATS = {"contiguous": torch.contiguous_format, "channels-last": torch.channels_last}
ATTENTION = ("eager", "math", "sdpa")
IMAGES_NDIM = 4
DTYPES = {"fp32": None, "bf16": torch.bfloat16, "fp16": torch.float16}
# See https://docs.pytorch.org/docs/stable/optim.html. Without a flag, PyTorch chooses by the device of the tensors.
OPTIMIZERS: dict[str, dict[str, bool]] = {
    "for-loop": {"foreach": False, "fused": False},
    "foreach": {"foreach": True},
    "fused": {"fused": True},
}


@dataclass
class LossScale:
    """What all builds of one arm share: the gradient scaler's first state, and how many steps were skipped since.

    The state is empty until the scale has settled.
    """

    first: dict[str, Any] = field(default_factory=dict)
    skipped: int = 0


class Precision:
    """The precision of a training: ``"fp32"``, ``"bf16"`` or ``"fp16"``, the last with a gradient scaler.

    A scaler begins at 65,536, a scale at which gradients are meant to overflow: it skips those steps and halves the
    scale until they fit. Such a step learns nothing, so outputs are compared only from a scale that has settled.
    """

    def __init__(self, name: str, device: Any, loss_scale: LossScale | None = None) -> None:
        self.name = check_choice(name, DTYPES, "precision")
        self._device = device
        self._dtype = DTYPES[name]
        self._scaler = torch.amp.GradScaler(device.type, enabled=name == "fp16")
        self._usual = self._scaler.state_dict()
        self.loss_scale = loss_scale or LossScale()
        self._steps = 0
        self.reset()

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

    def update_weights(self, optimizer: Any) -> None:
        """Run one step of the optimizer."""
        self._scaler.step(optimizer)
        self._scaler.update()
        self._steps += 1

    @property
    def scale(self) -> float:
        """The present scale, for which the device is waited for."""
        return float(self._scaler.get_scale())

    @property
    def is_settled(self) -> bool:
        """Whether the scale has settled, in this build or an earlier one of the arm."""
        return bool(self.loss_scale.first)

    def settle(self) -> None:
        """Let the present scale be the arm's first one, from which skipped steps are counted."""
        self.loss_scale.first = self._scaler.state_dict() | {"_growth_tracker": 0}
        self.loss_scale.skipped = 0
        self.reset()

    def reset(self) -> None:
        """Return to the first scale."""
        self._before = self.loss_scale.first or self._usual
        self._steps = 0
        self._scaler.load_state_dict(self._before)

    def count_skipped(self) -> int:
        """Return how many steps were skipped since this was last called, or the scale was reset.

        A skipped step halves the scale; some 2,000 steps in a row that are not skipped double it. The device is waited
        for, so this has no place in a timed region.
        """
        before, steps = self._before, self._steps
        after = self._before = self._scaler.state_dict()
        self._steps = 0
        if not steps:
            return 0
        if not after["scale"]:  # halved until nothing was left: no gradient is finite
            return steps
        grown = int(before["_growth_tracker"] + steps) // int(before["growth_interval"])
        return max(0, round(math.log2(before["scale"] / after["scale"])) + grown)

    @contextmanager
    def counting(self) -> Iterator[None]:
        """Count the steps that are skipped inside the context."""
        yield
        self.loss_scale.skipped += self.count_skipped()

    def observe(self) -> dict[str, float]:
        """Return the scale with which every reset begins, and how many steps were skipped since it settled."""
        first = self.loss_scale.first or self._usual
        return {"loss_scale": first["scale"], "skipped_steps": self.loss_scale.skipped}


class ProblemTask:
    """A problem of the catalogue; batches are pairs of inputs and labels, and a step returns the loss and the logits.

    The same seed gives the same weights on every device.
    """

    learns = True

    def __init__(self, problem: Problem, seed: int) -> None:
        self.problem = self.facts = problem
        self._seed = seed

    def make_model(self) -> Any:
        """Return the model with its first weights."""
        torch.manual_seed(self._seed)
        return self.problem.model()

    def make_optimizer(self, model: Any, implementation: str | None) -> Any:
        """Return the optimizer of the model's parameters."""
        return self.problem.optimizer(model.parameters(), **_flags(implementation))

    def model_inputs(self, model: Any, batch: Any) -> tuple[Any, ...]:  # noqa: ARG002  a program needs its model
        """Return the arguments of the model's call."""
        return (self.problem.enter(batch[0]),)

    def forward(self, model: Any, batch: Any) -> tuple[Any, Any]:
        """Return the loss and the logits of a batch."""
        inputs, labels = batch
        logits = self.answer(model, inputs)
        return self.problem.loss(logits, labels), logits

    def answer(self, model: Any, inputs: Any) -> Any:
        """Return the logits."""
        return logits_of(model, self.problem.enter(inputs))

    def restore(self, model: Any) -> None:
        """Give the model its first weights again."""
        # Made anew, since a copy in the device's memory would count as memory of the arm.
        model.load_state_dict(self.make_model().state_dict())


@dataclass(frozen=True, kw_only=True)
class ProgramFacts:
    """Facts that a user's model shows. Others are assumed; the comparison of outputs would reveal a wrong one."""

    has_convolutions: bool
    has_attention: bool
    has_batch_norm: bool
    is_mean_loss: bool = True
    searchable: bool = True


class ProgramTask:
    """A user's program: its own model, optimizer and step, which returns the loss.

    Raises:
        BadInput: the program's model is not a ``torch.nn.Module``.
    """

    def __init__(self, program: Program, seed: int) -> None:
        if not isinstance(program.model, nn.Module):
            raise BadInput(f"the program's model is a {type(program.model).__name__}; expected a torch.nn.Module")
        self._program = program
        self._seed = seed
        self.learns = program.optimizer is not None
        self._first_weights = deepcopy(program.model.state_dict())
        layers = list(program.model.modules())
        self.facts = ProgramFacts(
            has_convolutions=any(weight.ndim == IMAGES_NDIM for weight in program.model.parameters()),
            has_attention=bool(getattr(program.model, "_supports_sdpa", False)),
            has_batch_norm=any(isinstance(layer, nn.modules.batchnorm._BatchNorm) for layer in layers),  # noqa: SLF001
        )

    def make_model(self) -> Any:
        """Return the program's model."""
        return self._program.model

    def make_optimizer(self, model: Any, implementation: str | None) -> Any:  # noqa: ARG002  it holds the parameters
        """Return the program's optimizer, or one like it in another implementation."""
        own = self._program.optimizer
        if own is None or implementation is None:
            return own
        switched = ("foreach", "fused")
        groups = [{name: group[name] for name in group.keys() - switched} for group in own.param_groups]
        try:
            return type(own)(groups, **_flags(implementation))
        except (TypeError, RuntimeError) as error:
            raise Unavailable(f"{type(own).__name__} has no implementation {implementation}: {error}") from None

    def model_inputs(self, model: Any, batch: Any) -> tuple[Any, ...]:
        """Return the arguments with which the program's step calls its model.

        Raises:
            Unavailable: the step calls it several times, or with something other than tensors.
        """
        calls: list[tuple[Any, Any]] = []
        handle = model.register_forward_pre_hook(lambda _, *call: calls.append(call), with_kwargs=True)
        try:
            with torch.no_grad():
                self._program.step(model, batch)
        finally:
            handle.remove()
        tensors = all(isinstance(part, torch.Tensor) for given, _ in calls for part in given)
        if len(calls) != 1 or calls[0][1] or not tensors:
            raise Unavailable("CUDA graphs are recorded for a step that calls its model once, with tensors alone")
        return tuple(calls[0][0])

    def forward(self, model: Any, batch: Any) -> tuple[Any, ...]:
        """Return the result of the program's step.

        Raises:
            BadInput: the program learns, and its step returned no loss.
        """
        result = self._program.step(model, batch)
        if self.learns and (not isinstance(result, torch.Tensor) or result.ndim):
            raise BadInput(
                f"the program's step returned {_described(result)}; expected the loss: a tensor of one number, from "
                "which accelbench makes the backward pass and the optimizer's step"
            )
        return (result,)

    def restore(self, model: Any) -> None:
        """Give the model the weights, and the random numbers the seed, of the beginning."""
        torch.manual_seed(self._seed)
        model.load_state_dict(self._first_weights)


class Trainer:
    """A task's model on a device, with every option of a training step.

    A task provides the model and its loss, and says whether the model learns. ``accumulation`` is the number of parts
    in which a batch goes through the model, ``loss_scale`` that of an arm's builds. The other options are those of
    ``TrainOptions``.
    """

    def __init__(
        self,
        task: Any,
        *,
        device: Any,
        amp: str = "fp32",
        memory_format: str = "contiguous",
        optimizer: str | None = None,
        accumulation: int = 1,
        attention: str | None = None,
        activation_checkpointing: bool = False,
        loss_scale: LossScale | None = None,
    ) -> None:
        self._task = task
        self._parts = accumulation
        self.device = device
        self.precision = Precision(amp, device, loss_scale)
        self._format = MEMORY_FORMATS[check_choice(memory_format, MEMORY_FORMATS, "memory format")]
        self.model = task.make_model()
        if attention:
            check_choice(attention, ATTENTION, "attention")
            self.model.set_attn_implementation("eager" if attention == "eager" else "sdpa")
        if activation_checkpointing:
            checkpoint_activations(self.model)
        self.model.to(device, memory_format=self._format).train(task.learns)
        self._optimizer = task.make_optimizer(self.model, optimizer)
        self._first_optimizer = deepcopy(self._optimizer.state_dict()) if task.learns else {}

    def send(self, batch: Any, *, non_blocking: bool = False) -> Any:
        """Return the batch on the device, its images in the memory format of the weights."""

        def sent(part: Any) -> Any:
            if not isinstance(part, torch.Tensor):
                return part
            images = {"memory_format": self._format} if part.ndim == IMAGES_NDIM else {}
            return part.to(self.device, non_blocking=non_blocking, **images)

        return tree_map(batch, sent)

    def train_on(self, batch: Any) -> tuple[Any, ...]:
        """Learn from one batch on the device; return the loss and the task's other outputs, from before the update.

        A task that does not learn computes only, without gradients.
        """
        if not self._task.learns:
            with torch.no_grad(), self.precision.autocast():
                return tuple(self._task.forward(self.model, batch))
        self._optimizer.zero_grad(set_to_none=True)
        output = self._add_gradients(batch)
        self.precision.update_weights(self._optimizer)
        return output

    def observe_optimizer_share(self, batch: Any) -> float:
        """Return the optimiser's share of the time of a few training steps; the host waits for each part."""
        total_s = optimizer_s = 0.0
        for _ in range(SHARE_STEPS):
            start_s = time.perf_counter()
            self._optimizer.zero_grad(set_to_none=True)
            self._add_gradients(batch)
            self.wait()
            between_s = time.perf_counter()
            self.precision.update_weights(self._optimizer)
            self.wait()
            end_s = time.perf_counter()
            total_s += end_s - start_s
            optimizer_s += end_s - between_s
        return optimizer_s / total_s

    def predict(self, inputs: Any) -> Any:
        """Return the logits, in the precision of the training and without learning."""
        self.model.eval()
        with torch.no_grad(), self.precision.autocast():
            logits = self._task.answer(self.model, inputs)
        self.model.train()
        return logits

    def model_inputs(self, batch: Any) -> tuple[Any, ...]:
        """Return the arguments of the model's call for a batch, and reset the model afterwards."""
        inputs: tuple[Any, ...] = self._task.model_inputs(self.model, self.send(batch))
        self.reset()
        return inputs

    def reset(self, *, keep_scale: bool = False) -> None:
        """Return to the initial weights and, unless it is kept, gradient scale, without momentum or gradients."""
        self._task.restore(self.model)
        if self._task.learns:
            self._optimizer.load_state_dict(deepcopy(self._first_optimizer))
            self._optimizer.zero_grad(set_to_none=True)
        if not keep_scale:
            self.precision.reset()

    def parameters(self) -> list[Any]:
        """Return the weights."""
        return list(self.model.parameters())

    def work(self, network: Any, items: int, *, read_bytes: int = 0, sent_bytes: int = 0) -> Work:
        """Return the work of learning from ``items`` items.

        ``read_bytes`` lie in the device's memory already, ``sent_bytes`` come from the host's.
        """
        # SGD reads and writes weights and momenta; a gradient scaler skips steps that overflow.
        weights_bytes = 0 if self.precision.may_skip_steps else 4 * sum(weight.nbytes for weight in self.parameters())
        work: Work = network.learning(
            items,
            precision=self.precision.name,
            memory_bytes=read_bytes + weights_bytes,
            to_device_bytes=sent_bytes,
        )
        return work

    def wait(self) -> None:
        """Read a weight, for which the device must have finished everything that was launched before."""
        next(self.model.parameters()).detach().flatten()[0].item()

    def _add_gradients(self, batch: Any) -> tuple[Any, ...]:
        """Run the forward and backward pass, in parts if gradients accumulate; return losses and logits."""
        if self._parts == 1:
            return self._add_part(batch, 1)
        whole = items_in(batch)
        chunks = [tree_map(batch, partial(_part, count=self._parts, number=number)) for number in range(self._parts)]
        shares = [items_in(chunk) / whole for chunk in chunks]
        losses, *shown = zip(*map(self._add_part, chunks, shares), strict=True)
        mean = torch.stack([loss * share for loss, share in zip(losses, shares, strict=True)]).sum()
        return mean, *map(torch.cat, shown)

    def _add_part(self, batch: Any, share: float) -> tuple[Any, ...]:
        with self.precision.autocast():
            loss, *shown = self._task.forward(self.model, batch)
        self.precision.backward(loss if share == 1 else loss * share)
        return loss.detach(), *(part.detach() for part in shown)


def _flags(implementation: str | None) -> dict[str, bool]:
    if implementation is None:
        return {}
    return OPTIMIZERS[check_choice(implementation, OPTIMIZERS, "implementation of the optimiser")]


def _part(tensor: Any, *, count: int, number: int) -> Any:
    if not isinstance(tensor, torch.Tensor) or not tensor.ndim:
        return tensor
    return tensor.tensor_split(count)[number]


def checkpoint_activations(model: Any) -> None:
    """Let a model compute its activations a second time in the backward pass, instead of keeping them.

    Models of `transformers` that know how do so themselves. In a chain of layers, and in a model that holds a list of
    them, every layer or short run of layers keeps its input alone.

    Raises:
        Unavailable: the model has no layers that follow one another.
    """
    if getattr(model, "supports_gradient_checkpointing", False):
        # Older releases of transformers know the second name only.
        enable = getattr(model, "activation_checkpointing_enable", None) or model.gradient_checkpointing_enable
        enable({"use_reentrant": False})  # the way that PyTorch recommends
        return
    if isinstance(model, nn.Sequential) and len(model) > 1:
        # With as many segments as layers in each, the least is kept (Chen et al. 2016, arXiv 1604.06174).
        count = max(2, round(len(model) ** 0.5))
        model.forward = lambda inputs: checkpoint_sequential(model, count, inputs, use_reentrant=False)
        return
    layers = next((each for each in model.modules() if isinstance(each, nn.ModuleList)), ())
    if not layers:
        raise Unavailable("the model has no list of layers whose activations could be computed a second time")
    for layer in layers:
        layer.forward = partial(checkpoint, layer.forward, use_reentrant=False)


@contextmanager
def attention_formula(attention: str | None) -> Iterator[None]:
    """Hold PyTorch's attention to its formula inside the context if ``attention`` is ``"math"``."""
    with sdpa_kernel(SDPBackend.MATH) if attention == "math" else nullcontext():
        yield


def copied(output: Any) -> Any:
    """Return a copy of a step's output, over which a recorded graph writes its next one."""
    return tree_map(output, lambda part: part.clone() if isinstance(part, torch.Tensor) else part)


def _described(value: Any) -> str:
    return f"a tensor of shape {tuple(value.shape)}" if isinstance(value, torch.Tensor) else f"a {type(value).__name__}"
