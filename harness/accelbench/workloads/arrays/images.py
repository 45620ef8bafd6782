"""Image and video processing on stacks of photographs: blur, resize, colour, histogram.

A stack has the shape ``(frames, 3, height, width)``, red, green and blue, float32 in [0, 1].
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import numpy as np
from array_api_compat import device

from accelbench.core import Arm, Setting, workload
from accelbench.core.verification import find_distance
from accelbench.errors import BadInput
from accelbench.schema.reasons import Reason
from accelbench.workloads.arrays.libraries import INPUT_SETS, ArrayLibrary, find_library
from accelbench.workloads.data.images import load_photographs

SIGMA_PX = 2.0
FACTOR = 0.625  # of both sides; every height and width below comes out whole
BINS = 256
BLUR = 2 * (9 + 16)  # per number: in each direction a symmetric kernel of 17 takes 9 products and 16 sums
TOLERANCE = 2e-3  # far above rounding; a wrong border costs ten times as much

Compute = Callable[[ArrayLibrary, Any], Any]
Reference = Callable[[np.ndarray], np.ndarray]


@workload("numpy", "cupy", "torch", unit="pixel")
def gaussian_blur(setting: Setting, *, frames: int = 1, array_library: str = "numpy") -> Arm:
    """Gaussian blur of photographs, standard deviation 2 px: SciPy's filter, CuPy's, or PyTorch's convolution."""
    return processed(setting, frames, array_library, blur, blurred, operations=BLUR)


@workload("numpy", "cupy", "torch", unit="pixel")
def image_resize(setting: Setting, *, frames: int = 1, array_library: str = "numpy") -> Arm:
    """Photographs scaled to 5/8 of their sides by linear interpolation."""
    return processed(setting, frames, array_library, resize, resized, outputs=FACTOR**2)


@workload("numpy", "cupy", "torch", unit="pixel")
def colour_conversion(setting: Setting, *, frames: int = 1, array_library: str = "numpy") -> Arm:
    """Photographs from red, green and blue to hue, saturation and value."""
    return processed(setting, frames, array_library, to_hsv, lambda stack: stack, undo=to_rgb)


@workload("numpy", "cupy", "torch", unit="pixel")
def histogram(setting: Setting, *, frames: int = 1, array_library: str = "numpy") -> Arm:
    """How often each of 256 levels occurs in each colour of photographs."""
    return processed(setting, frames, array_library, count_levels, counted, tolerance=0.0, outputs=0)


def processed(
    setting: Setting,
    frames: int,
    array_library: str,
    compute: Compute,
    reference: Reference,
    undo: Reference = lambda output: output,
    tolerance: float = TOLERANCE,
    operations: int = 0,
    outputs: float = 1,
) -> Arm:
    """Return the arm that processes photographs, and refuses what a float64 reference does not confirm.

    ``undo`` is applied to the output before it is compared with the reference. ``operations`` and ``outputs`` say how
    many operations each number of a stack takes, and how many numbers come out for it.
    """
    if not isinstance(frames, int) or frames < 1:
        raise BadInput(f"frames must be a whole number from 1, got {frames!r}")
    library = find_library(array_library)
    rng = np.random.default_rng(setting.seed)
    shape = setting.choose(small=(256, 384), full=(400, 600))
    stacks = [_photographs(rng, frames, *shape) for _ in range(INPUT_SETS)]

    @cache
    def expected() -> np.ndarray:
        return reference(stacks[0].astype(np.float64))

    def verify(output: Sequence[np.ndarray]) -> Reason | None:
        return find_distance(undo(output[0]), expected(), tolerance, "the float64 reference's")

    return library.arm(
        lambda stack: compute(library, stack),
        [(stack,) for stack in stacks],
        items=frames * shape[0] * shape[1],
        verify=verify,
        operations=operations * stacks[0].size,
        output_bytes=int(outputs * stacks[0].nbytes),
    )


def blur(library: ArrayLibrary, stack: Any) -> Any:
    """Return the stack blurred; beyond the border the nearest pixel goes on."""
    planes = _planes(library, stack)
    return library.xp.reshape(
        library.ndimage.gaussian_filter(planes, SIGMA_PX, axes=(1, 2), mode="nearest"), stack.shape
    )


def resize(library: ArrayLibrary, stack: Any) -> Any:
    """Return the planes scaled; pixels are squares whose borders stay where they are."""
    factors = (1, FACTOR, FACTOR)
    return library.ndimage.zoom(_planes(library, stack), factors, order=1, mode="nearest", grid_mode=True)


