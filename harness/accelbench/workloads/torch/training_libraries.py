"""Programs of users who train with the Trainer of `transformers`, with Accelerate or with Lightning.

The library prepares the training and does the work of every batch: what is timed is its own step. Logging, callbacks,
checkpoints and evaluation are left out. Each library is imported when its function is called.
"""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from copy import deepcopy
from importlib import import_module
from itertools import pairwise
from typing import Any

from accelbench.core import Program
from accelbench.core.workload import import_installed
from accelbench.errors import BadInput, Unavailable
from accelbench.text import name_type
from accelbench.workloads.training import as_list

# What a loader passes on to another that reads the same data set.
LOADER_OPTIONS = (
    *("collate_fn", "num_workers", "pin_memory", "timeout", "worker_init_fn", "multiprocessing_context", "generator"),
    *("prefetch_factor", "persistent_workers", "in_order"),
)


def from_trainer(trainer: Any) -> Program:
    """Return the program that a ``transformers.Trainer`` trains.

    The trainer prepares its model, optimizer, scheduler and loader as in ``trainer.train()``. A batch goes through
    ``trainer.training_step``, clipping, the optimizer and the scheduler. With ``gradient_accumulation_steps``, a batch
    of the program is all that one update of the weights learns from. Callbacks, logging, checkpoints and evaluation are
    not part of the program.

    Args:
        trainer: has a model, its arguments and a training data set, and was not trained before.

    Raises:
        BadInput: it is something other than a ``Trainer``.
        Unavailable: `transformers` or `accelerate` is not installed, or the trainer uses several devices.
    """
    transformers = import_installed("transformers", "transformers")
    import_installed("accelerate", "accelerate")  # without it, transformers has no trainer
    if not isinstance(trainer, transformers.Trainer):
        raise BadInput(f"from_trainer got {name_type(trainer)}; expected a transformers.Trainer")
    _require_one_device(max(trainer.args.world_size, trainer.args.n_gpu), "trainer")
    _prepare_trainer(trainer, transformers.TrainerCallback)
    args, accelerator = trainer.args, trainer.accelerator
    model, scheduler = trainer.model_wrapped, trainer.lr_scheduler
    parts = args.gradient_accumulation_steps
    schedule = Schedule([scheduler], trainer.state.max_steps)

    def train_step(batch: Any) -> Any:
        """Do what ``Trainer`` does in its loop for one update of the weights; return the loss."""
        import torch

        _require_device(model, args.device, "trainer")
        batches = batch if parts > 1 else [batch]
        batches, items = trainer.get_batch_samples(iter(batches), len(batches), args.device)
        trainer.current_gradient_accumulation_steps = len(batches)
        total = torch.zeros((), device=args.device)
        for inputs in batches:
            loss = trainer.training_step(model, inputs, items)
            if args.logging_nan_inf_filter:  # the trainer reads every loss, for which it waits for the device
                _ = torch.isnan(loss) or torch.isinf(loss)
            total += loss
            trainer.current_flos += float(trainer.floating_point_ops(inputs))
        accelerator.clip_grad_norm_(model.parameters(), args.max_grad_norm if args.max_grad_norm > 0 else float("inf"))
        trainer.optimizer.step()
        if not accelerator.optimizer_step_was_skipped and not _needs_metric(scheduler):
            scheduler.step()
        model.zero_grad()
        trainer.state.global_step += 1
        schedule.count_update()
        return total

    return Program(
        model=model,
        loader=loader_of_updates(trainer.callback_handler.train_dataloader, parts),
        train_step=train_step,
        optimizer=_unwrap(trainer.optimizer),
        state=[schedule, Attributes(trainer.state, "global_step"), *_scaler_of(accelerator)],
        recipes=_recipes_of_arguments(args),
    )


