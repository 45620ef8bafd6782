"""What TensorFlow and Keras compute. Importing declares it, and does not import TensorFlow."""

from harness.workloads.tensorflow import (
    digits_training,
    image_pipeline,
    inception,
    operations,
    stacked_training,
    training,
)

__all__ = [
    "digits_training",
    "image_pipeline",
    "inception",
    "operations",
    "stacked_training",
    "training",
]
