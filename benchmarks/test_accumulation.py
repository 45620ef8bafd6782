"""What memory does it save to add up the gradients of parts of a batch, and what time does it cost?

Every arm makes the same step from the same batch. Parts that still fill the processor cost no time; those of a small
batch do.
"""

import pytest

from accelbench import toggles


@pytest.mark.parametrize(
    ("workload", "batch_size"), [pytest.param("long-bert-train", "4", marks=pytest.mark.slow), ("mlp-train", "32")]
)
@toggles("torch", "accumulation")
def test_accumulation(measure, workload, batch_size):
    measure(workload, batch_size=batch_size)
