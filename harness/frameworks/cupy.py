"""The adapter of CuPy. It loads without CuPy and without a GPU, because the arms that run NumPy do."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import cache
from typing import Any

import numpy as np

from harness.errors import Unavailable
from harness.frameworks import host
from harness.frameworks.protocol import FASTEST_CLOCK_HZ, FLUSH_TIMES, Device, DeviceSpan, Index, Leaf

try:
    import cupy
except ImportError as failure:
    cupy = None
    _MISSING = (
        "cupy is not installed: pip install 'accelbench[cupy]'"
        if failure.name == "cupy"
        else f"cupy cannot be imported: {failure}"
    )

# CuPy's pool raises a MemoryError. With these fails what runtime, driver and libraries allocate for themselves, such as
# room for a kernel that is launched for the first time on a full device.
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
def unavailable() -> str | None:
    """Return the sentence saying why CuPy cannot compute here, or None where it can."""
    if cupy is None:
        return _MISSING
    runtime, why = cupy.cuda.runtime, ""
    try:
        if runtime.getDeviceCount():
            return None
    except runtime.CUDARuntimeError as error:
        why = f": {error}" if runtime.driverGetVersion() else ""  # without any driver, it calls that an old one
    return f"cupy {cupy.__version__} sees no CUDA device{why}"


def namespace() -> Any:
    """Return the ``cupy`` module.

    Raises:
        Unavailable: it is not installed or sees no device.
    """
    if (reason := unavailable()) is not None:
        raise Unavailable(reason)
    return cupy


class Cupy:
    """CuPy on its current CUDA device, and NumPy beside it."""

    name = "cupy"

    def __init__(self) -> None:
        self._past_pool = False  # whether arrays may have lain where no pool counts them, since the peak began

    def synchronize(self) -> None:
        """Wait for every stream of the current device."""
        if unavailable() is None:
            cupy.cuda.runtime.deviceSynchronize()

    def to_host(self, output: Any) -> list[np.ndarray]:
        """Return the arrays in ``output``, CuPy's and NumPy's, on the host in float64."""
        return host.arrays(output) if cupy is None else host.arrays(output, cupy.asnumpy, own=(cupy.ndarray,))

    def leaf(self, array: Any) -> Leaf | None:
        """Describe an array of CuPy's or NumPy's."""
        if cupy is None or not isinstance(array, cupy.ndarray):
            return host.leaf(array)
        device = f"cuda:{array.device.id}"
        return Leaf(device=device, dtype=array.dtype.name, shape=array.shape, nbytes=array.nbytes)

    def item(self, array: Any, index: Index) -> Any:
        """Return a copy of one item."""
        return host.item(array, index) if host.leaf(array) else array[index].copy()

    def put(self, array: Any, index: Index, values: Any) -> Any:
        """Write an item in place, or into a copy of a read-only array of NumPy's."""
        if host.leaf(array):
            return host.put(array, index, values)
        array[index] = values
        return array

    def kernels(self, run: Callable[[], object]) -> int | None:  # noqa: ARG002  nothing to count
        """Return 0 where there is no device; CuPy has no profiler that counts."""
        return None if self.accelerators() else 0

    def device_span(self, run: Callable[[], object], *, device: str, held_s: float) -> DeviceSpan | None:
        """Time by the events of CUDA on the current device; None on another."""
        if unavailable() is not None or device != f"cuda:{cupy.cuda.runtime.getDevice()}":
            return None
        stream = cupy.cuda.get_current_stream()
        begin, end = cupy.cuda.Event(), cupy.cuda.Event()
        _spin()((1,), (1,), (np.int64(held_s * FASTEST_CLOCK_HZ),))
        begin.record(stream)
        run()
        end.record(stream)
        queued = not _reached(begin)
        end.synchronize()
        return DeviceSpan(device_s=cupy.cuda.get_elapsed_time(begin, end) / 1000, queued=queued)

    def compilations(self) -> int:
        """Return 0: CuPy does not tell how many kernels it has compiled."""
        return 0

    def is_out_of_memory(self, error: BaseException) -> bool:
        """Say whether the host, CuPy's pool or a CUDA library ran out of memory."""
        if isinstance(error, MemoryError):
            return True
        ours = type(error).__module__.startswith("cupy")
        return ours and any(name in str(error) for name in _OUT_OF_MEMORY)

    def reset_peak_memory(self) -> None:
        """Give the pool's free blocks back to the driver, so that what the pool holds starts over."""
        self.free()
        self._past_pool = False

    def peak_memory_bytes(self) -> int | None:
        """Return what the default pool holds; None where it holds nothing, or not all that was put on the device.

        That is its peak, since it grows as needed and gives nothing back by itself. It counts whole blocks, as the
        device's memory does, and so lies a little above the sum of the arrays that were alive at one time.
        """
        if unavailable() is not None or self._past_pool:
            return None
        return int(cupy.get_default_memory_pool().total_bytes()) or None

    @contextmanager
    def without_pool(self) -> Iterator[None]:
        """Ask the driver for the memory of every array, which no peak counts."""
        self._past_pool = True
        with namespace().cuda.using_allocator(None):
            yield

    def free(self) -> None:
        """Drop what only cycles keep alive, the work areas of FFT plans, and what CuPy's memory pools hold free."""
        gc.collect()
        if unavailable() is None:
            cupy.fft.config.get_plan_cache().clear()
            cupy.get_default_memory_pool().free_all_blocks()
            cupy.get_default_pinned_memory_pool().free_all_blocks()

    def cache_flush(self) -> Callable[[], object]:
        """Return what writes over the current device's L2 cache."""
        if unavailable() is not None:
            return lambda: None
        size_bytes = cupy.cuda.Device().attributes["L2CacheSize"]
        buffer = cupy.empty(FLUSH_TIMES * size_bytes, cupy.uint8)
        return lambda: buffer.fill(0)

    def wake(self) -> None:
        """Multiply on the device, which starts cuBLAS and the compiler of kernels."""
        if unavailable() is None:
            square = cupy.ones((4, 4), np.float32)
            square @ square

    def seed(self, seed: int) -> None:
        """Seed the generators of Python, NumPy and CuPy."""
        host.seed(seed)
        if unavailable() is None:
            cupy.random.seed(seed)

    def full_float32(self) -> AbstractContextManager[None]:
        """Change nothing: CuPy takes TF32 only where CUPY_TF32 was set before it was imported, which is recorded."""
        return nullcontext()

    def accelerators(self) -> tuple[str, ...]:
        """Return the CUDA devices that CuPy sees."""
        if unavailable() is not None:
            return ()
        return tuple(f"cuda:{index}" for index in range(cupy.cuda.runtime.getDeviceCount()))

    def devices(self) -> tuple[Device, ...]:
        """Return the CUDA devices with their names and memory."""
        return tuple(_device(index) for index in range(len(self.accelerators())))

    def describe(self) -> dict[str, str]:
        """Return the versions of CuPy, the CUDA runtime and the driver's CUDA, beside NumPy's facts."""
        facts = host.configuration()
        if cupy is not None:
            facts["cupy.version"] = cupy.__version__
            facts["cupy.built_for"] = f"CUDA {_dotted(cupy.cuda.runtime.runtimeGetVersion())}"
            facts["cupy.nvrtc"] = _nvrtc()
        if (reason := unavailable()) is not None:
            return facts | {"cupy.unavailable": reason}
        return facts | {"cupy.cuda_driver": _dotted(cupy.cuda.runtime.driverGetVersion())}


