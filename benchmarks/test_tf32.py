"""What does TensorFloat-32 bring, and what does it cost in accuracy?

The baseline computes products and convolutions in float32 throughout, as all of the suite does; PyTorch by itself would
convolve in TensorFloat-32. Elementwise operations have neither: the control.
"""

import pytest

from accelbench import toggles


@pytest.mark.parametrize(
    "workload", ["bert-train", pytest.param("resnet50-train", marks=pytest.mark.slow), "matmul-torch", "chain-torch"]
)
@toggles("torch", "tf32")
def test_tf32(measure, workload):
    measure(workload)
