"""Does it pay on CuPy to join operations in one kernel, to keep freed memory, to launch on several streams?

A small array is done before the next kernel is launched: one kernel then saves the launches, and on a large array the
memory traffic between them. A sum is one kernel already. Without its pool CuPy asks the driver for the memory of every
result, which weighs little beside a large matrix product. Streams have nothing to fill where one kernel fills the
device. All of it needs CUDA: elsewhere every arm skips, saying so.
"""

import pytest

from accelbench import toggles


@pytest.mark.parametrize("elements", [10**4, 10**7])
@pytest.mark.parametrize("workload", ["elementwise-chain", "vector-add"])
@toggles("cupy", "kernels")
def test_kernels(measure, workload, elements):
    measure(workload, elements=elements)


@pytest.mark.parametrize(("workload", "elements"), [("elementwise-chain", 10**4), ("matrix-product", 10**7)])
@toggles("cupy", "memory_pool")
def test_memory_pool(measure, workload, elements):
    measure(workload, elements=elements, array_library="resident")


@pytest.mark.parametrize("elements", [10**5, 10**7])
@toggles("cupy", "streams")
def test_streams(measure, elements):
    measure("independent-chains-cupy", elements=elements)
