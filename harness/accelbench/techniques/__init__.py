"""What can be switched. Importing this package declares every technique, and imports no framework."""

from accelbench.techniques import cupy, ladders, numpy, shared, tensorflow, torch

__all__ = ["cupy", "ladders", "numpy", "shared", "tensorflow", "torch"]
