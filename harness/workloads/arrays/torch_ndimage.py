"""Blur and zoom in PyTorch by the conventions of ``scipy.ndimage``. Needs PyTorch."""

from __future__ import annotations

from functools import cache
from typing import Any

import torch
from torch.nn.functional import conv2d, interpolate, pad

from harness.errors import BadInput

TRUNCATE = 4.0  # standard deviations, at which SciPy cuts the kernel off


def gaussian_filter(stack: Any, sigma: float, *, axes: tuple[int, ...], mode: str) -> Any:
    """Return the planes of a stack, shape ``(planes, height, width)``, blurred as two convolutions with a vector.

    Raises:
        BadInput: other axes than the last two, or another border than the nearest pixel's.
    """
    if (axes, mode) != ((1, 2), "nearest"):
        raise BadInput(f"blurs along axes (1, 2) with nearest borders, got {axes} and {mode!r}")
    kernel = _kernel(sigma, stack.device)
    planes, radius = len(stack), len(kernel) // 2
    # Every plane is a channel of its own, since convolutions from one channel to one are slow on a CPU.
    padded = pad(stack[None], (radius, radius, radius, radius), mode="replicate")
    down = conv2d(padded, kernel.view(1, 1, -1, 1).expand(planes, 1, -1, 1), groups=planes)
    return conv2d(down, kernel.view(1, 1, 1, -1).expand(planes, 1, 1, -1), groups=planes)[0]


@cache
def _kernel(sigma: float, device: Any) -> Any:
    radius = int(TRUNCATE * sigma + 0.5)
    weights = torch.exp(-(torch.arange(-radius, radius + 1, dtype=torch.float64) ** 2) / (2 * sigma**2))
    return (weights / weights.sum()).float().to(device)


def zoom(stack: Any, factors: tuple[float, ...], *, order: int, mode: str, grid_mode: bool) -> Any:
    """Return the planes of a stack, shape ``(planes, height, width)``, zoomed by linear interpolation.

    Pixels are squares whose borders stay where they are: ``grid_mode`` in SciPy, corners not aligned in PyTorch.

    Raises:
        BadInput: another interpolation than linear, another border than the nearest pixel's, or pixels that are points.
    """
    if (order, mode, grid_mode) != (1, "nearest", True):
        raise BadInput(f"zooms with order 1, nearest borders and grid_mode, got {order}, {mode!r} and {grid_mode}")
    size = [round(length * factor) for length, factor in zip(stack.shape[1:], factors[1:], strict=True)]
    return interpolate(stack[None], size=size, mode="bilinear", align_corners=False)[0]