def from_accelerate(
    accelerator: Any,
    *,
    model: Any,
    loader: Any,
    optimizer: Any,
    train_step: Callable[[Any], Any],
    scheduler: Any = None,
) -> Program:
    """Return the program of a training loop that Accelerate prepared.

    With ``gradient_accumulation_steps``, a batch of the program is all that one update of the weights learns from, and
    ``train_step`` is called for each of its parts.

    Args:
        accelerator: the ``accelerate.Accelerator``.
        model: as ``accelerator.prepare`` returned it.
        loader: likewise.
        optimizer: likewise; one, or a sequence of them.
        train_step: the body of the loop: takes a batch, learns from it and returns the loss.
        scheduler: as ``accelerator.prepare`` returned it; one, or a sequence of them.

    Raises:
        BadInput: the accelerator is something other than an ``accelerate.Accelerator``.
        Unavailable: `accelerate` is not installed, or the accelerator uses several devices.
    """
    accelerate = import_installed("accelerate", "accelerate")
    if not isinstance(accelerator, accelerate.Accelerator):
        raise BadInput(f"from_accelerate got {name_type(accelerator)}; expected an accelerate.Accelerator")
    _require_one_device(accelerator.num_processes, "accelerator")
    parts = accelerator.gradient_accumulation_steps

    def learn(batch: Any) -> Any:
        """Run the body of the loop for all parts of a batch; return the mean loss."""
        losses = [train_step(part).detach() for part in (batch if parts > 1 else [batch])]
        return sum(losses) / len(losses)

    return Program(
        model=model,
        loader=loader_of_updates(loader, parts),
        train_step=learn,
        optimizer=[_unwrap(each) for each in as_list(optimizer)],
        state=[*as_list(scheduler), Attributes(accelerator, "step"), *_scaler_of(accelerator)],
        recipes={
            "amp": {"bf16": 'Accelerator(mixed_precision="bf16")'},
            "batch_size": _batch_sizes("DataLoader(data, batch_size={size})", parts),
        },
    )


def from_lightning(module: Any, data: Any = None, trainer: Any = None) -> Program:
    """Return the program of a ``LightningModule``, which its ``Trainer`` trains.

    The trainer prepares the module as in ``trainer.fit(module, data)``: ``setup``, ``configure_model`` and
    ``configure_optimizers`` are called. A batch goes through Lightning's own training loop: ``training_step``, the
    module's hooks, the backward pass, clipping, the optimizer and the schedulers, with automatic or manual
    optimization. With ``accumulate_grad_batches``, a batch of the program is all that one update of the weights learns
    from. Callbacks, loggers, checkpoints, the progress bar and validation are not part of the program.

    Args:
        module: the ``LightningModule``.
        data: a data loader or a ``LightningDataModule``; None if the module has a ``train_dataloader``.
        trainer: says the precision, clipping and accumulation; None takes the defaults of ``Trainer``.

    Raises:
        BadInput: the module is something other than a ``LightningModule``, there are several loaders, or manual
            optimization neither returns a loss nor makes a backward pass.
        Unavailable: the trainer uses several devices.
    """
    library = _lightning_of(module)
    silent: dict[str, Any] = {"enable_progress_bar": False, "enable_model_summary": False}
    trainer = trainer or library.Trainer(devices=1, logger=False, enable_checkpointing=False, **silent)
    _require_one_device(trainer.world_size, "trainer")
    losses = _losses_recorder(library.Callback)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # advice about the user's program, which training it shows
        _prepare_module(library, trainer, module, data, losses)
    loop, fetcher, parts = trainer.fit_loop.epoch_loop, _Fetcher(), trainer.accumulate_grad_batches
    schedule = Schedule([each.scheduler for each in trainer.lr_scheduler_configs], trainer.estimated_stepping_batches)

    def train_step(batch: Any) -> Any:
        """Let Lightning's loop train on a batch, or on all parts of it; return the mean loss."""
        _require_device(module, trainer.strategy.root_device, "trainer")
        total = 0.0
        for fetcher.batch in batch if parts > 1 else [batch]:
            loop.advance(fetcher)
            loop.on_advance_end(fetcher)
            total += losses.take()
            if loop.batch_idx + 1 >= trainer.num_training_batches:
                loop.reset()  # an epoch has ended
        schedule.count_update()
        return total

    loader = trainer.train_dataloader
    if isinstance(loader, (dict, list, tuple)):
        raise BadInput(f"the module trains on {len(loader)} loaders at once; expected one loader")
    return Program(
        model=module,
        loader=loader_of_updates(loader, parts),
        train_step=train_step,
        optimizer=list(trainer.optimizers),
        state=[schedule, _Progress(loop), *_scaler_of(trainer.precision_plugin)],
        recipes={
            "amp": {"bf16": 'Trainer(precision="bf16-mixed")'},
            "batch_size": _batch_sizes("DataLoader(data, batch_size={size})", parts),
            "compile": {"*": 'module = torch.compile(module, mode="{level}")  # before trainer.fit(module)'},
        },
    )


