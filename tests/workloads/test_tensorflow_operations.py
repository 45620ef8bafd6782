"""Plain operations in TensorFlow: products of the inputs, wherever the data stays."""

import numpy as np
import pytest

import accelbench.workloads  # noqa: F401  fills the catalogue
from accelbench.core import Setting, find_workload
from accelbench.core.verification import relative_error
from accelbench.frameworks import load
from accelbench.measuring.checks import output as check

pytestmark = pytest.mark.isolated_framework("tensorflow")


@pytest.mark.parametrize("data_location", ["resident", "round-trip"])
def test_a_product_is_numpys_and_the_next_step_has_other_operands(data_location: str) -> None:
    arm = find_workload("matmul-tensorflow").build(Setting(), side=48, device="cpu", data_location=data_location)
    rng = np.random.default_rng(0)
    a, b = (rng.standard_normal((48, 48), dtype=np.float32) for _ in "ab")
    output = check.output_of(arm, load("tensorflow"))
    assert relative_error(output, [a @ b]) < 1e-6
    assert relative_error(load("tensorflow").to_host(arm.step()), output) > 0.1
    assert arm.items == 2 * 48**3
