"""What does a Python loop cost against array expressions, and do batched matrix products or a compiler gain more?

One pass over the operands saves temporary arrays where an expression is sums and products. Exponential and sine are the
control: NumPy has vector instructions for them, and what is compiled here has not.
"""

import pytest

from accelbench import toggles

WORKLOADS = ["distance-matrix", "row-normalisation"]


@pytest.mark.parametrize("workload", WORKLOADS)
@toggles("numpy", "vectorise")
def test_vectorise_numpy(measure, workload):
    measure(workload)


@pytest.mark.parametrize(
    ("workload", "elements"),
    [("polynomial", 10**4), ("polynomial", 10**6), ("polynomial", 10**7), ("elementwise-chain", 10**6)],
)
@toggles("numpy", "expression_compiler")
def test_expression_compiler(measure, workload, elements):
    measure(workload, elements=elements)


@pytest.mark.parametrize("array_library", ["torch-cpu", "torch-accelerator"])
@pytest.mark.parametrize("workload", WORKLOADS)
@toggles("torch", "vectorise")
def test_vectorise_torch(measure, workload, array_library):
    measure(workload, array_library=array_library)


@pytest.mark.parametrize("workload", WORKLOADS)
@toggles("cupy", "vectorise")
def test_vectorise_cupy(measure, workload):
    measure(workload, array_library="resident")
