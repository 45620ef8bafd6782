"""Does it pay to run a block's independent branches at once, and are branches as fast as one convolution of their cost?

The Inception block has four branches, one of which does 79 % of the work: at once, they take at least as long as that
one. Where a single operation fills the whole device, there is nothing left to gain.
"""

import pytest

from accelbench import toggles


@pytest.mark.parametrize("workload", ["inception-inference", "inception-train"])
@toggles("torch", "branches")
def test_branches(measure, workload):
    measure(workload)


@pytest.mark.parametrize("workload", ["inception-inference-keras", "inception-train-keras"])
@toggles("tensorflow", "branches")
def test_branches_keras(measure, workload):
    measure(workload)
