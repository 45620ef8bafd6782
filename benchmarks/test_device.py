"""From which size on is an accelerator faster than the CPU, and how much of the CPU was at work?

Matrices stay on the device, or are sent there and back in every step. CPU arms run with all cores, except where one
thread is the baseline.
"""

import pytest

from accelbench import toggles

# Of the batch that fills a GPU, a single thread takes ten seconds and more for a step: too long to be repeated.
FEWER = {"resnet18-train": {"batch_size": "4"}}


@pytest.mark.parametrize("data_location", ["resident", "round-trip"])
@pytest.mark.parametrize("side", [64, 512, 2048])
@toggles("torch", "device")
def test_device_by_size(measure, side, data_location):
    measure("matmul-torch", side=side, data_location=data_location)


@toggles("torch", "device")
def test_device_in_training(measure):
    measure("cnn-train")


@pytest.mark.parametrize("workload", ["chain-torch", "cnn-train", "resnet18-train", "narrow-mlp-train"])
@toggles("torch", "threads")
def test_cpu_threads(measure, workload):
    measure(workload, device="cpu", **FEWER.get(workload, {}))


@pytest.mark.parametrize("data_location", ["resident", "round-trip"])
@pytest.mark.parametrize("side", [64, 1024])
@toggles("tensorflow", "device")
def test_device_by_size_tensorflow(measure, side, data_location):
    measure("matmul-tensorflow", side=side, data_location=data_location)


@toggles("tensorflow", "device")
def test_device_in_training_keras(measure):
    measure("cnn-train-keras")
