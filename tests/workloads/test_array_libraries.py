"""Array libraries: the same formula on NumPy and PyTorch, numbers of each one's own generator, skips with a reason."""

import sys
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
from accelbench.workloads.arrays.libraries import ArrayLibrary, check_elements, find_library
from accelbench.workloads.arrays.ndimage import SciPyImages

framework = load("torch")
LIBRARIES = ["numpy", "torch-cpu"]


class Link:
    """An array library beyond a link that counts what crosses it."""

    def __init__(self) -> None:
        self.sent = self.fetched = 0

    def send(self, array: np.ndarray) -> np.ndarray:
        self.sent += 1
        return array.copy()

    def fetch(self, array: np.ndarray) -> np.ndarray:
        self.fetched += 1
        return array.copy()

    def library(self, **facts: Any) -> ArrayLibrary:
        return ArrayLibrary(
            xp=np, send=self.send, fetch=self.fetch, uniform=lambda _: np.zeros, find_images=SciPyImages, **facts
        )


@pytest.mark.parametrize(
    "name", ["vector-add", "elementwise-chain", "polynomial", "matrix-product", "svd", "fft", "sort", "reduction"]
)
def test_pytorch_computes_what_numpy_does(name: str) -> None:
    arms = [find_workload(name).build(Setting(), elements=2500, array_library=library) for library in LIBRARIES]
    expected, output = (check.output_of(arm, framework) for arm in arms)
    assert relative_error(output, expected) < 1e-5
    assert arms[1].step().dtype in (torch.float32, torch.complex64)


@pytest.mark.parametrize("library", ["numexpr", "numba"])
@pytest.mark.parametrize("name", ["vector-add", "elementwise-chain", "polynomial"])
def test_a_compiled_expression_is_what_numpy_computes(name: str, library: str) -> None:
    workload = find_workload(name)
    arms = [workload.build(Setting(), elements=2500, expression_compiler=each) for each in ("numpy", library)]
    expected, output = (check.output_of(arm, framework) for arm in arms)
    assert relative_error(output, expected) < 1e-5
    assert arms[1].step().dtype == np.float32


@pytest.mark.parametrize("library", ["numexpr", "numba"])
def test_a_compiler_that_is_not_installed_is_one_line(library: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, library, None)
    with pytest.raises(Unavailable, match=f"^{library} is not installed: pip install 'accelbench\\[numpy\\]'$"):
        find_workload("polynomial").build(Setting(), elements=100, expression_compiler=library)


def test_a_compiler_is_for_numpys_arrays_and_for_what_is_elementwise() -> None:
    with pytest.raises(BadInput, match="expression compiler 'numba' takes NumPy's arrays, not 'torch-cpu'"):
        find_workload("polynomial").build(Setting(), array_library="torch-cpu", expression_compiler="numba")
    assert "expression_compiler" in find_workload("polynomial").options
    assert "expression_compiler" not in find_workload("sort").options


@pytest.mark.parametrize("name", LIBRARIES)
def test_random_numbers_repeat_from_their_seed_and_fill_the_unit_interval(name: str) -> None:
    draw, again, other = (find_library(name).uniform(seed) for seed in (1, 1, 2))
    first = draw((1000,))
    assert "float32" in str(first.dtype)
    assert 0 <= first.min() < 0.01 < 0.99 < first.max() < 1
    assert (first == again((1000,))).all()
    assert (first != other((1000,))).any()
    assert (first != draw((1000,))).any()


def test_resident_operands_are_sent_once_and_a_round_trip_sends_and_fetches_in_every_step() -> None:
    operands = [(np.ones(3), np.ones(3))]
    resident, distant = Link(), Link()
    arms = [
        resident.library().arm(lambda a, b: (a + b, a), operands, output_bytes=48),
        distant.library(round_trip=True).arm(lambda a, b: (a + b, a), operands, output_bytes=48),
    ]
    assert [arm.work.to_device_bytes for arm in arms if arm.work] == [0, 48]
    outputs = [[arm.step() for _ in range(5)][-1] for arm in arms]
    assert relative_error(*map(framework.to_host, outputs)) == 0
    assert (resident.sent, resident.fetched) == (2, 0)
    assert (distant.sent, distant.fetched) == (5 * 2, 5 * 2)


@pytest.mark.skipif(torch.accelerator.is_available(), reason="there is an accelerator")
def test_without_an_accelerator_its_library_is_skipped_with_the_reason() -> None:
    with pytest.raises(Unavailable, match=r"torch .* sees no accelerator"):
        find_library("torch-accelerator")


def test_sizes_that_do_not_fit_are_refused_in_one_line() -> None:
    assert check_elements(Setting(), 10, small=10) == 10
    assert check_elements(Setting(size="full"), 11, small=10) == 11
    with pytest.raises(Unavailable, match="11 elements need a run of full size"):
        check_elements(Setting(), 11, small=10)
    with pytest.raises(BadInput, match="elements must be a whole number from 1, got 0"):
        check_elements(Setting(), 0, small=10)
