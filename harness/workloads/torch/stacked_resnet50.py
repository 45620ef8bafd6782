"""Training on images in memory, with everything that is stacked on a ladder left out until it is asked for."""

from __future__ import annotations

from typing import Any

from harness.experiment import Arm, Setting, workload
from harness.workloads.torch.stacked_training import epoch, need_batch

Tensors = tuple[Any, Any]

# Measured on a CPU after eight steps of 32 images: bfloat16 is 1.8e-2 off float32; at ten times this rate it is 1.6e-1.
LEARNING_RATE = 1e-3


@workload("torch", unit="image")
def stacked_training_resnet50(
    setting: Setting,
    *,
    batch_size: int = 32,
    log_interval: int | None = 1,
    pin_memory: bool = False,
    non_blocking: bool = False,
    device: str | None = None,
    autocast: str = "fp32",
    memory_format: str = "contiguous",
    compile_mode: str = "eager",
) -> Arm:
    """An epoch of training ResNet-50 v1.5 on random images in the host's memory, sent to the device in every step.

    64 images of 32×32 pixels at small size, which take about a second on two cores, 256 of 224×224 at full.
    """
    from harness.workloads.torch import devices, optimizers
    from harness.workloads.torch.compiling import compiled
    from harness.workloads.torch.trainer import Trainer

    items = setting.choose(small=64, full=256)
    need_batch(batch_size, items)
    place = devices.chosen(device)
    problem, images = _problem(setting, items, pin_memory)
    sgd = optimizers.sgd(lr=LEARNING_RATE)
    trainer = Trainer(
        problem.model, seed=setting.seed, device=place, autocast=autocast, memory_format=memory_format, optimizer=sgd
    )
    batches = in_batches(images, batch_size)
    arm = trainer.arm(
        epoch(trainer, batches, log_interval, non_blocking),
        problem.network,
        items,
        sent_bytes=items * problem.item_bytes,
        checked_steps=1 if len(batches) > 1 else 2,  # what a second batch gives shows what the first one taught
        inputs=lambda: images,
    )
    return compiled(arm, trainer.model, compile_mode, setting, autocast, memory_format, batch_size)


def _problem(setting: Setting, items: int, pin_memory: bool) -> tuple[Any, Tensors]:
    """Return ResNet-50's problem, and so many images with their labels, page-locked where that is asked for."""
    import torch

    from harness.workloads.torch import models

    problem = models.resnet50(**setting.choose(small={"side": 32, "classes": 10}, full={"side": 224, "classes": 1000}))
    images, labels = problem.batch(items, torch.Generator().manual_seed(setting.seed))
    return problem, (images.pin_memory(), labels.pin_memory()) if pin_memory else (images, labels)


def in_batches(images: Tensors, batch_size: int) -> list[Tensors]:
    """Return views of images and labels, so many at a time; the last ones are fewer where they do not divide."""
    return list(zip(*(part.split(batch_size) for part in images), strict=True))
