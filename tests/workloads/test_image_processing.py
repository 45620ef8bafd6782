"""Image operations agree between libraries and with a float64 reference, which refuses what is slightly wrong."""

from typing import Any

import numpy as np
import pytest
import torch
from matplotlib.colors import rgb_to_hsv
from scipy import ndimage

import accelbench.workloads  # noqa: F401  fills the catalogue
from accelbench.core import Arm, Setting, find_workload
from accelbench.core.verification import relative_error
from accelbench.errors import BadInput
from accelbench.frameworks import load
from accelbench.measuring.checks import output as check
from accelbench.schema.reasons import Reason
from accelbench.workloads.arrays import images
from accelbench.workloads.arrays.libraries import find_library
from accelbench.workloads.arrays.ndimage import TorchImages

framework = load("torch")
NAMES = ["gaussian-blur", "image-resize", "colour-conversion", "histogram"]


def verdict(arm: Arm) -> Reason | str | None:
    return arm.verify(check.output_of(arm, framework))


@pytest.mark.parametrize("name", NAMES)
def test_numpy_and_pytorch_agree_with_each_other_and_with_the_reference(name: str) -> None:
    arms = [find_workload(name).build(Setting(), frames=2, array_library=library) for library in ("numpy", "torch-cpu")]
    outputs = [check.output_of(arm, framework) for arm in arms]
    assert relative_error(outputs[1], outputs[0]) < 1e-5
    assert [arm.verify(output) for arm, output in zip(arms, outputs, strict=True)] == [None, None]
    assert arms[0].items == 2 * 256 * 384
    assert arms[0].step().dtype in (np.float32, np.int64)


@pytest.mark.parametrize("name", NAMES)
def test_the_photographs_vary_from_step_to_step(name: str) -> None:
    arm = find_workload(name).build(Setting())
    assert relative_error(*(framework.to_host(arm.step()) for _ in "ab")) > 0.05


def test_hue_saturation_and_value_are_those_of_others() -> None:
    colours = np.random.default_rng(0).random((1, 3, 50, 50))
    colours[..., 0, :] = [[0.5], [0.5], [0.5]]  # grey
    colours[..., 1, :] = 0  # black
    hsv = images.to_hsv(find_library("numpy"), colours)
    np.testing.assert_allclose(np.moveaxis(hsv, 1, -1), rgb_to_hsv(np.moveaxis(colours, 1, -1)), atol=1e-12)


def wrapped_blur(_: Any, stack: Any) -> Any:
    return ndimage.gaussian_filter(stack, images.SIGMA_PX, axes=(2, 3), mode="wrap")


def aligned_resize(_: Any, stack: Any) -> Any:
    planes = stack.reshape(-1, *stack.shape[2:])
    return ndimage.zoom(planes, (1, images.FACTOR, images.FACTOR), order=1, mode="nearest")


def swapped_colours(library: Any, stack: Any) -> Any:
    return images.to_hsv(library, stack[:, ::-1])


def forgotten_row(library: Any, stack: Any) -> Any:
    return images.count_levels(library, stack[:, :, 1:])


@pytest.mark.parametrize(
    ("wrong", "reference", "options"),
    [
        (wrapped_blur, images.blurred, {}),
        (aligned_resize, images.resized, {}),
        (swapped_colours, lambda stack: stack, {"undo": images.to_rgb}),
        (forgotten_row, images.counted, {"tolerance": 0.0}),
    ],
    ids=["border", "half-a-pixel", "swapped-colours", "forgotten-row"],
)
def test_what_is_slightly_wrong_is_refused(wrong: Any, reference: Any, options: Any) -> None:
    arm = images.processed(Setting(), 1, "numpy", wrong, reference, **options)
    assert "differs from the float64 reference's by" in str(verdict(arm))


def test_pytorch_says_which_conventions_it_follows() -> None:
    stack = torch.rand(1, 8, 8)
    with pytest.raises(BadInput, match="nearest borders, got \\(1, 2\\) and 'wrap'"):
        TorchImages().gaussian_filter(stack, 1.0, axes=(1, 2), mode="wrap")
    with pytest.raises(BadInput, match="got 3, 'nearest' and True"):
        TorchImages().zoom(stack, (1, 2, 2), order=3, mode="nearest", grid_mode=True)


def test_a_number_of_frames_that_is_no_count_is_refused_in_one_line() -> None:
    with pytest.raises(BadInput, match="frames must be a whole number from 1, got 0"):
        find_workload("histogram").build(Setting(), frames=0)
