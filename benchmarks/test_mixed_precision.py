"""Does mixed precision pay, and what does it cost in accuracy and memory? The tiny MLP is the control."""

import pytest

from harness import toggles


@pytest.mark.parametrize(
    "workload", ["resnet18-train", pytest.param("resnet50-train", marks=pytest.mark.slow), "bert-train", "mlp-train"]
)
@toggles("torch", "amp")
def test_mixed_precision(measure, workload, amp):
    measure(workload, amp=amp)


@pytest.mark.parametrize("workload", ["cnn-train-keras", pytest.param("resnet50-train-keras", marks=pytest.mark.slow)])
@toggles("tensorflow", "mixed_precision")
def test_mixed_precision_keras(measure, workload, mixed_precision):
    measure(workload, mixed_precision=mixed_precision)
