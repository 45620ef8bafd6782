"""Image files from disk: the loader alone, and feeding a training step. A step is a whole drained epoch."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from harness.errors import BadInput, Unavailable
from harness.experiment import Arm, Setting, workload


@workload("torch", unit="image")
def image_loading(
    setting: Setting,
    *,
    images: int | None = None,
    batch_size: int = 8,
    side: int | None = None,
    workers: int | None = None,
    persistent_workers: bool = True,
    prefetch_factor: int = 2,
    pin_memory: bool = False,
    decoder: str = "pillow",
) -> Arm:
    """An epoch of decoding image files from disk and scaling them to a side in pixels, with nothing to feed."""
    import torch

    from harness.workloads.torch import devices

    epochs, items, _ = _epochs(
        setting,
        side=side or setting.choose(small=96, full=224),
        items=images or setting.choose(small=64, full=128),
        batch_size=batch_size,
        workers=workers,
        persistent_workers=persistent_workers,
        prefetch_factor=prefetch_factor,
        pin_memory=pin_memory,
        decoder=decoder,
    )
    place = devices.label(devices.accelerator()) if decoder == "device" else "cpu"

    def step() -> tuple[Any, Any]:
        means, labels = [], []
        for pixels, label in epochs:
            means.append(pixels.mean())
            labels.append(label.clone())  # a loader process's own tensor would keep a file open
        return torch.stack(means), torch.cat(labels)

    # What decoding takes depends on the files, so no work is stated.
    return Arm(step=step, items=items, close=epochs.close, device=place)


@workload("torch", unit="image")
def image_training(
    setting: Setting,
    *,
    model: str = "resnet18",
    images: int | None = None,
    batch_size: int | None = None,
    device: str | None = None,
    autocast: str = "fp32",
    workers: int | None = None,
    persistent_workers: bool = True,
    prefetch_factor: int = 2,
    pin_memory: bool = False,
    non_blocking: bool = False,
    loading: str = "blocking",
) -> Arm:
    """An epoch of training ResNet-18, or the CNN of introductory texts, on image files that are decoded from disk."""
    from harness.workloads.torch import devices
    from harness.workloads.torch.prefetching import arrival
    from harness.workloads.torch.trainer import Trainer

    place = devices.chosen(device)
    arriving = arrival(loading, place)
    side, drawn, problem = _learner(setting, model)
    epochs, items, classes = _epochs(
        setting,
        side=side,
        items=images or drawn,
        batch_size=batch_size or setting.choose(small=8, full=16),
        workers=workers,
        persistent_workers=persistent_workers,
        prefetch_factor=prefetch_factor,
        pin_memory=pin_memory or loading == "device",  # else its copies would wait for the device
    )
    learnt = problem(max(2, classes))
    trainer = Trainer(learnt.model, seed=setting.seed, device=place, autocast=autocast)
    return _training(trainer, lambda: arriving(epochs), learnt, items, non_blocking, epochs.close)


def _learner(setting: Setting, model: str) -> tuple[int, int, Callable[[int], Any]]:
    """Return a model's image side in pixels, its images an epoch, and what makes its problem for so many classes."""
    from harness.workloads.torch import models

    if model == "cnn":
        return 32, setting.choose(small=64, full=128), lambda classes: models.cnn(classes=classes)
    if model == "resnet18":
        side = setting.choose(small=48, full=224)
        images = setting.choose(small=24, full=128)
        return side, images, lambda classes: models.resnet18(side=side, classes=classes)
    raise BadInput(f"unknown model {model!r}; expected one of: resnet18, cnn")


def _training(
    trainer: Any,
    epoch: Callable[[], Iterator[Any]],
    problem: Any,
    items: int,
    non_blocking: bool,
    close: Callable[[], None],
) -> Arm:
    """Return the arm that trains on every batch of an epoch."""

    def train_on(batch: Any) -> Any:
        return trainer.train_on(*(part.to(trainer.device, non_blocking=non_blocking) for part in batch))

    return trainer.arm(  # type: ignore[no-any-return]  # the trainer is imported with PyTorch
        lambda: _last(map(train_on, epoch())),
        problem.network,
        items,
        sent_bytes=items * problem.item_bytes,
        observe=lambda: _waiting(epoch, train_on),
        watched=True,
        close=close,
    )


def _epochs(
    setting: Setting, *, side: int, items: int, workers: int | None, decoder: str = "pillow", **options: Any
) -> tuple[Any, int, int]:
    """Return the epochs over the run's images, how many images each has, and the number of classes."""
    from harness.workloads.data import photographs
    from harness.workloads.data.image_folder import scan
    from harness.workloads.torch.epochs import Epochs, worker_count

    count = worker_count(workers, setting.cores)
    if decoder == "device" and (count or options["pin_memory"]):
        raise Unavailable("images decoded on the device need workers=0, and no page-locked memory: they are there")
    folder = scan(photographs.folder(setting))
    from harness.workloads.torch.decoding import Photographs  # after the scan, which says so where Pillow is missing

    items = min(items, len(folder.paths))
    epochs = Epochs(Photographs(folder, side, decoder), seed=setting.seed, items=items, workers=count, **options)
    return epochs, items, len(folder.classes)


def _last(outputs: Iterable[Any]) -> Any:
    """Drain the epoch and return its last output."""
    return deque(outputs, maxlen=1).pop()


def _waiting(epoch: Callable[[], Iterator[Any]], train_on: Any) -> Mapping[str, float]:
    """Return the share of an epoch in which training waited for data."""
    start_s = time.perf_counter()
    waited_s = 0.0
    batches = epoch()
    while True:
        asked_s = time.perf_counter()
        batch = next(batches, None)
        waited_s += time.perf_counter() - asked_s
        if batch is None:
            return {"wait_share": waited_s / (time.perf_counter() - start_s)}
        loss, _ = train_on(batch)
        loss.item()  # otherwise an accelerator's work would be counted as waiting for the next batch
