"""What pays where a table is learnt: little work per row, all of the rows in memory?

Regression on house prices, a step being an epoch. Batch sizes are compared on a part of the table, so that an epoch of
single rows stays short. The CPU works with one thread, since a second one has nothing to do in steps this small.
"""

from accelbench import toggles


@toggles("torch", "batch_size")
def test_batch_size(measure):
    measure("house-prices-train", rows=128, threads="1")


@toggles("torch", "amp")
def test_mixed_precision(measure):
    measure("house-prices-train", threads="1")


@toggles("torch", "device")
def test_device(measure):
    measure("house-prices-train", threads="1")
