"""What does a Python loop cost against array expressions, and do batched matrix products gain more?"""

import pytest

from harness import toggles

WORKLOADS = ["distance-matrix", "row-normalisation"]


@pytest.mark.parametrize("workload", WORKLOADS)
@toggles("numpy", "vectorise")
def test_vectorise_numpy(measure, workload, vectorise):
    measure(workload, vectorise=vectorise)


@pytest.mark.parametrize("array_library", ["torch-cpu", "torch-accelerator"])
@pytest.mark.parametrize("workload", WORKLOADS)
@toggles("torch", "vectorise")
def test_vectorise_torch(measure, workload, array_library, vectorise):
    measure(workload, array_library=array_library, vectorise=vectorise)


@pytest.mark.parametrize("workload", WORKLOADS)
@toggles("cupy", "vectorise")
def test_vectorise_cupy(measure, workload, vectorise):
    measure(workload, array_library="resident", vectorise=vectorise)
