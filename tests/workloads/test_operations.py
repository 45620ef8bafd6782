"""Plain tensor operations agree with NumPy, wherever the data lie."""

import numpy as np
import pytest
import torch

import harness.workloads  # noqa: F401  fills the catalogue
from harness.experiment import Setting, find_workload
from harness.frameworks import load
from harness.measuring import check

framework = load("torch")


def operands(shape: tuple[int, ...]) -> list[np.ndarray]:
    generator = torch.Generator().manual_seed(0)
    return framework.to_host([torch.randn(shape, generator=generator) for _ in "ab"])


@pytest.mark.parametrize("data_location", ["resident", "round-trip"])
def test_the_product_is_numpys(data_location: str) -> None:
    arm = find_workload("matmul-torch").build(Setting(), side=50, device="cpu", data_location=data_location)
    a, b = operands((50, 50))
    assert check.relative_error(check.output_of(arm, framework), [a @ b]) < 1e-6
    assert arm.items == 2 * 50**3


@pytest.mark.parametrize("data_location", ["resident", "round-trip"])
def test_the_chain_is_numpys(data_location: str) -> None:
    arm = find_workload("chain-torch").build(Setting(), elements=1000, device="cpu", data_location=data_location)
    a, b = operands((1000,))
    assert check.relative_error(check.output_of(arm, framework), [np.tanh(a * b + a) ** 2]) < 1e-5


def test_the_inputs_vary_from_step_to_step() -> None:
    arm = find_workload("chain-torch").build(Setting(), elements=1000, device="cpu")
    assert check.relative_error(framework.to_host(arm.step()), framework.to_host(arm.step())) > 0.1
