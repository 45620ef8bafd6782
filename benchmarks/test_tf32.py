"""What does TensorFloat-32 bring, and what does it cost in accuracy?

The baseline computes products and convolutions in float32 throughout, which PyTorch by itself does for products only.
Elementwise operations have neither: the control.
"""

import pytest

from harness import toggles


@pytest.mark.parametrize("workload", ["bert-train", "resnet50-train", "matmul-torch", "chain-torch"])
@toggles("torch", "tf32")
def test_tf32(measure, workload, tf32):
    measure(workload, tf32=tf32)
