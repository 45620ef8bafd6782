"""SciPy's image functions for stacks of planes. Needs SciPy."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import ndimage

gaussian_filter = ndimage.gaussian_filter


def zoom(stack: Any, factors: tuple[float, ...], **options: Any) -> Any:
    """Return the planes of a stack, shape ``(planes, height, width)``, zoomed one by one.

    In three dimensions at once SciPy would weigh eight neighbours of every pixel, of which four count.
    """
    return np.stack([ndimage.zoom(plane, factors[1:], **options) for plane in stack])
