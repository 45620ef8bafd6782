"""Copies between host memory and the device, raw and through a data loader."""

from __future__ import annotations

from typing import Any

from harness.experiment import Arm, Setting, Work, workload


@workload("torch", unit="byte")
def host_to_device_copy(
    setting: Setting,
    *,
    mebibytes: int = 16,
    device: str | None = None,
    pin_memory: bool = False,
    non_blocking: bool = False,
) -> Arm:
    """Copying a tensor from host memory to the device."""
    import torch

    from harness.workloads.torch import devices

    place = devices.accelerator(device)
    sources = _tensors(setting, mebibytes)
    if pin_memory:
        sources = [source.pin_memory() for source in sources]
    target = torch.empty_like(sources[0], device=place)
    return _copying(sources, target, non_blocking, place, Work(to_device_bytes=target.nbytes))


@workload("torch", unit="byte")
def device_to_host_copy(
    setting: Setting,
    *,
    mebibytes: int = 16,
    device: str | None = None,
    pin_memory: bool = False,
    non_blocking: bool = False,
) -> Arm:
    """Copying a tensor from the device to host memory."""
    import torch

    from harness.workloads.torch import devices

    place = devices.accelerator(device)
    sources = [source.to(place) for source in _tensors(setting, mebibytes)]
    target = torch.empty(sources[0].shape, pin_memory=pin_memory)
    return _copying(sources, target, non_blocking, place, Work(from_device_bytes=target.nbytes))


def _tensors(setting: Setting, mebibytes: int) -> list[Any]:
    """Return float32 tensors in host memory."""
    import torch

    from harness.workloads.data.rotation import VARIANTS

    generator = torch.Generator().manual_seed(setting.seed)
    return [torch.randn(mebibytes * 2**18, generator=generator) for _ in range(VARIANTS)]


def _copying(sources: list[Any], target: Any, non_blocking: bool, place: Any, link: Work) -> Arm:
    """Return the arm that copies the sources in turn to the same place; within the host's memory over no ``link``."""
    from harness.workloads.data.rotation import Rotation
    from harness.workloads.torch import devices

    rotation = Rotation(sources)
    return Arm(
        step=lambda: target.copy_(rotation.take(), non_blocking=non_blocking),
        items=target.nbytes,
        reset=rotation.restart,
        checked_steps=2,
        device=devices.label(place),
        inputs=rotation.shown,
        work=Work(memory_bytes=2 * target.nbytes) if place.type == "cpu" else link,
    )


@workload("torch", unit="row")
def loader_train(
    setting: Setting,
    *,
    batch_size: int | None = None,
    device: str | None = None,
    workers: int = 1,
    pin_memory: bool = False,
    non_blocking: bool = False,
) -> Arm:
    """An epoch of training the network 784-128-10, light work on large batches that a data loader brings."""
    import torch

    from harness.workloads.torch import devices, models
    from harness.workloads.torch.epochs import Epochs, worker_count
    from harness.workloads.torch.trainer import Trainer

    rows = batch_size or setting.choose(small=1024, full=16384)
    problem = models.mlp()
    generator = torch.Generator().manual_seed(setting.seed)
    batches = [problem.batch(rows, generator) for _ in range(8)]
    processes = worker_count(workers, setting.cores)
    epochs = Epochs(
        batches,
        seed=setting.seed,
        items=len(batches),
        batch_size=None,
        workers=processes,
        persistent_workers=True,
        prefetch_factor=2,
        pin_memory=pin_memory,
    )
    trainer = Trainer(problem.model, seed=setting.seed, device=devices.chosen(device))

    def step() -> Any:
        for batch in epochs:
            output = trainer.train_on(*(part.to(trainer.device, non_blocking=non_blocking) for part in batch))
        return output

    items = rows * len(batches)
    shown = () if processes else batches  # a loader process has its own copies
    sent_bytes = items * problem.item_bytes
    return trainer.arm(step, problem.network, items, sent_bytes=sent_bytes, close=epochs.close, inputs=lambda: shown)
