"""Array computations, each written once for NumPy, CuPy and PyTorch. Importing declares them."""

from harness.workloads.arrays import (
    chain,
    computations,
    cupy_streams,
    image_processing,
    monte_carlo,
    particles,
    stencils,
    vectorising,
)

__all__ = [
    "chain",
    "computations",
    "cupy_streams",
    "image_processing",
    "monte_carlo",
    "particles",
    "stencils",
    "vectorising",
]
