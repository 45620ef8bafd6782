"""What does it cost that the C library returns large temporary arrays to the kernel, and pays for them again?"""

import pytest

from harness import toggles


@pytest.mark.parametrize("elements", [10**6])
@pytest.mark.parametrize("workload", ["elementwise-chain", "vector-add"])
@toggles("numpy", "malloc")
def test_allocator(measure, workload, elements, malloc):
    measure(workload, elements=elements, malloc=malloc)