def to_hsv(library: ArrayLibrary, stack: Any) -> Any:
    """Return hue, saturation and value, all in [0, 1]; Smith 1978, Color gamut transform pairs, SIGGRAPH."""
    xp = library.xp
    red, green, blue = stack[:, 0], stack[:, 1], stack[:, 2]
    value = xp.max(stack, axis=1)
    chroma = value - xp.min(stack, axis=1)
    divisor = xp.where(chroma > 0, chroma, 1.0)
    among_three = xp.where(value == green, 2 + (blue - red) / divisor, 4 + (red - green) / divisor)
    hue = xp.where(value == red, (green - blue) / divisor, among_three) / 6
    saturation = chroma / xp.where(value > 0, value, 1.0)
    return xp.stack([hue - xp.floor(hue), saturation, value], axis=1)


def count_levels(library: ArrayLibrary, stack: Any) -> Any:
    """Return counts, shape ``(3, BINS)``."""
    xp = library.xp
    level = xp.floor(stack * BINS)
    level = xp.where(level < BINS, level, BINS - 1.0)
    colour = xp.arange(0, 3 * BINS, BINS, dtype=stack.dtype, device=device(stack))
    place = xp.astype(level + colour[:, None, None], xp.int64)
    return xp.reshape(xp.bincount(xp.reshape(place, (-1,)), minlength=3 * BINS), (3, BINS))


def blurred(stack: np.ndarray) -> np.ndarray:
    """Return what ``blur`` should, as products with the matrices that mix rows and columns."""
    height, width = (_mixing(length) for length in stack.shape[2:])
    return np.asarray(height @ stack @ width.T)


def resized(stack: np.ndarray) -> np.ndarray:
    """Return what ``resize`` should, as products with the matrices that interpolate rows and columns."""
    height, width = (_interpolating(length) for length in stack.shape[2:])
    return np.asarray(height @ stack @ width.T).reshape(-1, len(height), len(width))


def to_rgb(hsv: np.ndarray) -> np.ndarray:
    """Return red, green and blue of hue, saturation and value: the way back, by a formula of its own.

    Each colour is V − V·S·max(0, min(k, 4 − k, 1)), where k = (n + 6·H) mod 6 and n is 5, 3 and 1.
    """
    hue, saturation, value = hsv[:, 0], hsv[:, 1], hsv[:, 2]
    sectors = [(n + 6 * hue) % 6 for n in (5, 3, 1)]
    return np.stack([value - value * saturation * np.clip(np.minimum(k, 4 - k), 0, 1) for k in sectors], axis=1)


def counted(stack: np.ndarray) -> np.ndarray:
    """Return what ``count_levels`` should."""
    return np.stack([np.histogram(stack[:, colour], bins=BINS, range=(0, 1))[0] for colour in range(3)])


def _planes(library: ArrayLibrary, stack: Any) -> Any:
    return library.xp.reshape(stack, (-1, *stack.shape[2:]))


def _mixing(length: int) -> np.ndarray:
    radius = int(4 * SIGMA_PX + 0.5)
    offsets = np.arange(-radius, radius + 1)
    weights = np.exp(-(offsets**2) / (2 * SIGMA_PX**2))
    matrix = np.zeros((length, length))
    rows = np.arange(length)[:, None]
    np.add.at(matrix, (rows, np.clip(rows + offsets, 0, length - 1)), weights / weights.sum())
    return matrix


def _interpolating(length: int) -> np.ndarray:
    centres = (np.arange(round(length * FACTOR)) + 0.5) / FACTOR - 0.5
    return np.stack([np.interp(centres, np.arange(length), pixel) for pixel in np.eye(length)], axis=1)


def _photographs(rng: np.random.Generator, frames: int, height: int, width: int) -> np.ndarray:
    """Return pieces of scikit-learn's two photographs, cut out at random."""
    photographs = list(load_photographs().values())
    stack = np.empty((frames, 3, height, width), dtype=np.float32)
    for frame in stack:
        photograph = photographs[rng.integers(len(photographs))]
        top, left = (rng.integers(room + 1) for room in np.subtract(photograph.shape[:2], (height, width)))
        frame[:] = photograph[top : top + height, left : left + width].transpose(2, 0, 1) / np.float32(255)
    return stack
