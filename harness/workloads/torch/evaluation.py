"""Evaluation of image classifiers, batch by batch, on random data.

Every arm evaluates in ``eval()`` mode. Training mode is not compared with it, since it answers something else: it
normalises by the batch at hand instead of the statistics that training gathered.
"""

from __future__ import annotations

from typing import Any

from harness.errors import BadInput
from harness.experiment import Arm, Setting, workload

GRADIENTS = ("grad", "no-grad", "inference-mode")


@workload("torch", unit="image")
def cnn_evaluation(
    setting: Setting, *, batch_size: int | None = None, device: str | None = None, gradients: str = "inference-mode"
) -> Arm:
    """Evaluation of a small CNN, convolutions 3-16-32 and two linear layers, on a batch of 32×32 images."""
    from harness.workloads.torch import models

    return _arm(setting, models.cnn(), batch_size or setting.choose(small=32, full=256), device, gradients)


@workload("torch", unit="image")
def resnet18_evaluation(
    setting: Setting, *, batch_size: int | None = None, device: str | None = None, gradients: str = "inference-mode"
) -> Arm:
    """Evaluation of ResNet-18 on a batch of images, 48×48 at small size and 224×224 at full."""
    from harness.workloads.torch import models

    problem = models.resnet18(**setting.choose(small={"side": 48, "classes": 10}, full={"side": 224, "classes": 1000}))
    return _arm(setting, problem, batch_size or setting.choose(small=4, full=128), device, gradients)


@workload("torch", unit="image")
def resnet50_evaluation(
    setting: Setting, *, batch_size: int | None = None, device: str | None = None, gradients: str = "inference-mode"
) -> Arm:
    """Evaluation of ResNet-50 v1.5 on a batch of images, 64×64 at small size and 224×224 at full."""
    from harness.workloads.torch import models

    problem = models.resnet50(**setting.choose(small={"side": 64, "classes": 10}, full={"side": 224, "classes": 1000}))
    return _arm(setting, problem, batch_size or setting.choose(small=2, full=128), device, gradients)


@workload("torch", unit="row")
def mlp_evaluation(
    setting: Setting, *, batch_size: int | None = None, device: str | None = None, gradients: str = "inference-mode"
) -> Arm:
    """Evaluation of the sequential network 784-128-10: few operations, over which little is kept for gradients."""
    from harness.workloads.torch import models

    return _arm(setting, models.mlp(), batch_size or setting.choose(small=1024, full=65536), device, gradients)


def _arm(setting: Setting, problem: Any, batch_size: int, device: str | None, gradients: str) -> Arm:
    """Return the arm that answers a few batches in turn and returns the loss and the logits."""
    if gradients not in GRADIENTS:
        raise BadInput(f"unknown treatment of gradients {gradients!r}; expected one of: {', '.join(GRADIENTS)}")
    import torch
    from torch.nn.functional import cross_entropy

    from harness.workloads.data.rotation import VARIANTS, Rotation
    from harness.workloads.torch import devices
    from harness.workloads.torch.trained_models import as_trained, logits_of

    place = devices.chosen(device)
    model = as_trained(problem, seed=setting.seed).to(place)
    generator = torch.Generator().manual_seed(setting.seed)
    batches = [problem.batch(batch_size, generator) for _ in range(VARIANTS)]
    rotation = Rotation([(inputs.to(place), labels.to(place)) for inputs, labels in batches])

    def step() -> Any:
        inputs, labels = rotation.take()
        logits = logits_of(model, inputs)
        return cross_entropy(logits, labels), logits

    parameters = list(model.parameters())
    arm = Arm(
        step=step,
        items=batch_size,
        reset=rotation.restart,
        device=devices.label(place),
        inputs=rotation.shown,
        parameters=lambda: parameters,
        work=problem.network.answering(
            batch_size,
            memory_bytes=batch_size * problem.item_bytes + sum(weight.nbytes for weight in parameters),
        ),
    )
    return arm.inside({"grad": torch.enable_grad, "no-grad": torch.no_grad}.get(gradients, torch.inference_mode))
