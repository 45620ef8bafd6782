"""What does it bring to do independent things at once: on two threads, on CPU and accelerator, on several streams?

Two threads with half of the cores each compete with one thread that gives every operation all cores. The most that
can be gained is known before: two equal parts at once halve the time; copying there, computing and copying back at
once leaves the longest of the three.
"""

import pytest

from accelbench import toggles


@pytest.mark.parametrize("side", [64, 512])
@toggles("torch", "overlap")
def test_two_computations(measure, side):
    measure("independent-products", side=side)


@toggles("torch", "both_devices")
def test_host_and_device(measure):
    measure("host-and-device-products")


@toggles("torch", "streams")
def test_copy_and_compute(measure):
    measure("chunked-products")
