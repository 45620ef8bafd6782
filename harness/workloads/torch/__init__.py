"""What PyTorch computes. Importing declares it, and does not import PyTorch."""

from harness.workloads.torch import (
    burdened_training,
    checkpoints,
    copies,
    digits_training,
    evaluation,
    image_pipeline,
    inception,
    logged_training,
    operations,
    overlap,
    stacked_resnet50,
    stacked_training,
    tabular_training,
    training,
)

__all__ = [
    "burdened_training",
    "checkpoints",
    "copies",
    "digits_training",
    "evaluation",
    "image_pipeline",
    "inception",
    "logged_training",
    "operations",
    "overlap",
    "stacked_resnet50",
    "stacked_training",
    "tabular_training",
    "training",
]
