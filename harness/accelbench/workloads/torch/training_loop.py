"""The training loop of every PyTorch training workload, and the options that techniques set in it.

A workload states its model, its data and its usual values; the loop does the rest, so every technique applies to every
workload. ``TorchTrainingLoop`` alone refuses the combinations that have no meaning.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import redirect_stdout
from dataclasses import dataclass, replace
from functools import partial
from io import StringIO
from typing import Any, ClassVar

from accelbench.core import Arm, Setting
from accelbench.core.arm import no_objection, nothing
from accelbench.errors import Unavailable, check_choice
from accelbench.schema.reasons import Reason, reason
from accelbench.workloads.training import Training, TrainingLoop

LOCATIONS = ("resident", "host", "round-trip")
ABLATIONS = ("none", "decoded", "resident", "silent", "larger-batch")
LARGER = 4  # times the usual batch
LEAST_SCALE = 2.0**-24  # of gradients: if they overflow at that, they are not finite at any scale

READERS: dict[str, Callable[[Any], object]] = {
    "none": lambda loss: None,  # noqa: ARG005  called as the others are
    "item": lambda loss: loss.item(),
    "float": float,
    "print": lambda loss: print(loss),  # noqa: T201  the print itself is measured
    "numpy": lambda loss: loss.numpy(force=True),  # an accelerator's tensor goes through the host
    "cpu": lambda loss: loss.cpu(),
}


@dataclass(frozen=True, kw_only=True)
class TrainOptions:
    """The options that techniques switch in a training. The defaults leave the workload as it is.

    Options have the names of their techniques. ``log_interval`` 0 never reads the loss. ``data_location`` is
    ``"resident"`` on the device, ``"host"`` in the host's memory and sent in every step, or ``"round-trip"``, where
    results come back as well.
    """

    batch_size: int | None = None
    device: str | None = None
    amp: str = "fp32"
    memory_format: str | None = None
    compile: str = "eager"
    cuda_graphs: bool = False
    optimizer: str | None = None
    accumulation: int = 1
    learning_rate_scaling: str = "none"
    attention: str | None = None
    activation_checkpointing: bool = False
    log_interval: int | None = None
    log_by: str = "item"
    data_location: str | None = None
    workers: int | None = None
    persistent_workers: bool | None = None
    prefetch_factor: int | None = None
    pin_memory: bool | None = None
    non_blocking: bool | None = None
    loading: str | None = None
    decode: str | None = None
    ablation: str = "none"
    given: ClassVar[frozenset[str]] = frozenset()  # of an instance, the options that were set, if only to the usual

    def __new__(cls, **given: Any) -> TrainOptions:
        """Make the options and remember which of them were given."""
        made = super().__new__(cls)
        object.__setattr__(made, "given", frozenset(given))
        return made

    @property
    def arrival(self) -> dict[str, Any]:
        """The options that are set and say how batches arrive."""
        names = ("workers", "persistent_workers", "prefetch_factor", "pin_memory", "non_blocking", "loading")
        return {name: value for name in names if (value := getattr(self, name)) is not None}

    @property
    def names_loader(self) -> bool:
        """Whether an option is set that only a data loader has."""
        return any(name in self.arrival for name in ("workers", "persistent_workers", "prefetch_factor"))


@dataclass(frozen=True, kw_only=True)
class Files:
    """A dataset from which a data loader makes batches, and the loader's usual options.

    ``draws`` counts the indices of an epoch where they are not ``items``; ``workers`` None means one per core.
    """

    dataset: Any
    items: int
    batch_size: int | None
    draws: int | None = None
    workers: int | None = 0
    persistent_workers: bool = True
    prefetch_factor: int = 2
    pin_memory: bool = False


@dataclass(frozen=True, kw_only=True)
class TorchTraining(Training):
    """What is trained, on which data, and the usual values.

    ``task`` is a model with its loss and optimizer. Batches lie on the device (``"resident"``) or in the ``"host"``'s
    memory, or are ``"loaded"`` by a data loader. An arm that is ``watched`` also reports for how long it waited for
    data. ``verify`` is that of the arm. ``device`` is where the model lies unless a technique sends it elsewhere; None
    for the accelerator, or the CPU where there is none. ``memory_format`` is that of the weights and of images, None
    for what they have.
    """

    task: Any
    device: str | None = None
    memory_format: str | None = "contiguous"
    location: str = "resident"
    has_files: bool = False
    watched: bool = False
    verify: Callable[[Sequence[Any]], Reason | str | None] = no_objection
    close: Callable[[], None] = nothing


class TorchTrainingLoop(TrainingLoop):
    """The loop with PyTorch's options."""

    options: TrainOptions
    training: TorchTraining

    def __init__(self, setting: Setting, options: TrainOptions, training: TorchTraining) -> None:
        from accelbench.workloads.torch import devices

        self.device = devices.choose(options.device or training.device)
        super().__init__(setting, options, training, devices.label(self.device))
        if options.ablation == "silent":
            self._reads_every = 0

    def check(self) -> None:
        """Refuse options that do not exist, or have no meaning for this training, each for its reason."""
        options = self.options
        check_choice(options.log_by, READERS, "way to read the loss")
        check_choice(options.ablation, ABLATIONS, "ablation")
        check_choice(options.data_location or "host", LOCATIONS, "data location")
        super().check()
        if options.cuda_graphs:
            from accelbench.workloads.torch.compile import check_recording

            check_recording(
                self.device,
                amp=options.amp,
                compile=options.compile,
                activation_checkpointing=options.activation_checkpointing,
            )

    def _objections(self) -> Iterator[str | Reason]:
        yield from self._objections_to_step(self.training.task.facts)
        yield from self._objections_to_data()

    def _objections_to_step(self, facts: Any) -> Iterator[str]:
        options, learns = self.options, self.training.task.learns
        if options.memory_format == "channels-last" and not facts.has_convolutions:
            yield "the model has no convolutions of images, whose channels a memory format could move"
        if options.attention and not facts.has_attention:
            yield "the model has no attention of transformers, for which there are several ways"
        if not learns and (options.optimizer or options.accumulation > 1 or options.activation_checkpointing):
            yield "nothing is learnt: there are no gradients, and no optimizer"
        if options.learning_rate_scaling != "none" and self._problem is None:
            yield "the program sets its learning rate itself, and may change it while it learns"
        if options.accumulation > 1:
            if self.batch_size % options.accumulation:
                yield f"a batch of {self.batch_size} cannot be learnt in {options.accumulation} equal parts"
            if facts.has_batch_norm:
                yield "batch normalisation would normalise by a part of the batch, which is another step"
            if not facts.is_mean_loss:
                yield "the loss is not a mean over items, so the losses of parts do not add up to it"
            if self._records():
                # https://github.com/pytorch/pytorch/issues/181723 and 169545
                yield "CUDA graphs write the gradients of every part of a batch to one place, where they do not add up"

    def _objections_to_data(self) -> Iterator[str | Reason]:
        options, training = self.options, self.training
        if options.decode is not None and not training.has_files:
            yield "no image files are decoded here"
        if options.ablation == "decoded" and training.location != "loaded":
            yield "the batches lie in memory already: there is nothing to decode or to load ahead"
        if options.ablation == "resident" and self.device.type == "cpu":
            yield reason("already-resident")
        if options.ablation == "resident" and training.location == "resident":
            yield "the batches are resident on the device already: nothing is sent"
        if options.ablation == "silent" and not self._reads_every:
            yield "this training reads no loss"
        if self._is_resident and options.arrival:
            yield (
                f"the batches lie on the device before the clock starts, so {next(iter(options.arrival))} changes "
                "nothing: set data_location to round-trip to compare how batches arrive"
            )

    def arm(self, **facts: Any) -> Arm:
        """Build the loop and return its arm. ``facts`` replace those that the loop states."""
        from accelbench.workloads.torch.compile import compiled
        from accelbench.workloads.torch.training_step import attention_formula

        options, training = self.options, self.training
        stated = {"watched": training.watched, "verify": training.verify, "close": self.close}
        arm = super().arm(**stated | facts)
        if arm.observe is None:
            arm = replace(arm, observe=self._observation())
        if self._scales_loss:
            arm = arm.inside(self.trainer.precision.counting)
        if options.log_by == "print":  # to memory in place of a terminal: it costs what formatting a tensor takes
            arm = arm.inside(lambda: redirect_stdout(StringIO()))
        if options.attention == "math":
            arm = arm.inside(attention_formula, options.attention)
        if options.compile == "eager":
            return arm
        searchable = self.training.task.facts.searchable
        parts = self.compiled_parts()
        return compiled(arm, parts, options.compile, self.setting, options, searchable=searchable)

    def compiled_parts(self) -> list[Any]:
        """Return what is compiled: the model."""
        return [self.trainer.model]

    def build(self) -> None:
        """Make the model and the source of batches."""
        from accelbench.workloads.torch import data
        from accelbench.workloads.torch.training_step import LossScale, Trainer

        options = self.options
        self._arriving = data.arrival(options.loading or "blocking", self.device)
        self.trainer = Trainer(
            self.training.task,
            device=self.device,
            amp=options.amp,
            memory_format=options.memory_format or self.training.memory_format,
            optimizer=options.optimizer,
            accumulation=options.accumulation,
            learning_rate_factor=self.learning_rate_factor,
            attention=options.attention,
            activation_checkpointing=options.activation_checkpointing,
            loss_scale=self.setting.storage.values.setdefault(("loss scale", options), LossScale()),
        )
        self.source = self._source()
        self._number = 0
        if options.cuda_graphs:
            self._record()

    def step(self) -> Any:
        """Train on the batches of one step; return the loss of each, and the last one's other outputs."""
        import torch

        results = []
        for batch in self._epoch():
            first, *others = self.train_on(batch)
            results.append(first)
        if not self.training.task.learns:
            return results
        if not others:
            return torch.stack(results)
        return (results[0] if len(results) == 1 else torch.stack(results)), *others

    def train_on(self, batch: Any) -> Any:
        """Train on one batch as it arrived, and read the loss in every ``log_interval``-th step."""
        from accelbench.frameworks.tree import tree_map
        from accelbench.workloads.torch.batch import send_part
        from accelbench.workloads.torch.compile import RECORDING
        from accelbench.workloads.torch.training_step import copied

        if not self._is_resident:
            batch = self.trainer.send(batch, non_blocking=bool(self.options.non_blocking))
        output = self.trainer.train_on(batch)
        overwrites = self.options.cuda_graphs or self.options.compile in RECORDING
        if overwrites and (self.source.count > 1 or not self.training.task.learns):
            output = copied(output)
        self._number += 1
        if self._reads_every and self._number % self._reads_every == 0:
            READERS[self.options.log_by](self._scalar(output[0]))
        if self.options.data_location == "round-trip":
            output = tree_map(output, lambda part: send_part(part, "cpu"))
        return output

    def reset(self) -> None:
        """Return to the first weights, the first batch and a gradient scale that has settled."""
        if self._scales_loss and not self.trainer.precision.is_settled:
            self._settle_scale()
        self._restart()

    def _settle_scale(self) -> None:
        """Train until none of the checked steps is skipped, for this build and all later ones of the arm.

        Built for the first time, the arm is not settled before its first call, which would no longer be cold.
        """
        self._restart(keep_scale=True)
        while self._lowers_scale(self.checked_steps):
            while self._lowers_scale(1):
                pass  # a step that is skipped changes no weight, so another one can follow
            self._restart(keep_scale=True)
        self.trainer.precision.settle()

    def _lowers_scale(self, steps: int) -> bool:
        before = self.trainer.precision.scale
        for _ in range(steps):
            self.step()
        return bool(LEAST_SCALE < self.trainer.precision.scale < before)

    def _restart(self, *, keep_scale: bool = False) -> None:
        self.trainer.reset(keep_scale=keep_scale)
        self.source.restart()
        self._number = 0

    def close(self) -> None:
        """End loader processes and threads."""
        self.source.close()
        self.training.close()

    @property
    def _problem(self) -> Any:
        return getattr(self.training.task, "problem", None)

    def _batch_size(self) -> int:
        size = super()._batch_size()
        if self.options.ablation != "larger-batch":
            return size
        return LARGER * size if self.training.most is None else min(LARGER * size, self.training.most)

    @property
    def _is_resident(self) -> bool:
        options = self.options
        if options.ablation in ("decoded", "resident"):
            return options.ablation == "resident"
        return (options.data_location or self.training.location) == "resident"

    @property
    def _scales_loss(self) -> bool:
        return bool(self.training.task.learns and self.trainer.precision.may_skip_steps)

    def _records(self) -> bool:
        from accelbench.workloads.torch.compile import records

        return records(self.device, cuda_graphs=self.options.cuda_graphs, compile=self.options.compile)

    def _source(self) -> Any:
        """Return the batches where they lie when the clock starts."""
        from accelbench.workloads.torch import data

        options, source = self.options, self.training.data(self.batch_size)
        if isinstance(source, Files):
            loader = self._loader(partial(data.Loader, **_load(source)), source, self._pins and not self._reads_ahead)
            return self._read_ahead(loader) if self._reads_ahead else loader
        if options.names_loader:
            return self._loader(source.loaded, Files(dataset=None, items=0, batch_size=None), self._pins)
        return self._place(source)

    @property
    def _reads_ahead(self) -> bool:
        """Whether a loader's batches are read into memory before the clock starts."""
        options = self.options
        return options.ablation in ("decoded", "resident") or options.data_location in ("resident", "host")

    @property
    def _pins(self) -> bool:
        """Whether batches lie in page-locked memory; else copies to the device ahead of time would wait for it."""
        return bool(self.options.pin_memory) or self.options.loading == "device"

    def _read_ahead(self, loader: Any) -> Any:
        """Return the batches of a loader's epoch, read into memory and put into place."""
        from accelbench.workloads.torch import data

        batches = list(loader)
        loader.close()
        return self._place(data.Batches(batches, per_step=len(batches)))

    def _place(self, source: Any) -> Any:
        from accelbench.workloads.torch.batch import pinned

        if self._is_resident:
            source.place(self.trainer.send)
        elif self._pins:
            source.place(pinned)
        return source

    def _loader(self, make: Callable[..., Any], usual: Files, pins: bool) -> Any:
        """Return a data loader with the options that are set, and the usual ones for all others."""
        from accelbench.workloads.torch.data import DECODED_THERE, worker_count

        options = self.options
        workers = worker_count(usual.workers if options.workers is None else options.workers, self.setting.cores)
        pins = pins if options.pin_memory is not None or options.loading == "device" else usual.pin_memory
        if options.decode == "device" and (workers or pins):
            raise Unavailable(DECODED_THERE)
        persistent = options.persistent_workers
        return make(
            seed=self.setting.seed,
            workers=workers,
            persistent_workers=usual.persistent_workers if persistent is None else persistent,
            prefetch_factor=options.prefetch_factor or usual.prefetch_factor,
            pin_memory=pins,
        )

    def _record(self) -> None:
        """Record the model's passes as CUDA graphs, for batches of the usual size.

        Raises:
            Unavailable: nothing can be recorded here.
        """
        from accelbench.workloads.torch.compile import record
        from accelbench.workloads.torch.training_step import attention_formula

        if not self.source.is_even:
            raise Unavailable("a CUDA graph is recorded for one size of batch, and the last one here is smaller")
        with attention_formula(self.options.attention):  # a graph replays the attention with which it was recorded
            record(self.trainer.model, self.trainer.model_inputs(self.source.first()))

    def _epoch(self) -> Iterator[Any]:
        return self._arriving(self.source)

    def _observation(self) -> Callable[[], Mapping[str, float]] | None:
        """Return what observes the optimiser's share where it is switched, and a watched training's wait for data."""
        measures: list[Callable[[], Mapping[str, float]]] = []
        if self._scales_loss:
            measures.append(self.trainer.precision.observe)
        if self.options.optimizer and self.training.task.learns:
            measures.append(self._optimizer_share)
        if self.training.watched:
            measures.append(self._wait_share)
        if not measures:
            return None
        return lambda: {name: value for measure in measures for name, value in measure().items()}

    def _optimizer_share(self) -> Mapping[str, float]:
        batch = self.trainer.send(self.source.first())
        return {"optimizer_share": self.trainer.observe_optimizer_share(batch)}

    def _wait_share(self) -> Mapping[str, float]:
        """Return the share of an epoch in which training waited for data."""
        start_s = time.perf_counter()
        waited_s = 0.0
        batches = self._epoch()
        while True:
            asked_s = time.perf_counter()
            batch = next(batches, None)
            waited_s += time.perf_counter() - asked_s
            if batch is None:
                return {"wait_share": waited_s / (time.perf_counter() - start_s)}
            self.train_on(batch)
            self.trainer.wait()  # otherwise an accelerator's work would count as waiting for the next batch

    @staticmethod
    def _scalar(result: Any) -> Any:
        """Return one number that depends on a result: the loss itself, or the sum of a program's answer.

        Raises:
            Unavailable: there is no tensor in the result.
        """
        from accelbench.frameworks.tree import stored_leaves

        first = next((leaf for leaf in stored_leaves(result) if hasattr(leaf, "ndim")), None)
        if first is None:
            raise Unavailable("the program's step returns no tensor, so there is nothing to read")
        return first.sum() if first.ndim else first


def _load(source: Files) -> dict[str, Any]:
    names = ("dataset", "items", "batch_size", "draws")
    return {name: getattr(source, name) for name in names}


def train(setting: Setting, options: TrainOptions, training: TorchTraining) -> Arm:
    """Return the arm of a training with these options.

    Raises:
        BadInput: an option has a value that does not exist.
        Unavailable: an option cannot apply; the message says why.
    """
    return TorchTrainingLoop(setting, options, training).arm_or_check()


def train_in_turn(
    setting: Setting, options: TrainOptions, problem: Any, batch_size: int, *, steps: int = 1, **facts: Any
) -> Arm:
    """Return the arm that trains on a few random batches in turn, ``steps`` of them in each of its steps."""
    import torch

    from accelbench.workloads.data.rotation import VARIANTS
    from accelbench.workloads.torch.data import Batches
    from accelbench.workloads.torch.training_step import ProblemTask

    def batches(size: int) -> Batches:
        generator = torch.Generator().manual_seed(setting.seed)
        return Batches([problem.batch(size, generator) for _ in range(VARIANTS)], per_step=steps)

    task = ProblemTask(problem, setting.seed)
    return train(setting, options, TorchTraining(task=task, data=batches, batch_size=batch_size, **facts))
