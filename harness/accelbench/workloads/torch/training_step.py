"""A model in training, one batch at a time: precision, layout, optimizer, accumulation. Needs PyTorch."""

from __future__ import annotations

import math
import random
import time
import weakref
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext, suppress
from copy import deepcopy
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any

import numpy as np
import torch
from torch import nn
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.nn.parameter import is_lazy
from torch.optim import lr_scheduler
from torch.utils.checkpoint import checkpoint, checkpoint_sequential

from accelbench.core import Program, Work
from accelbench.errors import BadInput, Unavailable, check_choice
from accelbench.frameworks.tree import tree_leaves, tree_map
from accelbench.text import name_type
from accelbench.workloads.torch.batch import items_in, map_parts, send_part, tensors_of
from accelbench.workloads.torch.models import Problem, logits_of
from accelbench.workloads.training import as_list

MOST_SAVED_BYTES = 2**31  # of first weights in a temporary file, which may lie in memory: BERT-large has 1.3 GB
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
        """Add the gradients of a loss.

        Raises:
            BadInput: a user's step has made the backward pass already.
        """
        try:
            self._scaler.scale(loss).backward()
        except RuntimeError as error:
            if "backward through the graph a second time" not in str(error):
                raise
            raise BadInput(OWN_BACKWARD) from None

    def update_weights(self, *optimizers: Any) -> None:
        """Run one step of the optimizers."""
        for optimizer in optimizers:
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
    trains_itself = False

    def __init__(self, problem: Problem, seed: int) -> None:
        self.problem = self.facts = problem
        self._seed = seed
        self._draw = 0
        self._first_weights = _SavedWeights()

    def make_model(self) -> Any:
        """Return the model with its first weights."""
        number = self._seed + self._draw
        torch.manual_seed(number)
        model = self.problem.model()
        self._first_weights.save(number, model)
        return model

    def make_optimizers(self, model: Any, implementation: str | None) -> list[Any]:
        """Return the optimizer of the model's parameters."""
        return [self.problem.optimizer(model.parameters(), **_flags(implementation))]

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

    def reseed(self, number: int) -> None:
        """Begin with other weights from the next restoring on; 0 stands for the usual ones."""
        self._draw = number

    def restore(self, model: Any) -> None:
        """Give the model its first weights, and the random numbers their state, of after its making."""
        number = self._seed + self._draw
        if self._first_weights.number == number:
            torch.manual_seed(number)
            self._first_weights.load(model)
        else:
            model.load_state_dict(self.make_model().state_dict())


class _SavedWeights:
    """The first weights of a model in a file, since a copy in memory would count as memory of the arm.

    Mapping them into memory takes a quarter of the time of drawing them again, or less. ``number`` is the seed with
    which they were drawn, None where there is no such file or it has no room for them.
    """

    def __init__(self) -> None:
        self.number: int | None = None
        self._file = TemporaryFile()  # noqa: SIM115  lives as long as this object
        self._path = Path(f"/dev/fd/{self._file.fileno()}")  # PyTorch maps a file by its name; Windows has no such one
        weakref.finalize(self, self._file.close)
        self._random_state: Any = None

    def save(self, number: int, model: Any) -> None:
        """Save the weights that were drawn with the seed ``number``, and the state of the CPU's random numbers."""
        self.number, weights = None, model.state_dict()
        self._file.seek(0)
        self._file.truncate()
        if sum(part.nbytes for part in weights.values()) > MOST_SAVED_BYTES or not self._path.exists():
            return
        with suppress(OSError, RuntimeError):  # the disk is full
            torch.save(weights, self._file)
            self._file.flush()
            self._random_state = torch.get_rng_state()
            self.number = number

    def load(self, model: Any) -> None:
        """Give the model the weights and PyTorch the state of its random numbers on the CPU."""
        model.load_state_dict(torch.load(self._path, weights_only=True, mmap=True))
        torch.set_rng_state(self._random_state)


