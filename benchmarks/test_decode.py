"""Does it pay to decode images no larger than they are used, or on the accelerator?

JPEG stores a picture by frequencies: a decoder that leaves out the highest makes a half, a quarter or an eighth of the
size for less work. Scaled to 96 pixels that pays; scaled to 224, a file of 256 has nothing to leave out. Decoding on
the accelerator needs CUDA and torchvision. One process decodes: loader processes are compared in test_workers.py.
"""

import pytest

from accelbench import toggles


@pytest.mark.parametrize("side", [96, 224])
@toggles("torch", "decode")
def test_decode(measure, side):
    measure("image-loading", side=side, workers="0")
