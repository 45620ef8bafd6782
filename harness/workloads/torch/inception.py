"""The Inception block, whose four branches over the same images do not depend on one another."""

from __future__ import annotations

from functools import partial
from typing import Any

from harness.experiment import Arm, Setting, workload
from harness.workloads.networks import inception

CLASSES = 10


@workload("torch", unit="image")
def inception_inference(
    setting: Setting, *, batch_size: int | None = None, device: str | None = None, branches: str = "serial"
) -> Arm:
    """Forward pass of GoogLeNet's Inception block 3a, or of one 3×3 convolution of about its cost, on 28×28 images.

    At once, each branch has a CUDA stream, or a thread and its share of the cores.
    """
    import torch

    from harness.workloads.data.rotation import Rotation
    from harness.workloads.torch import devices, inception_block

    place = devices.chosen(device)
    made = inception_block.block(branches, place, setting.cores)
    torch.manual_seed(setting.seed)
    model = made.make().to(place).eval()
    batches = [images for images, _ in _batches(setting, batch_size, place)]
    rotation = Rotation(batches)
    parameters = list(model.parameters())
    arm = Arm(
        step=lambda: model(rotation.take()),
        items=len(batches[0]),
        reset=rotation.restart,
        close=made.close,
        device=devices.label(place),
        inputs=rotation.shown,
        parameters=lambda: parameters,
        work=inception(fused=branches == "fused").answering(
            len(batches[0]),
            memory_bytes=batches[0].nbytes + sum(weight.nbytes for weight in parameters),
        ),
    )
    return arm.inside(torch.inference_mode)


@workload("torch", unit="image")
def inception_train(
    setting: Setting, *, batch_size: int | None = None, device: str | None = None, branches: str = "serial"
) -> Arm:
    """Training step of GoogLeNet's Inception block 3a, or of one 3×3 convolution of about its cost, under a small head.

    At once, each branch has a CUDA stream in both passes; on a CPU a thread in the forward pass only.
    """
    from harness.workloads.data.rotation import Rotation
    from harness.workloads.torch import devices, inception_block
    from harness.workloads.torch.trainer import Trainer

    place = devices.chosen(device)
    made = inception_block.block(branches, place, setting.cores)
    trainer = Trainer(partial(made.classifier, CLASSES), seed=setting.seed, device=place)
    batches = _batches(setting, batch_size, place)
    rotation = Rotation(batches)

    def step() -> Any:
        images, labels = rotation.take()
        # As in a network, where the layer before the block learns too: gradients reach its input, which is no leaf.
        leaf = images.detach().requires_grad_()
        return trainer.train_on(leaf.view_as(leaf), labels)

    def reset() -> None:
        trainer.reset()
        rotation.restart()

    images = batches[0][0]
    return trainer.arm(
        step,
        inception(fused=branches == "fused", classes=CLASSES),
        len(images),
        read_bytes=images.nbytes,
        reset=reset,
        checked_steps=2,  # the second step's output shows what the first one learnt
        close=made.close,
        inputs=rotation.shown,
    )


def _batches(setting: Setting, batch_size: int | None, device: Any) -> list[tuple[Any, Any]]:
    """Return batches of images and labels on the device."""
    import torch

    from harness.workloads.data.rotation import VARIANTS
    from harness.workloads.torch.inception_block import CHANNELS, SIDE

    size = batch_size or setting.choose(small=2, full=32)
    generator = torch.Generator().manual_seed(setting.seed)

    def batch() -> tuple[Any, Any]:
        images = torch.randn(size, CHANNELS, SIDE, SIDE, generator=generator)
        return images.to(device), torch.randint(CLASSES, (size,), generator=generator).to(device)

    return [batch() for _ in range(VARIANTS)]
