"""The GPUs of this process, as a stand-in for CUDA's driver lists them: by UUID, and open or not."""

import ctypes
from collections.abc import Iterator
from typing import Any
from uuid import UUID

import pytest

from accelbench.frameworks import cuda_driver

NOT_INITIALIZED = 3
UUIDS = ["8a1f2200-0000-0000-0000-000000000001", "77b00000-0000-0000-0000-000000000002"]


def value_at(reference: Any) -> Any:
    """Return what ``ctypes.byref`` refers to."""
    return reference._obj  # noqa: SLF001  there is no public name


class Driver:
    """CUDA's driver library, with the GPUs that CUDA_VISIBLE_DEVICES leaves; a handle is no index."""

    def __init__(self, *uuids: str) -> None:
        self.uuids = uuids
        self.open: set[str] = set()
        self.initialised = True

    def cuDeviceGetCount(self, count: Any) -> int:  # noqa: N802  the driver's name, as all here
        value_at(count).value = len(self.uuids)
        return 0 if self.initialised else NOT_INITIALIZED

    def cuDeviceGet(self, handle: Any, index: int) -> int:  # noqa: N802
        value_at(handle).value = 10 + index
        return 0

    def cuDeviceGetUuid(self, octets: Any, handle: Any) -> int:  # noqa: N802
        ctypes.memmove(value_at(octets), UUID(self.uuids[self._index(handle)]).bytes, 16)
        return 0

    def cuDevicePrimaryCtxGetState(self, handle: Any, flags: Any, active: Any) -> int:  # noqa: N802
        value_at(flags).value = 0
        value_at(active).value = self.uuids[self._index(handle)] in self.open
        return 0

    @staticmethod
    def _index(handle: Any) -> int:
        return int(getattr(handle, "value", handle)) - 10


class NewerDriver(Driver):
    """A driver that knows the UUIDs of slices; the older call returns that of the whole GPU."""

    def cuDeviceGetUuid_v2(self, octets: Any, handle: Any) -> int:  # noqa: N802
        return super().cuDeviceGetUuid(octets, handle)

    def cuDeviceGetUuid(self, octets: Any, _: Any) -> int:  # noqa: N802
        ctypes.memmove(value_at(octets), UUID(int=0).bytes, 16)
        return 0


@pytest.fixture(params=[Driver, NewerDriver])
def driver(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[Driver]:
    """A driver of two GPUs."""
    found: Driver = request.param(*UUIDS)
    monkeypatch.setattr(cuda_driver, "_driver", lambda: found)
    yield found
    cuda_driver._device.cache_clear()  # noqa: SLF001  it would keep the stand-in


def test_gpus_are_listed_by_uuid_in_cudas_order_and_opened_by_nobody_who_asks(driver: Driver) -> None:
    assert [device.uuid for device in cuda_driver.devices()] == UUIDS
    assert cuda_driver.open_gpus("cuda") == {}
    driver.open.add(UUIDS[1])
    assert cuda_driver.open_gpus("cuda") == {"cuda:1": UUIDS[1]}
    driver.open.add(UUIDS[0])
    assert cuda_driver.open_gpus("GPU") == {"GPU:0": UUIDS[0], "GPU:1": UUIDS[1]}


def test_a_process_that_has_not_begun_with_cuda_uses_no_gpu(driver: Driver) -> None:
    driver.initialised = False
    assert cuda_driver.devices() == []


def test_a_machine_without_the_driver_has_no_gpus(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cuda_driver, "_LIBRARY", "no-such-library.so")
    cuda_driver._driver.cache_clear()  # noqa: SLF001
    try:
        assert cuda_driver.open_gpus("cuda") == {}
    finally:
        cuda_driver._driver.cache_clear()  # noqa: SLF001
