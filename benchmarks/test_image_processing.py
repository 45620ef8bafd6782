"""Do blur, resize, colour conversion and histograms pay on CuPy or PyTorch, for one photograph and for a stack?

Every arm's answer must agree with a float64 reference, NumPy's and SciPy's too.
"""

import pytest

from accelbench import toggles

WORKLOADS = ["gaussian-blur", "image-resize", "colour-conversion", "histogram"]


@pytest.mark.parametrize("frames", [1, 8])
@pytest.mark.parametrize("workload", WORKLOADS)
@toggles("torch", "array_library")
def test_image_processing_torch(measure, workload, frames):
    measure(workload, frames=frames)


@pytest.mark.parametrize("frames", [1, 8])
@pytest.mark.parametrize("workload", WORKLOADS)
@toggles("cupy", "array_library")
def test_image_processing_cupy(measure, workload, frames):
    measure(workload, frames=frames)