@dataclass(frozen=True, kw_only=True)
class ProgramFacts:
    """Facts that a user's model shows. Others are assumed; the comparison of outputs would reveal a wrong one."""

    has_convolutions: bool
    has_attention: bool
    has_batch_norm: bool
    is_mean_loss: bool = True
    searchable: bool = True


class ProgramTask:
    """A user's program: its own model, optimizers and step, which returns the loss, or its own training step.

    Raises:
        BadInput: the program's parts are not what they must be.
    """

    def __init__(self, program: Program, seed: int) -> None:
        _check_program(program)
        self._program = program
        self._seed = seed
        self._draw = 0
        self._is_tried = False
        self.optimizers = as_list(program.optimizer)
        self.trains_itself = program.train_step is not None
        self.learns = self.trains_itself or bool(self.optimizers)
        self._first_weights = deepcopy(program.model.state_dict())
        step = program.train_step or program.step
        known = [*program.state, *self.optimizers]
        attributes = [getattr(each, "__dict__", {}) for each in self.optimizers]
        held = [*_held_by(step), *(value for each in attributes for value in each.values())]
        kinds = lr_scheduler.LRScheduler, torch.optim.Optimizer  # one optimizer may hold another, as SAM does
        more = {id(each): each for each in held if isinstance(each, kinds) and each not in known}
        self._state = [*program.state, *more.values()]
        self._first_state = [deepcopy(each.state_dict()) for each in self._state]
        self._counters = _Counters(step)
        layers = list(program.model.modules())
        self.facts = ProgramFacts(
            has_convolutions=any(weight.ndim == IMAGES_NDIM for weight in program.model.parameters()),
            has_attention=bool(getattr(program.model, "_supports_sdpa", False)),
            has_batch_norm=any(isinstance(layer, nn.modules.batchnorm._BatchNorm) for layer in layers),  # noqa: SLF001
        )

    def make_model(self) -> Any:
        """Return the program's model."""
        return self._program.model

    @property
    def device(self) -> str:
        """Where the program's weights lie; the CPU if it has none."""
        return str(next((weight.device for weight in self._program.model.parameters()), "cpu"))

    @property
    def recipes(self) -> dict[str, dict[str, str]]:
        """What a user writes for techniques, by technique and level, where it names the kind of model or optimizer."""
        recipes = {}
        kinds = {type(each) for each in self.optimizers}
        if len(kinds) == 1 and (kind := kinds.pop()).__module__.startswith("torch.optim"):
            made = f"torch.optim.{kind.__name__}(model.parameters(), lr=lr"
            recipes["optimizer"] = {level: f"{made}, {level}=True)" for level in ("foreach", "fused")}
        if type(self._program.model) is nn.ModuleList:
            recipes["compile"] = {"*": 'for each in models:\n    each.compile(mode="{level}")'}
        return recipes

    @property
    def memory_format(self) -> str:
        """The memory format of the weights of convolutions."""
        weights = [weight for weight in self._program.model.parameters() if weight.ndim == IMAGES_NDIM]
        moved = [each for each in weights if not each.is_contiguous()]
        is_last = moved and all(each.is_contiguous(memory_format=torch.channels_last) for each in moved)
        return "channels-last" if is_last else "contiguous"

    @property
    def weights_precision(self) -> str:
        """The precision of the weights, as techniques call it."""
        kinds = {weight.dtype for weight in self._program.model.parameters() if weight.is_floating_point()}
        return precision_called(str(kinds.pop()).removeprefix("torch.")) if len(kinds) == 1 else "fp32"

    @property
    def recomputes_activations(self) -> bool:
        """Whether the program's model of transformers computes activations a second time; false for other models."""
        model = self._program.model
        names = ("is_activation_checkpointing", "is_gradient_checkpointing")  # from version 5 on, and before
        return next((bool(getattr(model, name)) for name in names if hasattr(type(model), name)), False)

    @property
    def is_compiled(self) -> bool:
        """Whether the program compiles its model, or a part of it, itself."""
        held = _held_by(self._program.train_step or self._program.step)
        return any(
            hasattr(part, "_orig_mod") or getattr(part, "_compiled_call_impl", None) is not None
            for part in [*self._program.model.modules(), *(each for each in held if isinstance(each, nn.Module))]
        )

    @property
    def attention(self) -> str | None:
        """How a model of transformers computes attention; None for another model."""
        found = getattr(getattr(self._program.model, "config", None), "_attn_implementation", None)
        return found if isinstance(found, str) else None

    def implementation(self, device: Any) -> str | None:
        """Return the implementation of the first optimizer on a device; None without one."""
        if not self.optimizers or not getattr(self.optimizers[0], "param_groups", None):
            return None
        group = self.optimizers[0].param_groups[0]
        if group.get("fused"):
            return "fused"
        usual = group.get("foreach")
        return "foreach" if usual or (usual is None and device.type != "cpu") else "for-loop"

    def make_optimizers(self, model: Any, implementation: str | None) -> list[Any]:  # noqa: ARG002  they hold the parameters
        """Return the program's optimizers, or such as they are in another implementation."""
        if implementation is None:
            return self.optimizers
        return [_reimplement(each, implementation) for each in self.optimizers]

    def model_inputs(self, model: Any, batch: Any) -> tuple[Any, ...]:
        """Return the arguments with which the program's step calls its model.

        Raises:
            Unavailable: the step calls it several times, or with something other than tensors.
        """
        calls: list[tuple[Any, Any]] = []
        handle = model.register_forward_pre_hook(lambda _, *call: calls.append(call), with_kwargs=True)
        try:
            with torch.set_grad_enabled(self.learns):
                self._result(model, batch)
        finally:
            handle.remove()
        tensors = all(isinstance(part, torch.Tensor) for given, _ in calls for part in given)
        if len(calls) != 1 or calls[0][1] or not tensors:
            raise Unavailable("CUDA graphs are recorded for a step that calls its model once, with tensors alone")
        return tuple(calls[0][0])

    def forward(self, model: Any, batch: Any) -> tuple[Any, ...]:
        """Return the result of the program's step.

        Raises:
            BadInput: the program learns, and its step returned no loss, or made the backward pass.
        """
        result = self._result(model, batch)
        if not self.learns:
            return (result,)
        if not isinstance(result, torch.Tensor) or result.ndim:
            raise BadInput(
                f"the program's step returned {_describe(result)}; expected the loss: a tensor of one number, from "
                "which accelbench makes the backward pass and the optimizer's step; a step that makes them itself is "
                "passed as train_step(batch)"
            )
        if not self._is_tried:  # gradients were cleared before the step
            self._is_tried = True
            if any(weight.grad is not None for weight in model.parameters()):
                raise BadInput(OWN_BACKWARD)
        if not result.requires_grad:
            raise BadInput(f"the program's step returned a loss without gradients: {OWN_BACKWARD}")
        return (result,)

    def train(self, batch: Any) -> tuple[Any, ...]:
        """Return what the program's own training step returned: its loss, or a vector of its losses.

        Raises:
            BadInput: it returned something else.
        """
        self._restart_schedules()
        train_step: Any = self._program.train_step
        found = train_step(batch)
        losses = [part for part in tree_leaves(found) if not isinstance(part, str)]
        are_numbers = all(isinstance(part, int | float) or getattr(part, "numel", int)() == 1 for part in losses)
        if not losses or not are_numbers:
            raise BadInput(
                f"the program's train_step returned {_describe(found)}; expected its loss, or a tuple or dictionary "
                "of its losses, each a tensor of one number"
            )
        tensors = [torch.as_tensor(part).detach().reshape(()) for part in losses]
        return (tensors[0] if len(tensors) == 1 else torch.stack(tensors),)

    def observe_autocast(self, model: Any, batch: Any, device: Any) -> frozenset[str]:
        """Return the precisions to which the program itself sets autocast while it computes with a batch."""
        found: set[str] = set()

        def look(*_: Any) -> None:
            if torch.is_autocast_enabled(device.type):
                found.add(str(torch.get_autocast_dtype(device.type)).removeprefix("torch."))

        self._compute_with([layer.register_forward_pre_hook(look) for layer in model.modules()], model, batch)
        return frozenset(found)

    def observe_calls(self, model: Any, batch: Any) -> tuple[str, ...]:
        """Return the names of the model's modules that the program calls from outside of any other with a batch."""
        found: dict[str, None] = {}
        inside: list[str] = []

        def enter(name: str, *_: Any) -> None:
            if not inside:
                found[name] = None
            inside.append(name)

        def leave(*_: Any) -> None:
            inside.pop()

        hooks = [layer.register_forward_pre_hook(partial(enter, name)) for name, layer in model.named_modules()]
        hooks += [layer.register_forward_hook(leave, always_call=True) for layer in model.modules()]
        self._compute_with(hooks, model, batch)
        return tuple(found)

    def _compute_with(self, hooks: list[Any], model: Any, batch: Any) -> None:
        """Compute with a batch, and remove the hooks."""
        try:
            if self.trains_itself:
                self.train(batch)
            else:
                with torch.set_grad_enabled(self.learns):  # a step that learns may ask for gradients itself
                    self._result(model, batch)
        finally:
            for hook in hooks:
                hook.remove()

    def restore(self, model: Any) -> None:
        """Give the model the weights, other state its values, and the random numbers the seed, of the beginning."""
        number = self._seed + self._draw
        torch.manual_seed(number)
        random.seed(number)
        np.random.seed(number % 2**32)  # noqa: NPY002  a program may draw from it
        model.load_state_dict(self._first_weights)
        for each, first in zip(self._state, self._first_state, strict=True):
            each.load_state_dict(deepcopy(first))
        self._counters.restore()

    def _restart_schedules(self) -> None:
        """Let schedulers begin again that refuse a step after their last: a program is timed for longer than it trains.

        https://docs.pytorch.org/docs/stable/generated/torch.optim.lr_scheduler.OneCycleLR.html
        """
        for each, first in zip(self._state, self._first_state, strict=True):
            if isinstance(each, lr_scheduler.OneCycleLR) and each.last_epoch >= each.total_steps:
                each.load_state_dict(deepcopy(first))

    def reseed(self, number: int) -> None:
        """Begin with other random numbers from the next restoring on; 0 stands for the usual ones."""
        self._draw = number * 7919  # far from the seeds of other runs

    def _result(self, model: Any, batch: Any) -> Any:
        step: Any = self._program.step
        return step(model, batch)