def _reached(event: Any) -> bool:
    """Say whether the device has reached an event.

    Its ``done`` leaves "not ready" behind as CUDA's last error, at which Thrust fails; what CuPy raises, it clears.
    """
    try:
        cupy.cuda.get_elapsed_time(event, event)
    except cupy.cuda.runtime.CUDARuntimeError:
        return False
    return True


@cache
def _spin() -> Any:
    """Return a kernel that holds its stream for as many cycles as it is given."""
    return cupy.RawKernel(_SPIN, "spin")


def _device(index: int) -> Device:
    found = cupy.cuda.runtime.getDeviceProperties(index)
    return Device(label=f"cuda:{index}", name=found["name"].decode(), memory_bytes=int(found["totalGlobalMem"]))


def _nvrtc() -> str:
    """Return the version of the library by which CuPy compiles its kernels; without it CuPy can do next to nothing."""
    try:
        return ".".join(str(part) for part in cupy.cuda.nvrtc.getVersion())
    except (RuntimeError, OSError, ImportError):  # CuPy 14 looks for it when it is first needed
        return "not found"


def _dotted(version: int) -> str:
    """Return CUDA's version number, such as 12040, in the way people write it, such as 12.4."""
    return f"{version // 1000}.{version % 1000 // 10}"


framework = Cupy()
