"""Does it pay to decode the next images while the model trains, and to have them on the device before it asks?

On a CPU the small CNN trains about as long as its images take to decode: on one thread, which leaves a core to decode
with, and on all, where both compete for the same cores. ResNet-18 trains much longer than its images take to decode.
Loader processes are compared in test_workers.py.
"""

import pytest

from accelbench import toggles


@pytest.mark.parametrize("threads", ["1", "all"])
@toggles("torch", "loading")
def test_small_model(measure, threads):
    measure("image-training", model="cnn", workers="0", threads=threads)


@pytest.mark.slow
@toggles("torch", "loading")
def test_large_model(measure):
    measure("image-training", images=16, batch_size="4", workers="0", threads="1")
