"""What memory does activation checkpointing save, and what time does it cost?

It never saves time by itself: the arm that is slower may pay by the batch that then fits. With one sequence of 64
tokens, weights and their gradients are most of the memory, and there is little to save.
"""

import pytest

from accelbench import toggles


@pytest.mark.parametrize(("workload", "batch_size"), [("long-bert-train", "4"), ("bert-train", "1")])
@toggles("torch", "activation_checkpointing")
def test_activation_checkpointing(measure, workload, batch_size):
    measure(workload, batch_size=batch_size)