OWN_BACKWARD = (
    "the program's step makes the backward pass itself; pass it as train_step(batch), which makes forward and backward "
    "pass and the optimizer's step, or return the loss from step(model, batch) and leave the rest to accelbench"
)


def _held_by(function: Any) -> list[Any]:
    """Return what lies in a function's closure or object."""
    values = [cell.cell_contents for cell in _filled_cells(function)]
    return [*values, *getattr(getattr(function, "__self__", None), "__dict__", {}).values()]


def _filled_cells(function: Any) -> Iterator[Any]:
    """Yield the cells of a function's closure that are not empty."""
    for cell in getattr(function, "__closure__", None) or ():
        with suppress(ValueError):
            cell.cell_contents  # noqa: B018  an empty cell raises
            yield cell


class _Counters:
    """The numbers in a function's closure or object, such as the steps that it counts, which can be what they were."""

    def __init__(self, function: Any) -> None:
        counts = [cell for cell in _filled_cells(function) if _is_count(cell.cell_contents)]
        self._cells = [(cell, deepcopy(cell.cell_contents)) for cell in counts]
        self._attributes: Any = getattr(getattr(function, "__self__", None), "__dict__", {})
        self._numbers = {name: value for name, value in self._attributes.items() if type(value) in (int, float)}

    def restore(self) -> None:
        """Return to the first numbers."""
        for cell, first in self._cells:
            if isinstance(first, dict):
                cell.cell_contents.clear()
                cell.cell_contents.update(first)
            else:
                cell.cell_contents = first
        self._attributes.update(self._numbers)


