"""Plain tensor operations agree with NumPy, wherever the data lie."""

from typing import Any

import numpy as np
import pytest
import torch

import accelbench.workloads  # noqa: F401  fills the catalogue
from accelbench.core import Setting, find_workload
from accelbench.core.verification import relative_error
from accelbench.errors import BadInput, Unavailable
from accelbench.frameworks import load
from accelbench.measuring.checks import output as check

framework = load("torch")


def operands(shape: tuple[int, ...]) -> list[np.ndarray]:
    generator = torch.Generator().manual_seed(0)
    return framework.to_host([torch.randn(shape, generator=generator) for _ in "ab"])


@pytest.mark.parametrize("data_location", ["resident", "round-trip"])
def test_the_product_is_numpys(data_location: str) -> None:
    arm = find_workload("matmul-torch").build(Setting(), side=50, device="cpu", data_location=data_location)
    a, b = operands((50, 50))
    assert relative_error(check.output_of(arm, framework), [a @ b]) < 1e-6
    assert arm.items == 2 * 50**3


@pytest.mark.parametrize("data_location", ["resident", "round-trip"])
def test_the_chain_is_numpys(data_location: str) -> None:
    arm = find_workload("chain-torch").build(Setting(), elements=1000, device="cpu", data_location=data_location)
    a, b = operands((1000,))
    assert relative_error(check.output_of(arm, framework), [np.tanh(a * b + a) ** 2]) < 1e-5


@pytest.mark.parametrize("name", ["matmul-torch", "chain-torch"])
def test_a_misspelt_place_of_the_data_is_refused(name: str) -> None:
    with pytest.raises(BadInput, match="unknown data location 'residnet'"):
        find_workload(name).build(Setting(), device="cpu", data_location="residnet")


def test_the_inputs_vary_from_step_to_step() -> None:
    arm = find_workload("chain-torch").build(Setting(), elements=1000, device="cpu")
    assert relative_error(framework.to_host(arm.step()), framework.to_host(arm.step())) > 0.1


@pytest.mark.parametrize("intermediates", ["resident", "round-trip"])
def test_a_chain_of_operations_is_numpys_wherever_its_results_go(intermediates: str) -> None:
    arm = find_workload("operation-chain").build(
        Setting(), operations=4, elements=1000, device="cpu", intermediates=intermediates
    )
    generator = torch.Generator().manual_seed(0)
    factor, summand = framework.to_host([torch.rand(1000, generator=generator), torch.randn(1000, generator=generator)])
    expected = summand * sum(factor**power for power in range(5))
    assert relative_error(check.output_of(arm, framework), [expected]) < 1e-6
    assert arm.items == 4 * 1000
    assert relative_error(framework.to_host(arm.step()), [expected]) > 0.1


def test_every_result_of_a_round_trip_chain_visits_the_host(cuda: Any) -> None:
    for intermediates, copies in (("resident", 0), ("round-trip", 2 * 16)):
        arm = find_workload("operation-chain").build(
            Setting(), operations=16, elements=100, device="cpu", intermediates=intermediates
        )
        cuda.log.clear()
        arm.step()
        assert len(cuda.log) == copies


@pytest.mark.skipif(torch.accelerator.is_available(), reason="there is an accelerator")
def test_a_chain_of_operations_is_about_the_accelerator() -> None:
    with pytest.raises(Unavailable, match=r"torch .* sees no accelerator"):
        find_workload("operation-chain").build(Setting())


def test_a_device_that_does_not_exist_is_refused() -> None:
    with pytest.raises(Unavailable, match=r"torch .* sees no nowhere; it sees cpu"):
        find_workload("operation-chain").build(Setting(), device="nowhere")


def test_intermediates_at_an_unknown_place_are_refused() -> None:
    with pytest.raises(BadInput, match="'elsewhere'; expected one of: resident, round-trip"):
        find_workload("operation-chain").build(Setting(), intermediates="elsewhere")
