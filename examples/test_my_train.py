"""Which techniques pay in my own program, and which way of writing a line is faster?"""

import numpy as np
from my_train import build

import accelbench

mine = accelbench.program(build, unit="image")
values = np.random.default_rng(0).random(100_000)


@accelbench.toggles("torch", "batch_size")
def test_batch_size(measure):
    measure(mine)


@accelbench.toggles("torch", "amp")
@accelbench.toggles("torch", "memory_format")
def test_precision_and_layout(measure):
    measure(mine)


test_square = accelbench.versions("square", {"power": lambda: values**2, "product": lambda: values * values})