def loader_of_updates(loader: Any, parts: int) -> Any:
    """Return a loader of the same data each of whose batches is what one update of the weights learns from.

    ``parts`` batches of the user's loader become one batch, a list. One of Accelerate's loaders becomes the data loader
    that it was made from, since it would send the batches to the device itself.

    Raises:
        BadInput: gradients accumulate, and the loader has no batch size.
    """
    from torch.utils.data import BatchSampler, DataLoader, IterableDataset

    own = getattr(loader, "base_dataloader", loader)
    if own is loader and parts == 1:
        return loader
    if not isinstance(own, DataLoader):
        size = None
    elif isinstance(own.dataset, IterableDataset):
        size, order = own.batch_size, {"drop_last": own.drop_last}
    elif type(own.batch_sampler) is BatchSampler:
        sampler = own.batch_sampler
        size, order = sampler.batch_size, {"drop_last": sampler.drop_last, "sampler": sampler.sampler}
    else:
        size = None
    if size is None:
        if parts == 1:
            return own
        raise BadInput(
            f"gradients accumulate over {parts} batches, and the loader has no batch size; expected a "
            "torch.utils.data.DataLoader with a batch_size"
        )
    options = {name: getattr(own, name) for name in LOADER_OPTIONS}
    if parts > 1:
        options["collate_fn"] = CollateParts(own.collate_fn, parts)
    return DataLoader(own.dataset, batch_size=size * parts, **order, **options)


