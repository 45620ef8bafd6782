"""Which batch size gives the most throughput, from which one on does it hardly grow, and where does memory end?

Arms are compared per item. Every size runs full training steps, so the limit found here holds in use.
"""

import pytest

from accelbench import toggles


@pytest.mark.parametrize(
    "workload",
    [
        "cnn-train",
        pytest.param("resnet18-train", marks=pytest.mark.slow),
        pytest.param("resnet50-train", marks=pytest.mark.slow),
    ],
)
@toggles("torch", "batch_size")
def test_batch_size(measure, workload):
    measure(workload)


@toggles("tensorflow", "batch_size")
def test_batch_size_keras(measure):
    measure("cnn-train-keras")
