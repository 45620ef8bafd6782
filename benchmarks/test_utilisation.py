"""How busy are CPU and GPU while a model trains, and where they are not, what holds training back?

The baseline decodes image files in its loop, sends every batch when it is needed and reads the loss after every step.
Each candidate takes one burden off: input-bound training gains from images that are decoded already, transfer-bound
training from batches that are on the device already, synchronisation-bound training from a loss that nobody reads, and
launch-bound training from larger batches. What gains from none of these is bound by the computation itself.
"""

import pytest

from accelbench import toggles


@pytest.mark.parametrize("model", ["cnn", pytest.param("resnet18", marks=pytest.mark.slow)])
@toggles("torch", "ablation")
def test_utilisation(measure, model):
    measure("bottleneck-training", model=model)
