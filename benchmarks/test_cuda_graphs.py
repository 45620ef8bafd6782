"""What does it bring to launch a model's kernels as one recorded graph?

Batches are so small that the host takes longer to launch than the device to compute. With a large batch the device is
busy while the host launches: the control.
"""

import pytest

from accelbench import toggles


@pytest.mark.parametrize(
    ("workload", "batch_size"), [("resnet18-train", "1"), ("bert-train", "8"), ("resnet50-train", "64")]
)
@toggles("torch", "cuda_graphs")
def test_cuda_graphs(measure, workload, batch_size):
    measure(workload, batch_size=batch_size)
