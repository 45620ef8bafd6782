"""Evaluation of image classifiers, and of a block with branches, batch by batch on random data.

Every arm evaluates in ``eval()`` mode. Training mode gives another answer, since it normalises by the batch instead of
the statistics that training gathered, so it is not compared.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from accelbench.core import Arm, Setting, workload
from accelbench.errors import check_choice
from accelbench.workloads import networks

INFERENCE = ("grad", "no-grad", "inference-mode")


@workload("torch", unit="image")
def cnn_evaluation(
    setting: Setting, *, batch_size: int | None = None, device: str | None = None, inference: str = "inference-mode"
) -> Arm:
    """Evaluation of a small CNN, convolutions 3-16-32 and two linear layers, on a batch of 32×32 images."""
    from accelbench.workloads.torch import models

    return _evaluation(setting, models.cnn(), batch_size or setting.choose(small=32, full=256), device, inference)


@workload("torch", unit="image")
def resnet18_evaluation(
    setting: Setting, *, batch_size: int | None = None, device: str | None = None, inference: str = "inference-mode"
) -> Arm:
    """Evaluation of ResNet-18 on a batch of images, 48×48 at small size and 224×224 at full."""
    from accelbench.workloads.torch import models

    problem = models.resnet18(**setting.choose(small={"side": 48, "classes": 10}, full={"side": 224, "classes": 1000}))
    return _evaluation(setting, problem, batch_size or setting.choose(small=4, full=128), device, inference)


@workload("torch", unit="image")
def resnet50_evaluation(
    setting: Setting, *, batch_size: int | None = None, device: str | None = None, inference: str = "inference-mode"
) -> Arm:
    """Evaluation of ResNet-50 v1.5 on a batch of images, 64×64 at small size and 224×224 at full."""
    from accelbench.workloads.torch import models

    problem = models.resnet50(**setting.choose(small={"side": 64, "classes": 10}, full={"side": 224, "classes": 1000}))
    return _evaluation(setting, problem, batch_size or setting.choose(small=2, full=128), device, inference)


@workload("torch", unit="row")
def mlp_evaluation(
    setting: Setting, *, batch_size: int | None = None, device: str | None = None, inference: str = "inference-mode"
) -> Arm:
    """Evaluation of the sequential network 784-128-10: few operations, over which little is kept for gradients."""
    from accelbench.workloads.torch import models

    return _evaluation(setting, models.mlp(), batch_size or setting.choose(small=1024, full=65536), device, inference)


def _evaluation(setting: Setting, problem: Any, batch_size: int, device: str | None, inference: str) -> Arm:
    """Return the arm that returns the loss and the logits of a few batches in turn."""
    check_choice(inference, INFERENCE, "way of inference")
    import torch
    from torch.nn.functional import cross_entropy

    from accelbench.workloads.torch import devices
    from accelbench.workloads.torch.models import as_trained, logits_of

    place = devices.choose(device)
    model = as_trained(problem, seed=setting.seed).to(place)

    def answer(batch: tuple[Any, Any]) -> Any:
        inputs, labels = batch
        logits = logits_of(model, inputs)
        return cross_entropy(logits, labels), logits

    def draw(generator: Any) -> Any:
        return tuple(part.to(place) for part in problem.batch(batch_size, generator))

    arm = _arm(setting, answer, draw, list(model.parameters()), problem.network, batch_size, place)
    return arm.inside({"grad": torch.enable_grad, "no-grad": torch.no_grad}.get(inference, torch.inference_mode))


def _arm(
    setting: Setting,
    answer: Callable[[Any], Any],
    draw: Callable[[Any], Any],
    parameters: list[Any],
    network: networks.Network,
    items: int,
    place: Any,
) -> Arm:
    """Return the arm that answers a few batches in turn, which ``draw`` makes on the device ``place``."""
    import torch

    from accelbench.frameworks.tree import tree_leaves
    from accelbench.workloads.data.rotation import VARIANTS, Rotation
    from accelbench.workloads.torch import devices

    generator = torch.Generator().manual_seed(setting.seed)
    rotation = Rotation([draw(generator) for _ in range(VARIANTS)])
    read_bytes = sum(part.nbytes for part in [*tree_leaves(rotation.inputs()[0]), *parameters])
    return Arm(
        step=lambda: answer(rotation.take()),
        items=items,
        reset=rotation.restart,
        device=devices.label(place),
        inputs=rotation.inputs,
        parameters=lambda: parameters,
        work=network.answering(items, memory_bytes=read_bytes),
    )


@workload("torch", unit="image")
def inception_inference(
    setting: Setting, *, batch_size: int | None = None, device: str | None = None, branches: str = "serial"
) -> Arm:
    """Forward pass of GoogLeNet's Inception block 3a, or of one 3×3 convolution of about its cost, on 28×28 images.

    At once, each branch has a CUDA stream, or a thread and its share of the cores.
    """
    import torch

    from accelbench.workloads.torch import devices, inception

    place = devices.choose(device)
    made = inception.block(branches, place, setting.cores)
    torch.manual_seed(setting.seed)
    model = made.make().to(place).eval()
    size = batch_size or setting.choose(small=2, full=32)

    def draw(generator: Any) -> Any:
        return inception.images(size, generator).to(place)

    network = networks.inception(fused=made.is_fused)
    arm = _arm(setting, model, draw, list(model.parameters()), network, size, place)
    return replace(arm, close=made.close).inside(torch.inference_mode)
