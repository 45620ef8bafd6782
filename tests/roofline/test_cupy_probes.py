"""CuPy's probes on a stand-in that counts bytes: each kernel moves as many bytes as it states."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from accelbench.core import Arm
from accelbench.roofline.probes import cupy as probes

SIZE = 2**20
moved: list[int] = []  # bytes that each operation on arrays reads or writes


class Array(np.ndarray):
    """An array on the device."""

    def fill(self, value: float) -> None:
        super().fill(value)
        moved.append(self.nbytes)

    def sum(self, *args: Any, **options: Any) -> Any:
        moved.append(self.nbytes)
        return super().sum(*args, **options)

    def __matmul__(self, other: Any) -> Any:
        moved.append(self.nbytes)
        return np.asarray(self) @ np.asarray(other)

    def set(self, array: np.ndarray) -> None:
        moved.append(array.nbytes)
        self[:] = array

    def get(self, *, out: np.ndarray) -> None:
        moved.append(out.nbytes)
        out[:] = self


class Device:
    """Stands in for ``cupy``."""

    def __init__(self) -> None:
        self.page_locked_bytes = 0
        runtime = SimpleNamespace(getDevice=lambda: 1, memGetInfo=lambda: (8 * SIZE, 80 * SIZE))
        self.cuda = SimpleNamespace(runtime=runtime, alloc_pinned_memory=self._page_lock)
        self.random = SimpleNamespace(standard_normal=lambda shape, dtype: np.ones(shape, dtype).view(Array))

    def _page_lock(self, size_bytes: int) -> bytearray:
        self.page_locked_bytes += size_bytes
        return bytearray(2 * size_bytes)  # its pool rounds up

    def ones(self, shape: Any, dtype: Any) -> Array:
        return np.ones(shape, dtype).view(Array)

    def empty(self, shape: Any, dtype: Any) -> Array:
        return np.zeros(shape, dtype).view(Array)

    def empty_like(self, array: Array) -> Array:
        return np.empty_like(array)

    def split(self, array: Array, parts: int) -> list[Array]:
        return np.split(array, parts)

    def copyto(self, target: Array, source: Array) -> None:
        moved.append(source.nbytes + target.nbytes)
        np.copyto(target, source)

    def multiply(self, a: Array, b: Array, *, out: Array) -> None:
        moved.append(a.nbytes + b.nbytes + out.nbytes)
        np.multiply(a, b, out=out)

    def matmul(self, a: Array, b: Array, *, out: Array) -> None:
        np.matmul(np.asarray(a), np.asarray(b), out=np.asarray(out))


@pytest.fixture
def device(monkeypatch: pytest.MonkeyPatch) -> Device:
    stand_in = Device()
    monkeypatch.setattr(probes, "namespace", lambda: stand_in)
    monkeypatch.setattr(probes, "unavailable", lambda: None)
    return stand_in


def arms_of(ceiling: str, size: int) -> list[Arm]:
    (probe,) = (probe for probe in probes.probes() if probe.ceiling == ceiling)
    return list(probe.kernels(size))


def moved_bytes(arm: Arm) -> int:
    moved.clear()
    arm.step()
    return sum(moved)


@pytest.mark.usefixtures("device")
def test_the_kernels_of_memory_move_the_bytes_that_they_state() -> None:
    arms = arms_of("cuda:1 memory", SIZE)
    assert [arm.items for arm in arms] == [moved_bytes(arm) for arm in arms]
    assert SIZE in [arm.items for arm in arms]  # a copy's is the whole working set: half is read, half is written


@pytest.mark.parametrize("way", ["to device", "from device"])
@pytest.mark.parametrize("kind", ["pageable", "pinned"])
def test_a_copy_over_the_link_moves_the_bytes_that_it_states(way: str, kind: str, device: Device) -> None:
    (arm,) = arms_of(f"cuda:1 {way} {kind}", SIZE)
    assert arm.items == moved_bytes(arm) == SIZE
    assert device.page_locked_bytes == (SIZE if kind == "pinned" else 0)


@pytest.mark.usefixtures("device")
@pytest.mark.parametrize("precision", ["fp16", "fp32", "fp64"])
def test_a_product_is_computed_in_its_precision(precision: str) -> None:
    (arm,) = arms_of(f"cuda:1 matrix {precision}", 8)
    arm.step()
    assert arm.items == 2 * 8**3


@pytest.mark.usefixtures("device")
def test_a_working_set_takes_an_eighth_of_the_free_memory_at_most() -> None:
    (probe,) = (probe for probe in probes.probes() if probe.by_working_set)
    assert max(probe.sizes) <= SIZE


@pytest.mark.skipif(probes.unavailable() is not None, reason=str(probes.unavailable()))
def test_on_a_gpu_every_kernel_runs() -> None:
    for probe in probes.probes():
        for arm in probe.kernels(probe.sizes[0]):
            arm.step()
