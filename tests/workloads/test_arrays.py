"""The array workloads compute what they say, on inputs that vary, with the data where their library wants it."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import accelbench.frameworks.cupy
import accelbench.workloads.arrays.computations
from accelbench.core import Arm, Setting, find_workload
from accelbench.errors import BadInput, Unavailable

NAMES = ["vector-add", "elementwise-chain", "polynomial", "matrix-product", "svd", "fft", "sort", "reduction"]
ELEMENTWISE = ["vector-add", "elementwise-chain", "polynomial"]


def build(name: str, **options: Any) -> Arm:
    return find_workload(name).build(Setting(), **options)


class Device:
    """Stands in for CuPy: NumPy's functions, and counts of what crossed the link and what was compiled."""

    cuda = SimpleNamespace(Device=lambda: SimpleNamespace(id=0))

    def __init__(self) -> None:
        self.sent = self.fetched = self.compiled = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(np, name)

    def asarray(self, array: np.ndarray) -> np.ndarray:
        self.sent += 1
        return array.copy()

    def asnumpy(self, array: np.ndarray) -> np.ndarray:
        self.fetched += 1
        return array.copy()

    def fuse(self, *, kernel_name: str) -> Any:
        assert kernel_name.isidentifier()
        self.compiled += 1
        return lambda function: function


@pytest.fixture
def device(monkeypatch: pytest.MonkeyPatch) -> Device:
    stand_in = Device()
    monkeypatch.setattr(accelbench.frameworks.cupy, "namespace", lambda: stand_in)
    return stand_in


def expected(name: str, elements: int) -> np.ndarray:
    """Compute a workload's first output in float64 from the same inputs."""
    operands = {"vector-add": 2, "elementwise-chain": 3, "polynomial": 2, "matrix-product": 2}.get(name, 1)
    shape: Any = (int(elements**0.5),) * 2 if name in ("matrix-product", "svd") else elements
    rng = np.random.default_rng(Setting().seed)
    inputs = SimpleNamespace(
        **{key: (2 * rng.random(shape, dtype=np.float32) - 1).astype(float) for key in "abc"[:operands]}
    )
    formulas = {
        "vector-add": lambda x: x.a + x.b,
        "elementwise-chain": lambda x: np.hypot(x.a, x.b) * np.exp(-(x.c**2)) + np.sin(x.a),
        "polynomial": lambda x: x.a * (1 + x.b + x.b**2 + x.b**3 + x.b**4),
        "matrix-product": lambda x: x.a.dot(x.b),
        "svd": lambda x: np.sqrt(np.linalg.eigvalsh(x.a.T @ x.a)[::-1]),
        "fft": lambda x: np.fft.fft(x.a)[: elements // 2 + 1],
        "sort": lambda x: np.array(sorted(x.a)),
        "reduction": lambda x: np.var(x.a) + np.mean(x.a) ** 2,
    }
    return np.asarray(formulas[name](inputs))


@pytest.mark.parametrize("name", NAMES)
def test_the_output_agrees_with_float64(name: str) -> None:
    output = build(name, elements=2500).step()
    np.testing.assert_allclose(output, expected(name, 2500), rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("name", NAMES)
def test_everything_stays_in_single_precision(name: str) -> None:
    assert build(name, elements=100).step().dtype in (np.float32, np.complex64)


@pytest.mark.parametrize("name", NAMES)
def test_two_steps_in_a_row_compute_different_things(name: str) -> None:
    arm = build(name, elements=100)
    assert not np.array_equal(arm.step(), arm.step())


def test_a_reset_starts_the_inputs_over() -> None:
    arm = build("vector-add", elements=100)
    first = arm.step()
    arm.reset()
    assert np.array_equal(arm.step(), first)


def test_the_seed_decides_the_inputs() -> None:
    outputs = [find_workload("sort").build(Setting(seed=seed), elements=50).step() for seed in (1, 1, 2)]
    assert np.array_equal(outputs[0], outputs[1])
    assert not np.array_equal(outputs[0], outputs[2])


def test_a_matrix_product_counts_the_entries_of_its_matrices() -> None:
    arm = build("matrix-product", elements=1000)
    assert arm.items == 31 * 31
    assert arm.step().shape == (31, 31)


def test_one_million_elements_by_default() -> None:
    assert build("vector-add").items == 1_000_000


def test_a_hundred_million_elements_need_a_run_of_full_size() -> None:
    with pytest.raises(Unavailable, match="100,000,000 elements need a run of full size"):
        build("reduction", elements=10**8)


@pytest.mark.parametrize("elements", [0, -5, 1e3, "many"])
def test_a_size_that_is_no_count_is_refused_in_one_line(elements: object) -> None:
    with pytest.raises(BadInput, match=f"elements must be a whole number from 1, got {elements!r}"):
        build("sort", elements=elements)


def test_an_unknown_array_library_is_refused_with_those_that_exist() -> None:
    known = "numpy, numexpr, numba, resident, round-trip, fused, kernel, torch-cpu"
    with pytest.raises(BadInput, match=f"'jax'; expected one of: {known}"):
        build("sort", array_library="jax")


def test_resident_data_crosses_the_link_only_while_it_is_built(device: Device) -> None:
    arm = build("vector-add", elements=100, array_library="resident")
    sent = device.sent
    for _ in range(5):
        arm.step()
    assert (device.sent, device.fetched) == (sent, 0)


def test_a_round_trip_crosses_the_link_both_ways_in_every_step(device: Device) -> None:
    arm = build("vector-add", elements=100, array_library="round-trip")
    assert device.sent == 0
    for _ in range(5):
        arm.step()
    assert (device.sent, device.fetched) == (5 * 2, 5)


@pytest.mark.parametrize("name", ELEMENTWISE)
def test_a_fused_arm_compiles_once_and_keeps_its_data_resident(name: str, device: Device) -> None:
    arm = build(name, elements=100, array_library="fused")
    sent = device.sent
    for _ in range(5):
        arm.step()
    assert (device.compiled, device.sent, device.fetched) == (1, sent, 0)


@pytest.mark.parametrize("name", [name for name in NAMES if name not in ELEMENTWISE])
def test_what_is_not_elementwise_says_that_it_cannot_be_fused(name: str) -> None:
    with pytest.raises(Unavailable, match="only elementwise operations can be fused"):
        build(name, elements=100, array_library="fused")


@pytest.mark.parametrize("library", ["resident", "round-trip", "fused"])
@pytest.mark.parametrize("name", ELEMENTWISE)
def test_every_library_gives_the_output_of_numpy(name: str, library: str, device: Device) -> None:
    output = build(name, elements=100, array_library=library).step()
    assert device.sent > 0
    np.testing.assert_array_equal(output, build(name, elements=100).step())
