"""Does XLA pay, where a model is mostly elementwise operations, and where it is convolutions?

XLA joins elementwise operations, each of which would read and write all of its data. A convolution has nothing to
join, and on a CPU XLA's own is slower than that of TensorFlow's library. What compiling costs stands beside, as the
first call.
"""

import pytest

from accelbench import toggles


@pytest.mark.parametrize("workload", ["mish-train-keras", "cnn-train-keras"])
@toggles("tensorflow", "xla")
def test_xla(measure, workload):
    measure(workload)
