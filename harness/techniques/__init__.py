"""What can be switched, one file per framework; importing this package fills the catalogue."""

from harness.techniques import cupy, numpy

__all__ = ["cupy", "numpy"]
