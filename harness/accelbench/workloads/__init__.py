"""What is computed. Importing this package declares every workload, and imports no framework."""

from accelbench.workloads import arrays, tensorflow, torch

__all__ = ["arrays", "tensorflow", "torch"]
