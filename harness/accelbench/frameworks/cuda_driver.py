"""The NVIDIA GPUs that this process uses, as CUDA's driver knows them. Asking starts none of them."""

from __future__ import annotations

import ctypes
import sys
import uuid
from dataclasses import dataclass
from functools import cache
from typing import Any

_LIBRARY = "nvcuda.dll" if sys.platform == "win32" else "libcuda.so.1"
_UUID_BYTES = 16


@dataclass(frozen=True, kw_only=True)
class CudaDevice:
    """A GPU, or a slice of one, by the driver's handle and its UUID without a prefix."""

    driver: Any
    handle: int
    uuid: str

    @property
    def is_open(self) -> bool:
        """Whether this process has a context there, without which it can have launched nothing."""
        flags, active = ctypes.c_uint(), ctypes.c_int()
        self.driver.cuDevicePrimaryCtxGetState(self.handle, ctypes.byref(flags), ctypes.byref(active))
        return bool(active.value)


def devices() -> list[CudaDevice]:
    """Return the GPUs in CUDA's order, which CUDA_VISIBLE_DEVICES and CUDA_DEVICE_ORDER decide.

    There are none without a driver, and none before something in this process has initialised it.
    """
    driver, count = _driver(), ctypes.c_int()
    if driver is None or driver.cuDeviceGetCount(ctypes.byref(count)):
        return []
    return [_device(driver, place) for place in range(count.value)]


def open_gpus(kind: str) -> dict[str, str]:
    """Return the UUIDs of the GPUs on which this process has a context, by labels such as ``cuda:0``."""
    return {f"{kind}:{place}": device.uuid for place, device in enumerate(devices()) if device.is_open}


@cache
def _driver() -> Any:
    """Return the driver's library, None without one."""
    try:
        return ctypes.CDLL(_LIBRARY)
    except OSError:
        return None


@cache
def _device(driver: Any, place: int) -> CudaDevice:
    handle, octets = ctypes.c_int(), (ctypes.c_ubyte * _UUID_BYTES)()
    driver.cuDeviceGet(ctypes.byref(handle), place)
    # The second version returns the UUID of a slice; drivers before CUDA 11.4 lack it.
    ask = getattr(driver, "cuDeviceGetUuid_v2", None) or driver.cuDeviceGetUuid
    ask(ctypes.byref(octets), handle)
    return CudaDevice(driver=driver, handle=handle.value, uuid=str(uuid.UUID(bytes=bytes(octets))))
