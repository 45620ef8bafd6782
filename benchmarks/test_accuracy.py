"""How long does it take to reach an accuracy on real data, in mixed precision and in larger batches?

A step is a whole training, from the first weights until 95 % of the digits held back are recognised. An arm that does
not get there within 40 epochs has no speed. PyTorch works with one thread: a second one has nothing to do in steps this
small.

Larger batches learn otherwise: the batch of the highest throughput need not be the one that is done first. Each is
trained with the learning rate of the usual batch of 32, and with one that follows the batch. A step has four trainings
then, from weights and in orders of their own, so that no comparison rests on a lucky one.
"""

import pytest

from accelbench import toggles

BATCHES = ("32", "128", "512")


@pytest.mark.slow
@toggles("torch", "amp")
def test_time_to_accuracy(measure):
    measure("digits-training", threads="1")


@pytest.mark.slow
@toggles("torch", "batch_size", levels=BATCHES)
@toggles("torch", "learning_rate_scaling")
def test_larger_batches(measure):
    measure("digits-training", trainings=4, threads="1")


@toggles("tensorflow", "mixed_precision")
def test_time_to_accuracy_keras(measure):
    measure("digits-training-keras")


@pytest.mark.slow
@toggles("tensorflow", "batch_size", levels=BATCHES)
@toggles("tensorflow", "learning_rate_scaling")
def test_larger_batches_keras(measure):
    measure("digits-training-keras", trainings=4)
