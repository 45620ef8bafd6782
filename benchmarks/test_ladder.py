"""What do techniques bring that are stacked on a naive program, together and each on top of those before it?

The naive program trains in float32 with one item at a time, decodes where it trains, reads its loss after every step
and runs operation by operation; or it computes element by element. That of ResNet-50 has its images in memory and
learns 32 at a time, without TensorFloat-32, from pageable copies. Every rung adds one technique and is compared with
the start and with the rung below, in the same rounds. A rung that cannot run here is left out of those above it.
"""

import pytest

from accelbench import toggles


@pytest.mark.parametrize("model", [pytest.param("resnet18", marks=pytest.mark.slow), "bert"])
@toggles("torch", "ladder")
def test_ladder(measure, model):
    measure("ladder-training", model=model)


@pytest.mark.slow
@toggles("torch", "accelerator_ladder")
def test_ladder_resnet50(measure):
    measure("ladder-training-resnet50")


@pytest.mark.slow
@toggles("tensorflow", "ladder")
def test_ladder_keras(measure):
    measure("ladder-training-keras")


@toggles("numpy", "ladder")
def test_ladder_numpy(measure):
    measure("ladder-chain")


@toggles("cupy", "ladder")
def test_ladder_cupy(measure):
    measure("elementwise-chain")
