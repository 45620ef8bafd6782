"""From which size on does CuPy beat NumPy: with the data resident, copied there and back in every step, or fused?"""

import pytest

from accelbench import toggles


@pytest.mark.parametrize("elements", [10**3, 10**4, 10**5, 10**6, 10**7, 10**8])
@pytest.mark.parametrize("workload", ["vector-add", "elementwise-chain", "matrix-product", "fft", "sort", "reduction"])
@toggles("cupy", "array_library")
def test_cupy_numpy(measure, workload, elements):
    measure(workload, elements=elements)


@pytest.mark.parametrize("elements", [10**3, 10**4, 10**5, 10**6])  # of larger ones NumPy's take minutes
@toggles("cupy", "array_library")
def test_singular_values(measure, elements):
    measure("svd", elements=elements)
