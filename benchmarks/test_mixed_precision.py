"""Does mixed precision pay, and what does it cost in accuracy and memory? The tiny MLP is the control.

What it brings depends on what is there already: ResNet-50 is trained once more with all else that an NVIDIA GPU offers,
TensorFloat-32, channels last and compiling; elsewhere those arms skip.
"""

import pytest

from harness import toggles


@pytest.mark.parametrize(
    "workload",
    [
        "resnet18-train",
        pytest.param("resnet50-train", marks=pytest.mark.slow),
        "bert-train",
        pytest.param("bert-large-train", marks=pytest.mark.slow),
        "mlp-train",
    ],
)
@toggles("torch", "amp")
def test_mixed_precision(measure, workload, amp):
    measure(workload, amp=amp)


@pytest.mark.slow
@toggles("torch", "amp")
def test_mixed_precision_compiled(measure, amp):
    measure("resnet50-train", amp=amp, tf32="high", memory_format="channels-last", compile="default")


@pytest.mark.parametrize("workload", ["cnn-train-keras", pytest.param("resnet50-train-keras", marks=pytest.mark.slow)])
@toggles("tensorflow", "mixed_precision")
def test_mixed_precision_keras(measure, workload, mixed_precision):
    measure(workload, mixed_precision=mixed_precision)
