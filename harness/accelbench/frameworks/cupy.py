"""The adapter of CuPy. It loads without CuPy and without a GPU, because its arms that use NumPy need neither."""

from __future__ import annotations

import gc
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from typing import Any

import numpy as np

from accelbench.errors import Unavailable
from accelbench.frameworks import host
from accelbench.frameworks.cuda_driver import open_gpus
from accelbench.frameworks.host import ArrayInfo, Index
from accelbench.frameworks.protocol import FASTEST_CLOCK_HZ, FLUSH_TIMES, Device, DeviceSpan, Framework, Switch
from accelbench.schema.reasons import Reason, reason

try:
    import cupy
except ImportError as failure:
    cupy = None
    _MISSING = (
        "cupy is not installed: pip install 'accelbench[cupy]'"
        if failure.name == "cupy"
        else f"cupy cannot be imported: {failure}"
    )

# CuPy's pool raises a MemoryError. These are the errors of allocations by the runtime, the driver and the libraries,
# such as for a kernel that is launched for the first time on a full device.
_OUT_OF_MEMORY = (
    "cudaErrorMemoryAllocation",
    "CUDA_ERROR_OUT_OF_MEMORY",
    "CUFFT_ALLOC_FAILED",
    "CUBLAS_STATUS_ALLOC_FAILED",
    "CURAND_STATUS_ALLOCATION_FAILED",
)
_SPIN = """
extern "C" __global__ void spin(long long cycles) {
    const long long begin = clock64();
    while (clock64() - begin < cycles) {}
}
"""


@cache
def unavailable() -> Reason | None:
    """Return why CuPy cannot compute here, or None if it can."""
    if cupy is None:
        return reason("message", message=_MISSING)
    runtime, cause = cupy.cuda.runtime, None
    try:
        if runtime.getDeviceCount():
            return None
    except runtime.CUDARuntimeError as error:
        cause = error if runtime.driverGetVersion() else None  # without a driver, the error calls the driver too old
    if cause is not None:
        return reason("message", message=f"cupy {cupy.__version__} sees no CUDA device: {cause}")
    return reason("no-accelerator", library="cupy", version=cupy.__version__, device="CUDA device")


def namespace() -> Any:
    """Return the ``cupy`` module.

    Raises:
        Unavailable: it is not installed or sees no device.
    """
    if (why := unavailable()) is not None:
        raise Unavailable(why)
    return cupy


