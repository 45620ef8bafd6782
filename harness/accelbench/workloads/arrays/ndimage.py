"""Blur and zoom of stacks of planes by the conventions of ``scipy.ndimage``, in SciPy and in PyTorch.

A stack has the shape ``(planes, height, width)``. Either framework is imported where it computes.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from accelbench.errors import BadInput

TRUNCATE = 4.0  # standard deviations, at which SciPy cuts the kernel off


class SciPyImages:
    """SciPy's functions for NumPy's arrays."""

    def gaussian_filter(self, stack: Any, sigma: float, **options: Any) -> Any:
        """Return the planes of a stack blurred."""
        from scipy import ndimage

        return ndimage.gaussian_filter(stack, sigma, **options)

    def zoom(self, stack: Any, factors: tuple[float, ...], **options: Any) -> Any:
        """Return the planes of a stack zoomed one by one.

        In three dimensions at once SciPy would weigh eight neighbours of every pixel, of which four count.
        """
        from scipy import ndimage

        return np.stack([ndimage.zoom(plane, factors[1:], **options) for plane in stack])


class TorchImages:
    """The same for PyTorch's tensors, as far as workloads use it."""

    def gaussian_filter(self, stack: Any, sigma: float, *, axes: tuple[int, ...], mode: str) -> Any:
        """Return the planes of a stack blurred by two convolutions with a vector.

        Raises:
            BadInput: other axes than the last two, or another border than the nearest pixel's.
        """
        from torch.nn.functional import conv2d, pad

        if (axes, mode) != ((1, 2), "nearest"):
            raise BadInput(f"blurs along axes (1, 2) with nearest borders, got {axes} and {mode!r}")
        kernel = _kernel(sigma, stack.device)
        planes, radius = len(stack), len(kernel) // 2
        # Every plane is a channel of its own, since convolutions from one channel to one are slow on a CPU.
        padded = pad(stack[None], (radius, radius, radius, radius), mode="replicate")
        down = conv2d(padded, kernel.view(1, 1, -1, 1).expand(planes, 1, -1, 1), groups=planes)
        return conv2d(down, kernel.view(1, 1, 1, -1).expand(planes, 1, 1, -1), groups=planes)[0]

    def zoom(self, stack: Any, factors: tuple[float, ...], *, order: int, mode: str, grid_mode: bool) -> Any:
        """Return the planes of a stack zoomed by linear interpolation.

        Pixels are squares whose borders stay where they are: ``grid_mode`` in SciPy, corners not aligned in PyTorch.

        Raises:
            BadInput: another interpolation than linear, another border than the nearest pixel's, or pixels that are
                points.
        """
        from torch.nn.functional import interpolate

        if (order, mode, grid_mode) != (1, "nearest", True):
            raise BadInput(f"zooms with order 1, nearest borders and grid_mode, got {order}, {mode!r} and {grid_mode}")
        size = [round(length * factor) for length, factor in zip(stack.shape[1:], factors[1:], strict=True)]
        return interpolate(stack[None], size=size, mode="bilinear", align_corners=False)[0]


@cache
def _kernel(sigma: float, device: Any) -> Any:
    import torch

    radius = int(TRUNCATE * sigma + 0.5)
    weights = torch.exp(-(torch.arange(-radius, radius + 1, dtype=torch.float64) ** 2) / (2 * sigma**2))
    return (weights / weights.sum()).float().to(device)
