"""Which techniques pay in my own program, and which way of writing a line is faster?"""

import numpy as np
from my_train import build

import harness

mine = harness.program(build, unit="image")
values = np.random.default_rng(0).random(100_000)


@harness.toggles("torch", "batch_size")
def test_batch_size(measure, batch_size):
    measure(mine, batch_size=batch_size)


@harness.toggles("torch", "amp")
@harness.toggles("torch", "memory_format")
def test_precision_and_layout(measure, amp, memory_format):
    measure(mine, amp=amp, memory_format=memory_format)


test_square = harness.versions("square", {"power": lambda: values**2, "product": lambda: values * values})
