"""What does it cost to read the loss while training, how often is that too often, and does it matter by which call?

A step is a run of 100 training steps, each well under a millisecond. Reading the loss makes the host wait until an
accelerator has computed it; on a CPU there is nobody to wait for, so there a read costs the call alone. One CPU thread:
steps this small gain nothing from more.
"""

import pytest

from accelbench import toggles


@toggles("torch", "log_interval")
def test_log_interval(measure):
    measure("logged-training", threads="1")


@pytest.mark.slow
@toggles("torch", "log_by")
def test_log_by(measure):
    measure("logged-training", threads="1")


@pytest.mark.slow
@toggles("tensorflow", "log_interval")
def test_log_interval_keras(measure):
    measure("logged-training-keras")
