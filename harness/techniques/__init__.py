"""What can be switched. Importing this package declares every technique, and imports no framework."""

from harness.techniques import cupy, numpy, tensorflow, torch, vectorise

__all__ = ["cupy", "numpy", "tensorflow", "torch", "vectorise"]