class Cupy(Framework):
    """CuPy on its current CUDA device, and NumPy.

    CuPy has no profiler that counts kernels. Its memory pool shows where an arm runs whose arrays all lie on the host.
    It does not count what it compiles, and uses TF32 only if CUPY_TF32 was set before it was imported, which the
    environment records.
    """

    name = "cupy"

    def __init__(self) -> None:
        self._has_bypassed_pool = False  # since the peak was reset

    def synchronize(self) -> None:
        """Wait for every stream of the current device, and of the others that are open."""
        if unavailable() is not None:
            return
        cupy.cuda.runtime.deviceSynchronize()
        if len(self.accelerators()) > 1:
            for device in self.gpu_uuids().keys() - {self.current_accelerator()}:
                with cupy.cuda.Device(int(device.partition(":")[2])):
                    cupy.cuda.runtime.deviceSynchronize()

    def to_host(self, output: Any) -> list[np.ndarray]:
        """Return the arrays of CuPy and NumPy and the values in ``output`` on the host, numbers in float64."""
        return host.arrays(output) if cupy is None else host.arrays(output, cupy.asnumpy, own=(cupy.ndarray,))

    def array_info(self, array: Any) -> ArrayInfo | None:
        """Describe an array of CuPy or NumPy."""
        if cupy is None or not isinstance(array, cupy.ndarray):
            return host.array_info(array)
        device = f"cuda:{array.device.id}"
        return ArrayInfo(device=device, dtype=array.dtype.name, shape=array.shape, nbytes=array.nbytes)

    def item(self, array: Any, index: Index) -> Any:
        """Return a copy of one item."""
        return host.item(array, index) if host.array_info(array) else array[index].copy()

    def put(self, array: Any, index: Index, values: Any) -> Any:
        """Write an item in place, or into a copy of a read-only NumPy array."""
        if host.array_info(array):
            return host.put(array, index, values)
        array[index] = values
        return array

    def roll(self, array: Any, shift: int, axis: int) -> Any:
        """Return a copy of an array whose elements are moved along an axis."""
        return super().roll(array, shift, axis) if host.array_info(array) else cupy.roll(array, shift, axis)

    def allocations(self, run: Callable[[], object]) -> list[str]:
        """Return the current device if CuPy's pool grows while it runs, which had no free memory before."""
        if unavailable() is not None:
            return []
        self.empty_cache()
        pool = cupy.get_default_memory_pool()
        before = pool.total_bytes()
        run()
        return [f"cuda:{cupy.cuda.runtime.getDevice()}"] if pool.total_bytes() > before else []

    def time_on_device(self, run: Callable[[], object], *, device: str, held_s: float) -> DeviceSpan | None:
        """Time by CUDA events; return None if the device is not the current one."""
        if unavailable() is not None or device != f"cuda:{cupy.cuda.runtime.getDevice()}":
            return None
        stream = cupy.cuda.get_current_stream()
        begin, end = cupy.cuda.Event(), cupy.cuda.Event()
        _spin()((1,), (1,), (np.int64(held_s * FASTEST_CLOCK_HZ),))
        begin.record(stream)
        run()
        end.record(stream)
        queued = not _has_reached(begin)
        end.synchronize()
        return DeviceSpan(device_s=cupy.cuda.get_elapsed_time(begin, end) / 1000, queued=queued)

    def why_unavailable(self, error: BaseException) -> Reason | None:
        """Return that no device is there, if CuPy raised the error for that: its own message names the driver."""
        return unavailable() if type(error).__module__.startswith("cupy") else None

    def is_out_of_memory(self, error: BaseException) -> bool:
        """Return whether the host, CuPy's pool or a CUDA library ran out of memory."""
        if isinstance(error, MemoryError):
            return True
        return type(error).__module__.startswith("cupy") and any(name in str(error) for name in _OUT_OF_MEMORY)

    def reset_peak_memory(self) -> None:
        """Give the pool's free blocks back to the driver, so that the pool starts to grow again."""
        self.empty_cache()
        self._has_bypassed_pool = False

    def peak_memory_bytes(self) -> int | None:
        """Return the size of the default pool; None if it is empty, or if arrays bypassed it.

        The size is the peak, since the pool grows as needed and gives nothing back by itself. The pool counts whole
        blocks, so its size is a little above the sum of the arrays that were alive at one time.
        """
        if unavailable() is not None or self._has_bypassed_pool:
            return None
        return int(cupy.get_default_memory_pool().total_bytes()) or None

    @contextmanager
    def without_pool(self) -> Iterator[None]:
        """Allocate every array by the driver instead of the pool; the peak does not count these arrays."""
        self._has_bypassed_pool = True
        with namespace().cuda.using_allocator(None):
            yield

    def empty_cache(self) -> None:
        """Drop unreachable cycles, the work areas of FFT plans, and the free blocks of CuPy's memory pools."""
        gc.collect()
        if unavailable() is None:
            cupy.fft.config.get_plan_cache().clear()
            cupy.get_default_memory_pool().free_all_blocks()
            cupy.get_default_pinned_memory_pool().free_all_blocks()

    def cache_flush(self) -> Callable[[], object]:
        """Return a function that overwrites the current device's L2 cache."""
        if unavailable() is not None:
            return lambda: None
        size_bytes = cupy.cuda.Device().attributes["L2CacheSize"]
        buffer = cupy.empty(FLUSH_TIMES * size_bytes, cupy.uint8)
        return lambda: buffer.fill(0)

    def warm_up(self, devices: Collection[str]) -> None:
        """Multiply on these devices, which initialises cuBLAS and the kernel compiler."""
        for device in devices:
            with cupy.cuda.Device(int(device.partition(":")[2])):
                square = cupy.ones((4, 4), np.float32)
                square @ square

    def seed(self, seed: int) -> None:
        """Seed the generators of Python, NumPy and CuPy."""
        host.seed(seed)
        if unavailable() is None:
            cupy.random.seed(seed)

    def switches(self) -> Mapping[str, Switch]:
        """Return the current device, on which work runs that names none."""
        if unavailable() is not None:
            return {}
        runtime = cupy.cuda.runtime
        return {"cupy.cuda.runtime.getDevice()": Switch(read=runtime.getDevice, write=runtime.setDevice)}

    def accelerators(self) -> tuple[str, ...]:
        """Return the CUDA devices that CuPy sees."""
        if unavailable() is not None:
            return ()
        return tuple(f"cuda:{index}" for index in range(cupy.cuda.runtime.getDeviceCount()))

    def current_accelerator(self) -> str | None:
        """Return the device that CuPy is set to."""
        return None if unavailable() is not None else f"cuda:{cupy.cuda.runtime.getDevice()}"

    def gpu_uuids(self) -> Mapping[str, str]:
        """Return the UUIDs of the open devices."""
        return {} if unavailable() is not None else open_gpus("cuda")

    def devices(self) -> tuple[Device, ...]:
        """Return the CUDA devices with their names and memory."""
        return tuple(_device(index) for index in range(len(self.accelerators())))

    def describe(self) -> dict[str, str]:
        """Return NumPy's configuration and the versions of CuPy, of the CUDA runtime and of the driver's CUDA."""
        facts = host.configuration()
        if cupy is not None:
            facts["cupy.version"] = cupy.__version__
            facts["cupy.built_for"] = f"CUDA {_format_version(cupy.cuda.runtime.runtimeGetVersion())}"
            facts["cupy.nvrtc"] = _nvrtc()
        if (why := unavailable()) is not None:
            return facts | {"cupy.unavailable": str(why)}
        return facts | {"cupy.cuda_driver": _format_version(cupy.cuda.runtime.driverGetVersion())}


def _has_reached(event: Any) -> bool:
    """Return whether the device has reached an event.

    ``event.done`` would leave "not ready" behind as CUDA's last error, at which Thrust fails. CuPy clears an error that
    it raises.
    """
    try:
        cupy.cuda.get_elapsed_time(event, event)
    except cupy.cuda.runtime.CUDARuntimeError:
        return False
    return True


@cache
def _spin() -> Any:
    """Return a kernel that occupies its stream for a number of cycles."""
    return cupy.RawKernel(_SPIN, "spin")


def _device(index: int) -> Device:
    facts = cupy.cuda.runtime.getDeviceProperties(index)
    return Device(label=f"cuda:{index}", name=facts["name"].decode(), memory_bytes=int(facts["totalGlobalMem"]))


def _nvrtc() -> str:
    """Return the version of NVRTC, by which CuPy compiles its kernels."""
    try:
        return ".".join(str(part) for part in cupy.cuda.nvrtc.getVersion())
    except (RuntimeError, OSError, ImportError):  # CuPy 14 loads it on first use
        return "not found"


def _format_version(version: int) -> str:
    """Return CUDA's version number, such as 12040, as text, such as ``12.4``."""
    return f"{version // 1000}.{version % 1000 // 10}"


framework = Cupy()
