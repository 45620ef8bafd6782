"""Array computations, each written once for NumPy, CuPy and PyTorch. Importing declares them."""

from accelbench.workloads.arrays import computations, images, simulations, vectorising

__all__ = ["computations", "images", "simulations", "vectorising"]
