"""Array computations, each written once for NumPy, CuPy and PyTorch. Importing declares them."""

from harness.workloads.arrays import (
    computations,
    image_processing,
    monte_carlo,
    particles,
    stencils,
    vectorising,
)

__all__ = [
    "computations",
    "image_processing",
    "monte_carlo",
    "particles",
    "stencils",
    "vectorising",
]
