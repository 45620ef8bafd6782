"""Does torch.compile pay, by which mode, and after how many steps has it paid for the compilation?

Compilation saves memory traffic and calls between many small operations: the elementwise chain, the network of many
narrow layers. One large matrix product is the control, where nothing can be saved. A first call compiles from nothing,
as in a program that runs for the first time; only the compiler itself is loaded before. On a CPU there is nothing to
search in any of the three: `max-autotune` then skips, since it would compile as by default.
"""

import pytest

from accelbench import toggles


@pytest.mark.parametrize(
    "workload", ["chain-torch", pytest.param("narrow-mlp-train", marks=pytest.mark.slow), "matmul-torch"]
)
@toggles("torch", "compile")
def test_compile(measure, workload):
    measure(workload)
