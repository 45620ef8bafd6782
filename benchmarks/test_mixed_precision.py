"""Does mixed precision pay, and what does it cost in accuracy and memory? The tiny MLP is the control.

In a batch of 256 images, activations are nearly all of the small CNN's memory: this is where half could be saved.

What it brings depends on what is there already. ResNet-50 is trained once more while cuDNN searches for its algorithms,
as published figures have it, and once with TensorFloat-32, channels last and compiling too; those arms need an NVIDIA
GPU and skip elsewhere.
"""

import pytest

from accelbench import toggles


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
def test_mixed_precision(measure, workload):
    measure(workload)


@toggles("torch", "amp", levels=("fp32", "bf16"))
def test_mixed_precision_of_activations(measure):
    measure("cnn-train", batch_size="256")


@pytest.mark.slow
@toggles("torch", "amp")
def test_mixed_precision_searched(measure):
    measure("resnet50-train", cudnn_benchmark="on")


@pytest.mark.slow
@toggles("torch", "amp")
def test_mixed_precision_compiled(measure):
    measure("resnet50-train", cudnn_benchmark="on", tf32="high", memory_format="channels-last", compile="default")


@pytest.mark.parametrize("workload", ["cnn-train-keras", pytest.param("resnet50-train-keras", marks=pytest.mark.slow)])
@toggles("tensorflow", "mixed_precision")
def test_mixed_precision_keras(measure, workload):
    measure(workload)
