"""What PyTorch computes. Importing declares it, and does not import PyTorch."""

from accelbench.workloads.torch import checkpoints, inference, operations, overlap, training_workloads

__all__ = ["checkpoints", "inference", "operations", "overlap", "training_workloads"]
