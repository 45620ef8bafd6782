"""Training with everything that is stacked on a ladder left out until it is asked for."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from harness.errors import BadInput, Unavailable
from harness.experiment import Arm, Setting, workload


@workload("torch", unit="item")
def stacked_training(
    setting: Setting,
    *,
    model: str = "resnet18",
    batch_size: int = 1,
    log_interval: int | None = 1,
    workers: int = 0,
    pin_memory: bool = False,
    non_blocking: bool = False,
    device: str | None = None,
    autocast: str = "fp32",
    memory_format: str = "contiguous",
    compile_mode: str = "eager",
) -> Arm:
    """An epoch of training: ResNet-18 on image files that are decoded from disk, or BERT on token sequences in memory.

    The loss is read in every ``log_interval``-th step, or in none.
    """
    from harness.workloads.torch import devices
    from harness.workloads.torch.compiling import compiled
    from harness.workloads.torch.trainer import Trainer

    place = devices.chosen(device)
    items = setting.choose(small=8, full=128)
    need_batch(batch_size, items)
    if model == "bert" and memory_format != "contiguous":
        raise Unavailable("BERT has no convolutions, whose channels a memory format could move")
    problem, dataset = _problem(setting, model, items)
    trainer = Trainer(problem.model, seed=setting.seed, device=place, autocast=autocast, memory_format=memory_format)
    epochs = _epochs(setting, dataset, items=items, batch_size=batch_size, workers=workers, pin_memory=pin_memory)
    step = epoch(trainer, epochs, log_interval, non_blocking)
    arm = trainer.arm(step, problem.network, items, sent_bytes=items * problem.item_bytes, close=epochs.close)
    return compiled(arm, trainer.model, compile_mode, setting, autocast, memory_format, batch_size)


def need_batch(size: int, items: int) -> None:
    """Make a batch unavailable that does not fit into an epoch."""
    if size > items:
        raise Unavailable(f"an epoch has {items} items here, too few for a batch of {size}")


def epoch(
    trainer: Any, batches: Iterable[Any], log_interval: int | None, non_blocking: bool
) -> Callable[[], tuple[Any, Any]]:
    """Return what sends every batch to a trainer's device and trains on it, and returns the last one's loss and logits.

    The loss is read in every ``log_interval``-th step, or in none.
    """

    def step() -> tuple[Any, Any]:
        for number, batch in enumerate(batches, start=1):
            sent = (part.to(trainer.device, non_blocking=non_blocking) for part in batch)
            output: tuple[Any, Any] = trainer.train_on(*trainer.laid_out(*sent))
            if log_interval and number % log_interval == 0:
                output[0].item()  # what the host waits for, and what is measured
        return output

    return step


def _epochs(setting: Setting, dataset: Any, *, workers: int, **options: Any) -> Any:
    from harness.workloads.torch.epochs import Epochs, worker_count

    count = worker_count(workers, setting.cores)
    return Epochs(dataset, seed=setting.seed, workers=count, persistent_workers=True, prefetch_factor=2, **options)


def _problem(setting: Setting, model: str, items: int) -> tuple[Any, Any]:
    """Return a model's problem, and a dataset of at least so many items."""
    import torch

    from harness.workloads.torch import models

    if model == "bert":
        problem = models.bert(
            **setting.choose(
                small={"layers": 2, "hidden": 256, "vocabulary": 8192, "tokens": 64},
                full={"layers": 12, "hidden": 768, "vocabulary": 30522, "tokens": 128},
            )
        )
        generator = torch.Generator().manual_seed(setting.seed)
        return problem, torch.utils.data.TensorDataset(*problem.batch(items, generator))
    if model == "resnet18":
        side = setting.choose(small=48, full=224)
        images, classes = _photographs(setting, side)
        return models.resnet18(side=side, classes=classes), images
    raise BadInput(f"unknown model {model!r}; expected one of: resnet18, bert")


def _photographs(setting: Setting, side: int) -> tuple[Any, int]:
    """Return the run's image files as a dataset, and their number of classes."""
    from harness.workloads.data import photographs
    from harness.workloads.data.image_folder import scan

    folder = scan(photographs.folder(setting))
    from harness.workloads.torch.decoding import Photographs  # after the scan, which says so where Pillow is missing

    return Photographs(folder, side), max(2, len(folder.classes))
