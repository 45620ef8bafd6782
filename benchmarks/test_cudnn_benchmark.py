"""Does it pay to let cuDNN try its algorithms before it convolves, rather than trust its heuristic?

What the search finds depends on shapes and precision. It happens once, in the first call of each shape, so its price is
the cold cost. The levels are compared between processes, since PyTorch keeps what the first of them chose.
"""

import pytest

from accelbench import toggles


@pytest.mark.parametrize(
    ("workload", "amp"),
    [
        ("cnn-train", "fp32"),
        pytest.param("resnet50-train", "fp32", marks=pytest.mark.slow),
        pytest.param("resnet50-train", "fp16", marks=pytest.mark.slow),
    ],
)
@toggles("torch", "cudnn_benchmark")
def test_cudnn_benchmark(measure, workload, amp):
    measure(workload, amp=amp)
