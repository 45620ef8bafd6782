"""Models as training leaves them, for what comes after it, without training them. Needs PyTorch."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn

from harness.workloads.torch.models import Problem


def as_trained(problem: Problem, *, seed: int) -> Any:
    """Return the problem's model, ready to answer, with batch normalisation of random scale and statistics.

    A new ResNet scales its residual branches by zero, so that its answer would not show whether they were computed.
    """
    torch.manual_seed(seed)
    model = problem.model()
    for module in model.modules():
        if isinstance(module, nn.BatchNorm2d):
            nn.init.uniform_(module.weight, 0.5, 1.0)
            nn.init.normal_(module.running_mean, std=0.1)
            nn.init.uniform_(module.running_var, 0.5, 1.5)
    return model.eval()


def logits_of(model: Any, inputs: Any) -> Any:
    """Return the model's answer, whether it comes bare or in a model output of `transformers`."""
    output = model(inputs)
    return output if isinstance(output, torch.Tensor) else output.logits