def _is_count(value: Any) -> bool:
    if isinstance(value, dict):
        return all(isinstance(part, int | float) for part in value.values())
    return isinstance(value, int | float)


def precision_called(dtype: str) -> str:
    """Return what techniques call the precision of a data type."""
    return {"bfloat16": "bf16", "float16": "fp16", "float32": "fp32"}.get(dtype, dtype)


def _check_program(program: Program) -> None:
    """Refuse a program that cannot run.

    Raises:
        BadInput: a part is missing, or is something else than expected.
    """
    if not isinstance(program.model, nn.Module):
        raise BadInput(
            f"the program's model is {name_type(program.model)}; expected a torch.nn.Module, such as a "
            "torch.nn.ModuleList of several models"
        )
    given = [name for name in ("step", "train_step") if getattr(program, name) is not None]
    if len(given) != 1:
        raise BadInput(
            f"the program has {'both step and train_step' if given else 'neither step nor train_step'}; expected "
            "step(model, batch), which returns the loss, or train_step(batch), which also learns from it"
        )
    if program.train_step is not None and program.optimizer is None:
        raise BadInput(
            "the program has a train_step and no optimizer; expected the optimizers that it steps, so that they can "
            "return to their first state, or optimizer=() if it has none"
        )
    if any(map(is_lazy, program.model.parameters())):
        raise BadInput(
            "the program's model has weights without a shape, as those of LazyLinear; expected a model that has seen a "
            "batch: call it with one before build returns"
        )
    if program.step is not None and any(isinstance(each, torch.optim.LBFGS) for each in as_list(program.optimizer)):
        raise BadInput(
            "the program's optimizer LBFGS computes the loss several times in a step; expected train_step(batch), "
            "which calls optimizer.step(closure)"
        )
    if not _are_recipes(program.recipes):
        raise BadInput(
            f"the program's recipes are {_describe(program.recipes)}; expected code by technique and level, such as "
            """{"amp": {"bf16": "Accelerator(mixed_precision='bf16')"}}"""
        )
    for name, parts in (("optimizer", as_list(program.optimizer)), ("state", program.state)):
        for part in parts:
            if not all(callable(getattr(part, method, None)) for method in ("state_dict", "load_state_dict")):
                raise BadInput(
                    f"the program's {name} holds {_describe(part)}; expected objects with state_dict and "
                    "load_state_dict"
                )


