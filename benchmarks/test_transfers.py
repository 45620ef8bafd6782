"""What does it cost to send a batch in every step, or every result in between, and how fast is the link each way?

All of it needs an accelerator: within the host's memory nothing is sent, and every arm skips, saying so.
"""

import pytest

from accelbench import toggles


@pytest.mark.parametrize("workload", ["mlp-train", "cnn-train"])
@toggles("torch", "transfers")
def test_batches(measure, workload):
    measure(workload)


@pytest.mark.parametrize("operations", [4, 16])
@toggles("torch", "intermediates")
def test_intermediate_results(measure, operations):
    measure("operation-chain", operations=operations)


@pytest.mark.parametrize("mebibytes", [1, 64])
@pytest.mark.parametrize("workload", ["host-to-device-copy", "device-to-host-copy"])
@toggles("torch", "pin_memory")
def test_bandwidth(measure, workload, mebibytes):
    measure(workload, mebibytes=mebibytes)
