"""Training steps on random data: forward, loss, backward, optimiser.

The models are `transformers` configurations and the small networks of introductory texts, all with random weights.
"""

from __future__ import annotations

from typing import Any

from harness.experiment import Arm, Setting, workload


@workload("torch", unit="image")
def cnn_train(
    setting: Setting,
    *,
    batch_size: int | None = None,
    device: str | None = None,
    autocast: str = "fp32",
    data_location: str = "resident",
) -> Arm:
    """Training step of a small CNN, convolutions 3-16-32 and two linear layers, on 32×32 images."""
    from harness.workloads.torch import models

    size = batch_size or setting.choose(small=32, full=256)
    return _arm(setting, models.cnn(), size, device, autocast, data_location)


@workload("torch", unit="row")
def mlp_train(
    setting: Setting,
    *,
    batch_size: int | None = None,
    device: str | None = None,
    autocast: str = "fp32",
    data_location: str = "resident",
) -> Arm:
    """Training step of the sequential network 784-128-10."""
    from harness.workloads.torch import models

    size = batch_size or setting.choose(small=256, full=1024)
    return _arm(setting, models.mlp(), size, device, autocast, data_location)


@workload("torch", unit="image")
def resnet18_train(
    setting: Setting,
    *,
    batch_size: int | None = None,
    device: str | None = None,
    autocast: str = "fp32",
    data_location: str = "resident",
) -> Arm:
    """Training step of ResNet-18, on 48×48 images at small size and 224×224 at full."""
    from harness.workloads.torch import models

    problem = models.resnet18(**setting.choose(small={"side": 48, "classes": 10}, full={"side": 224, "classes": 1000}))
    size = batch_size or setting.choose(small=4, full=128)
    return _arm(setting, problem, size, device, autocast, data_location)


@workload("torch", unit="image")
def resnet50_train(
    setting: Setting,
    *,
    batch_size: int | None = None,
    device: str | None = None,
    autocast: str = "fp32",
    data_location: str = "resident",
) -> Arm:
    """Training step of ResNet-50 v1.5, on 64×64 images at small size and 224×224 at full."""
    from harness.workloads.torch import models

    problem = models.resnet50(**setting.choose(small={"side": 64, "classes": 10}, full={"side": 224, "classes": 1000}))
    size = batch_size or setting.choose(small=2, full=128)
    return _arm(setting, problem, size, device, autocast, data_location)


@workload("torch", unit="sequence")
def bert_train(
    setting: Setting,
    *,
    batch_size: int | None = None,
    device: str | None = None,
    autocast: str = "fp32",
    data_location: str = "resident",
) -> Arm:
    """Training step of a BERT classifier: two layers of 256 on 64 tokens at small size, BERT-base on 128 at full."""
    from harness.workloads.torch import models

    problem = models.bert(
        **setting.choose(
            small={"layers": 2, "hidden": 256, "vocabulary": 8192, "tokens": 64},
            full={"layers": 12, "hidden": 768, "vocabulary": 30522, "tokens": 128},
        )
    )
    size = batch_size or setting.choose(small=4, full=64)
    return _arm(setting, problem, size, device, autocast, data_location)


def _arm(setting: Setting, problem: Any, batch_size: int, device: str | None, autocast: str, data_location: str) -> Arm:
    """Return the arm that trains on a few batches in turn, resident on the device or sent there and back."""
    import torch

    from harness.workloads.data.rotation import VARIANTS, Rotation
    from harness.workloads.torch import devices
    from harness.workloads.torch.trainer import Trainer

    trainer = Trainer(problem.model, seed=setting.seed, device=devices.chosen(device), autocast=autocast)
    generator = torch.Generator().manual_seed(setting.seed)
    batches = [problem.batch(batch_size, generator) for _ in range(VARIANTS)]

    def resident() -> Any:
        return trainer.train_on(*rotation.take())

    def round_trip() -> Any:
        sent = (part.to(trainer.device) for part in rotation.take())
        return tuple(part.to("cpu") for part in trainer.train_on(*sent))

    def reset() -> None:
        trainer.reset()
        rotation.restart()

    if data_location == "resident":
        batches = [(inputs.to(trainer.device), labels.to(trainer.device)) for inputs, labels in batches]
    rotation = Rotation(batches)
    stays = data_location == "resident"
    batch_bytes = batch_size * problem.item_bytes
    return trainer.arm(
        resident if stays else round_trip,
        problem.network,
        batch_size,
        read_bytes=batch_bytes,
        sent_bytes=0 if stays else batch_bytes,
        reset=reset,
        checked_steps=2,  # the second step's output shows what the first one learnt
        inputs=rotation.shown,
    )
