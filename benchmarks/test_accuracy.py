"""Does mixed precision reach the same accuracy on real data, and how long does it take to get there?

A step is a whole training, from the first weights until 95 % of the digits held back are recognised. An arm that does
not get there within 20 epochs has no speed. PyTorch works with one thread: a second one has nothing to do in steps this
small.
"""

import pytest

from accelbench import toggles


@pytest.mark.slow
@toggles("torch", "amp")
def test_time_to_accuracy(measure):
    measure("digits-training", threads="1")


@toggles("tensorflow", "mixed_precision")
def test_time_to_accuracy_keras(measure):
    measure("digits-training-keras")
