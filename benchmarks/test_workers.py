"""How many processes should decode images, should they live from epoch to epoch, and how far ahead should they work?

A step is a whole epoch over JPEG files, drained: the loader alone, or feeding a training step, which then also says
in which share of the time it waited for data.
"""

import pytest

from accelbench import toggles


@pytest.mark.parametrize("workload", ["image-loading", "image-training"])
@toggles("torch", "workers")
def test_workers(measure, workload):
    measure(workload)


@toggles("torch", "persistent_workers")
def test_persistent_workers(measure):
    measure("image-loading")


@pytest.mark.slow
@toggles("torch", "prefetch_factor")
def test_prefetch_factor(measure):
    measure("image-loading")