class CollateParts:
    """Makes of the items of an update a list of ``parts`` batches of equal size, each by ``collate``."""

    def __init__(self, collate: Callable[[Any], Any], parts: int) -> None:
        self.collate = collate
        self.parts = parts

    def __call__(self, items: Sequence[Any]) -> list[Any]:
        """Return the batches; there are fewer if there are fewer items."""
        parts = min(self.parts, len(items))
        ends = [len(items) * number // parts for number in range(parts + 1)]
        return [self.collate(items[start:end]) for start, end in pairwise(ends)]


class Schedule:
    """The schedulers of a training of so many updates of the weights, which begin again after its end.

    A program is timed for longer than it trains. A scheduler may then refuse to go on, or learn nothing any more.
    """

    def __init__(self, schedulers: Sequence[Any], updates: float) -> None:
        self._schedulers = schedulers
        self._updates = updates
        self._done = 0
        self._first = deepcopy(self.state_dict())

    def count_update(self) -> None:
        """Count an update of the weights, and begin again if it was the last one."""
        self._done += 1
        if self._done >= self._updates:
            self.load_state_dict(deepcopy(self._first))

    def state_dict(self) -> dict[str, Any]:
        """Return the number of updates, and the state of each scheduler."""
        return {"done": self._done, "schedulers": [scheduler.state_dict() for scheduler in self._schedulers]}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Set the number of updates, and the state of each scheduler."""
        self._done = state["done"]
        for scheduler, own in zip(self._schedulers, state["schedulers"], strict=True):
            scheduler.load_state_dict(own)


class Attributes:
    """Attributes of an object as a state that can be saved and restored."""

    def __init__(self, owner: Any, *names: str) -> None:
        self._owner = owner
        self._names = names

    def state_dict(self) -> dict[str, Any]:
        """Return the attributes."""
        return {name: getattr(self._owner, name) for name in self._names}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Set the attributes."""
        for name, value in state.items():
            setattr(self._owner, name, value)


def _recipes_of_arguments(args: Any) -> dict[str, dict[str, str]]:
    """Return what a user of ``transformers.Trainer`` with these arguments writes for techniques."""
    here = ", use_cpu=True" if args.device.type == "cpu" else ""  # which bf16=True asks for without a GPU
    recomputing = "activation" if hasattr(args, "activation_checkpointing") else "gradient"  # from version 5 on
    written = {
        "amp": {"bf16": f"bf16=True{here}"},
        "batch_size": _batch_sizes("per_device_train_batch_size={size}", args.gradient_accumulation_steps),
        "compile": {"*": 'torch_compile_mode="{level}"'},
        "workers": {"*": "dataloader_num_workers={level}"},
        "pin_memory": {"on": "dataloader_pin_memory=True"},
        "persistent_workers": {"on": "dataloader_persistent_workers=True"},
        "prefetch_factor": {"*": "dataloader_prefetch_factor={level}"},
        "non_blocking": {"on": 'accelerator_config={"non_blocking": True}'},
        "activation_checkpointing": {"on": f"{recomputing}_checkpointing=True"},
    }
    return {
        technique: {level: f"TrainingArguments({argument})" for level, argument in levels.items()}
        for technique, levels in written.items()
    }


def _batch_sizes(written: str, parts: int) -> dict[str, str]:
    """Return the recipe of a batch size if an update learns from ``parts`` batches of ``{size}`` items."""
    return {"*": written.replace("{size}", "{level}" if parts == 1 else f"{{level}} // {parts}")}


class _TrainingPrepared(Exception):
    """The library has prepared the training, and is about to begin."""


def _prepare_trainer(trainer: Any, callback: Any) -> None:
    """Let a ``Trainer`` prepare its training, as far as its first batch."""

    class Stop(callback):  # type: ignore[misc]
        def on_train_begin(self, *_: Any, **__: Any) -> None:
            raise _TrainingPrepared

    own = trainer.callback_handler.callbacks
    trainer.callback_handler.callbacks = [Stop()]
    try:
        trainer.train()
    except _TrainingPrepared:
        return
    finally:
        trainer.callback_handler.callbacks = own


def _prepare_module(library: Any, trainer: Any, module: Any, data: Any, losses: Any) -> None:
    """Let Lightning prepare a training, as far as its first batch, and leave it in the middle of an epoch."""

    class Stop(library.Callback):  # type: ignore[misc]
        def on_train_batch_start(self, *_: Any) -> None:
            raise _TrainingPrepared

    trainer.callbacks, trainer.loggers = [Stop()], []
    trainer.limit_val_batches = 0
    with suppress(_TrainingPrepared):
        trainer.fit(module, data)
    trainer.callbacks = [losses]
    trainer.state.fn = import_module(f"{library.__name__}.trainer.states").TrainerFn.FITTING
    trainer.training = True
    trainer.fit_loop.epoch_loop.batch_progress.reset()


def _lightning_of(module: Any) -> Any:
    """Return the package of a Lightning module's class: ``lightning.pytorch``, or ``pytorch_lightning``.

    Raises:
        BadInput: it is no Lightning module.
    """
    for base in type(module).__mro__:
        if base.__name__ == "LightningModule" and base.__module__.endswith(".core.module"):
            return import_module(base.__module__.removesuffix(".core.module"))
    raise BadInput(f"from_lightning got {name_type(module)}; expected a LightningModule")


def _losses_recorder(callback: Any) -> Any:
    class Recorder(callback):  # type: ignore[misc]
        """Takes the loss of each batch from Lightning's loop: what the module returned, or made backward passes of."""

        def __init__(self) -> None:
            self._passed: list[Any] = []

        def on_before_backward(self, *given: Any) -> None:
            _, _, loss = given
            self._passed.append(loss.detach())

        def on_train_batch_end(self, *given: Any) -> None:
            _, _, outputs, *_ = given
            self._loss: Any = outputs.get("loss") if isinstance(outputs, Mapping) else outputs

        def take(self) -> Any:
            passed, self._passed = self._passed, []
            if hasattr(self._loss, "detach"):
                return self._loss.detach()
            if not passed:
                raise BadInput(
                    "training_step returned no loss and made no backward pass; expected a tensor of one number, or a "
                    "dictionary with a 'loss'"
                )
            return sum(passed)

    return Recorder()


class _Fetcher:
    """Gives Lightning's loop one batch at a time."""

    batch: Any = None
    done = False  # an epoch ends after the number of its batches
    fetched = 0

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> tuple[Any, int, int]:
        return self.batch, 0, 0


class _Progress:
    """The counters of a Lightning loop: loading them would make it resume a training that was interrupted."""

    def __init__(self, loop: Any) -> None:
        self._loop = loop

    def state_dict(self) -> dict[str, Any]:
        state: dict[str, Any] = self._loop.state_dict()
        return state

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self._loop.load_state_dict(deepcopy(state))
        self._loop.restarting = False


def _require_one_device(count: int, owner: str) -> None:
    if count > 1:
        raise Unavailable(
            f"the {owner} uses {count} devices; accelbench measures a program on one: set CUDA_VISIBLE_DEVICES=0, and "
            "start one process"
        )


def _require_device(model: Any, device: Any, owner: str) -> None:
    weight = next(model.parameters(), None)
    if weight is not None and weight.device.type != device.type:
        raise Unavailable(f"the {owner} sends its batches to {device}, and the model lies on {weight.device}")


def _scaler_of(owner: Any) -> list[Any]:
    scaler = getattr(owner, "scaler", None)
    return [] if scaler is None else [scaler]


def _unwrap(optimizer: Any) -> Any:
    """Return PyTorch's optimizer, without Accelerate's wrapper."""
    return getattr(optimizer, "optimizer", optimizer)


def _needs_metric(scheduler: Any) -> bool:
    """Whether a scheduler goes by the result of an evaluation, as ``ReduceLROnPlateau`` does."""
    return "metrics" in inspect.signature(scheduler.step).parameters
