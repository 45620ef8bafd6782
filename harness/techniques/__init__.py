"""What can be switched. Importing this package declares every technique, and imports no framework."""

from harness.techniques import cupy, ladders, numpy, tensorflow, torch, vectorise

__all__ = ["cupy", "ladders", "numpy", "tensorflow", "torch", "vectorise"]
