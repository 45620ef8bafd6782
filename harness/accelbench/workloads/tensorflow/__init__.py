"""What TensorFlow and Keras compute. Importing declares it, and does not import TensorFlow."""

from accelbench.workloads.tensorflow import operations, training_workloads

__all__ = ["operations", "training_workloads"]
