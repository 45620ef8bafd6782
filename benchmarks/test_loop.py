"""What does it bring to trace a training step into a graph, to compile it with XLA, to leave the loop to Model.fit?

An arm's step is an epoch over a dataset in memory: the same training steps in every arm, so that only the loop around
them differs. The dense network's steps are so small that the loop is most of their time; the CNN's are not. At small
size an epoch has few steps, over which the cost of beginning an epoch is spread, and Model.fit's is the highest.
"""

import pytest

from accelbench import toggles


@pytest.mark.parametrize("workload", ["dense-epoch-keras", "cnn-epoch-keras"])
@toggles("tensorflow", "loop")
def test_loop(measure, workload):
    measure(workload)