def _reimplement(own: Any, implementation: str) -> Any:
    """Return an optimizer like this one in another implementation.

    Raises:
        Unavailable: it has none.
    """
    switched = ("foreach", "fused")
    groups = [{name: group[name] for name in group.keys() - switched} for group in own.param_groups]
    try:
        return type(own)(groups, **_flags(implementation))
    except (TypeError, RuntimeError) as error:
        raise Unavailable(f"{type(own).__name__} has no implementation {implementation}: {error}") from None


class Trainer:
    """A task's model on a device, with every option of a training step.

    A task provides the model and its loss, and says whether the model learns. ``accumulation`` is the number of parts
    in which a batch goes through the model, ``learning_rate_factor`` that by which the task's learning rate is
    multiplied, ``loss_scale`` that of an arm's builds. The other options are those of ``TrainOptions``.
    """

    def __init__(
        self,
        task: Any,
        *,
        device: Any,
        amp: str = "fp32",
        memory_format: str | None = "contiguous",
        optimizer: str | None = None,
        accumulation: int = 1,
        learning_rate_factor: float = 1.0,
        attention: str | None = None,
        activation_checkpointing: bool = False,
        loss_scale: LossScale | None = None,
    ) -> None:
        self._task = task
        self._parts = accumulation
        self.device = device
        self.precision = Precision(amp, device, loss_scale)
        if memory_format is not None:
            check_choice(memory_format, MEMORY_FORMATS, "memory format")
        self._layout = {} if memory_format is None else {"memory_format": MEMORY_FORMATS[memory_format]}
        self.model = task.make_model()
        if attention:
            check_choice(attention, ATTENTION, "attention")
            self.model.set_attn_implementation("eager" if attention == "eager" else "sdpa")
        if activation_checkpointing:
            checkpoint_activations(self.model)
        self.model.to(device, **self._layout)
        if self.model.training != task.learns:  # parts of a model that learns may be held in another mode
            self.model.train(task.learns)
        self._optimizers = task.make_optimizers(self.model, optimizer)
        for group in (group for each in self._optimizers for group in each.param_groups if learning_rate_factor != 1):
            group["lr"] *= learning_rate_factor
        self._first_optimizers = [deepcopy(each.state_dict()) for each in self._optimizers]

    def send(self, batch: Any, *, non_blocking: bool = False) -> Any:
        """Return the batch on the device, its images in the memory format of the weights."""

        def sent(part: Any) -> Any:
            is_images = isinstance(part, torch.Tensor) and part.ndim == IMAGES_NDIM
            return send_part(part, self.device, non_blocking=non_blocking, **(self._layout if is_images else {}))

        return map_parts(batch, sent)

    def train_on(self, batch: Any) -> tuple[Any, ...]:
        """Learn from one batch on the device; return the loss and the task's other outputs, from before the update.

        A task that does not learn computes only, without gradients.
        """
        if self._task.trains_itself:
            with self.precision.autocast():
                return tuple(self._task.train(batch))
        if not self._task.learns:
            with torch.no_grad(), self.precision.autocast():
                return tuple(self._task.forward(self.model, batch))
        self._clear_gradients()
        output = self._add_gradients(batch)
        self._update_weights()
        return output

    def observe_optimizer_share(self, batch: Any) -> float:
        """Return the optimiser's share of the time of a few training steps; the host waits for each part."""
        total_s = optimizer_s = 0.0
        for _ in range(SHARE_STEPS):
            start_s = time.perf_counter()
            self._clear_gradients()
            self._add_gradients(batch)
            self.wait()
            between_s = time.perf_counter()
            self._update_weights()
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
        for optimizer, first in zip(self._optimizers, self._first_optimizers, strict=True):
            optimizer.load_state_dict(deepcopy(first))
        self._clear_gradients()
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

    def _clear_gradients(self) -> None:
        for optimizer in self._optimizers:
            optimizer.zero_grad(set_to_none=True)

    def _update_weights(self) -> None:
        self.precision.update_weights(*self._optimizers)

    def wait(self) -> None:
        """Read a number from the device, which must have finished everything that was launched before."""
        torch.empty((), device=self.device).item()

    def _add_gradients(self, batch: Any) -> tuple[Any, ...]:
        """Run the forward and backward pass, in parts if gradients accumulate; return losses and logits."""
        if self._parts == 1:
            return self._add_part(batch, 1)
        whole = items_in(batch)
        if any(len(tensor) != whole for tensor in tensors_of(batch) if tensor.ndim):
            raise Unavailable("a batch holds tensors of several lengths, so it cannot be divided into parts")
        chunks = [map_parts(batch, partial(_part, count=self._parts, number=number)) for number in range(self._parts)]
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


def _are_recipes(value: Any) -> bool:
    """Return whether it holds texts by technique and level."""
    return isinstance(value, Mapping) and all(
        isinstance(levels, Mapping) and all(isinstance(code, str) for code in levels.values())
        for levels in value.values()
    )


def _describe(value: Any) -> str:
    return f"a tensor of shape {tuple(value.shape)}" if isinstance(value, torch.Tensor) else f"{name_type(value)}"
