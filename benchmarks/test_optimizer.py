"""Does it pay to step through all weights at once, and how much of a training step is the optimiser's at all?

With 128 small tensors the optimiser takes a large part of the step, most of it one call after another. The CNN has
eight tensors: whatever is done to its optimiser, the step hardly changes.
"""

import pytest

from accelbench import toggles


@pytest.mark.parametrize("workload", ["narrow-mlp-train", "cnn-train"])
@toggles("torch", "optimizer")
def test_optimizer(measure, workload):
    measure(workload)
