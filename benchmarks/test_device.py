"""From which size on is an accelerator faster than the CPU, and how much of the CPU was at work?

Matrices stay on the device, or are sent there and back in every step. CPU arms run with all cores, except where one
thread is the baseline.
"""

import pytest

from harness import toggles

# Of the batch that fills a GPU, a single thread takes ten seconds and more for a step: too long to be repeated.
FEWER = {"resnet18-train": {"batch_size": "4"}}


@pytest.mark.parametrize("data_location", ["resident", "round-trip"])
@pytest.mark.parametrize("side", [64, 512, 2048])
@toggles("torch", "device")
def test_device_by_size(measure, side, data_location, device):
    measure("matmul-torch", side=side, data_location=data_location, device=device)


@toggles("torch", "device")
def test_device_in_training(measure, device):
    measure("cnn-train", device=device)


@pytest.mark.parametrize("workload", ["chain-torch", "cnn-train", "resnet18-train", "narrow-mlp-train"])
@toggles("torch", "threads")
def test_cpu_threads(measure, workload, threads):
    measure(workload, device="cpu", threads=threads, **FEWER.get(workload, {}))


@pytest.mark.parametrize("data_location", ["resident", "round-trip"])
@pytest.mark.parametrize("side", [64, 1024])
@toggles("tensorflow", "device")
def test_device_by_size_tensorflow(measure, side, data_location, device):
    measure("matmul-tensorflow", side=side, data_location=data_location, device=device)


@toggles("tensorflow", "device")
def test_device_in_training_keras(measure, device):
    measure("cnn-train-keras", device=device)
