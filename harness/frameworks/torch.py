"""The adapter of PyTorch, for whatever accelerator ``torch.accelerator`` finds, and for none."""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable
from contextlib import AbstractContextManager
from functools import cache
from typing import Any

import numpy as np
import torch

from harness.errors import LazyOutput, Unavailable
from harness.frameworks import host
from harness.frameworks.protocol import FASTEST_CLOCK_HZ, FLUSH_TIMES, Device, DeviceSpan, Index, Leaf
from harness.frameworks.torch_memory import ran_out_of_memory
from harness.frameworks.torch_precision import float32_precision

# The calls of CUDA that start work, as the profiler names them. With CUDA 12.6 to 13.0 it loses the first kernels of a
# session, one more in each (https://github.com/pytorch/pytorch/issues/192021), but not the calls. A replayed graph is
# one call and many kernels.
_CALLS = tuple(f"{api}{call}" for api in ("cuda", "cu") for call in ("Launch", "GraphLaunch", "Memcpy", "Memset"))


@cache
def _accelerators() -> tuple[str, ...]:
    found = torch.accelerator.current_accelerator(check_available=True)
    return () if found is None else tuple(f"{found.type}:{i}" for i in range(torch.accelerator.device_count()))


class Torch:
    """PyTorch on the CPU and every accelerator of the current kind."""

    name = "torch"

    def synchronize(self) -> None:
        """Wait for every accelerator."""
        for device in _accelerators():
            torch.accelerator.synchronize(device)

    def to_host(self, output: Any) -> list[np.ndarray]:
        """Return the tensors and arrays in ``output`` on the host in float64."""
        return host.arrays(output, _to_numpy, own=(torch.Tensor,))

    def leaf(self, array: Any) -> Leaf | None:
        """Describe a tensor, or an array of NumPy's."""
        if not isinstance(array, torch.Tensor):
            return host.leaf(array)
        dtype = str(array.dtype).removeprefix("torch.")
        return Leaf(device=str(array.device), dtype=dtype, shape=tuple(array.shape), nbytes=array.nbytes)

    def item(self, array: Any, index: Index) -> Any:
        """Return a copy of one item of a tensor or an array."""
        if not isinstance(array, torch.Tensor):
            return host.item(array, index)
        return array.detach()[index].clone()

    def put(self, array: Any, index: Index, values: Any) -> Any:
        """Write an item of a tensor or an array in place."""
        if not isinstance(array, torch.Tensor):
            return host.put(array, index, values)
        with torch.inference_mode(array.is_inference()), torch.no_grad():
            array[index] = values
        return array

    def kernels(self, run: Callable[[], object]) -> int | None:
        """Return what the profiler sees on accelerators; None where it then sees not even a launch that is known."""
        if not _accelerators():
            return 0
        return _profiled(run) or (0 if _profiler_sees_kernels() else None)

    def device_span(self, run: Callable[[], object], *, device: str, held_s: float) -> DeviceSpan | None:
        """Time by the events of CUDA; None for other accelerators, whose streams PyTorch cannot hold for a time."""
        if torch.version.cuda is None or not _accelerators() or device != f"cuda:{torch.cuda.current_device()}":
            return None
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        torch.cuda._sleep(round(held_s * FASTEST_CLOCK_HZ))  # noqa: SLF001  nothing public holds a stream
        begin.record()
        run()
        end.record()
        queued = not begin.query()
        end.synchronize()
        return DeviceSpan(device_s=begin.elapsed_time(end) / 1000, queued=queued)

    def compilations(self) -> int:
        """Return how many graphs torch.compile has made, where it was used."""
        dynamo = sys.modules.get("torch._dynamo.utils")
        return int(dynamo.counters["stats"]["unique_graphs"]) if dynamo else 0

    def is_out_of_memory(self, error: BaseException) -> bool:
        """Say whether the host's or an accelerator's allocator ran out of memory."""
        return ran_out_of_memory(error)

    def reset_peak_memory(self) -> None:
        """Start a new peak on every accelerator that has one."""
        for device in _accelerators():
            if _peak_bytes(device):  # before CUDA has begun there is none, and older releases fail to reset it
                torch.accelerator.reset_peak_memory_stats(device)

    def peak_memory_bytes(self) -> int | None:
        """Return the accelerators' peak; None where none keeps one or nothing was put on any."""
        return sum(_peak_bytes(device) or 0 for device in _accelerators()) or None

    def free(self) -> None:
        """Drop what only cycles keep alive, and give the allocators' cached memory back.

        With CUDA also the workspaces of cuBLAS, one for every stream that ever multiplied, and page-locked memory: the
        next peak would hold the former, and hide the latter, which is taken again from the cache. See
        https://docs.pytorch.org/docs/stable/notes/cuda.html#cublas-workspaces.
        """
        gc.collect()
        if torch.cuda.is_initialized():
            torch._C._cuda_clearCublasWorkspaces()  # noqa: SLF001  nothing public does it
            torch._C._host_emptyCache()  # noqa: SLF001  public in later releases only
        if _accelerators():
            torch.accelerator.empty_cache()

    def cache_flush(self) -> Callable[[], object]:
        """Return what writes over the current GPU's L2 cache, whose size PyTorch tells for CUDA and ROCm alone."""
        if not _accelerators():
            return lambda: None
        if not torch.cuda.is_available():
            raise Unavailable(f"the cache of {_accelerators()[0]} cannot be flushed: PyTorch does not tell its size")
        size_bytes = torch.cuda.get_device_properties().L2_cache_size
        buffer = torch.empty(FLUSH_TIMES * size_bytes, dtype=torch.uint8, device="cuda")
        return lambda: buffer.zero_()

    def wake(self) -> None:
        """Multiply and convolve on every accelerator, which for CUDA starts cuBLAS and cuDNN."""
        for device in _accelerators():
            square = torch.ones(1, 1, 4, 4, device=device)
            torch.nn.functional.conv2d(square @ square, square)

    def seed(self, seed: int) -> None:
        """Seed the generators of Python, NumPy and every device of PyTorch."""
        host.seed(seed)
        torch.manual_seed(seed)

    def full_float32(self) -> AbstractContextManager[None]:
        """Forbid TF32, which cuDNN takes by default, in convolutions and products alike."""
        return float32_precision("highest")

    def accelerators(self) -> tuple[str, ...]:
        """Return the accelerators that PyTorch can use."""
        return _accelerators()

    def devices(self) -> tuple[Device, ...]:
        """Return the accelerators with their names, and their memory where PyTorch tells it."""
        return tuple(_device(label) for label in _accelerators())

    def describe(self) -> dict[str, str]:
        """Return versions, what PyTorch was built for, threads, and the flags of precision and determinism."""
        facts = {
            "torch.version": str(torch.__version__),  # a type of PyTorch's own, which a reader of it would import
            "torch.built_for": _built_for(),
            "torch.cudnn": _cudnn(),
            "torch.architectures": " ".join(torch.cuda.get_arch_list()),
            "torch.cpu_capability": torch.backends.cpu.get_cpu_capability(),
            "torch.threads": str(torch.get_num_threads()),
            "torch.interop_threads": str(torch.get_num_interop_threads()),
            "torch.float32_matmul_precision": torch.get_float32_matmul_precision(),
            "torch.cudnn_conv_precision": torch.backends.cudnn.conv.fp32_precision,
            "torch.cudnn_benchmark": str(torch.backends.cudnn.benchmark),
            "torch.deterministic": str(torch.are_deterministic_algorithms_enabled()),
        }
        return facts | host.versions("transformers", "pillow")


def _profiled(run: Callable[[], object]) -> int:
    """Return how many kernels and copies ``run`` starts on accelerators."""
    activities = torch.profiler.supported_activities() - {torch.profiler.ProfilerActivity.CPU}
    if not activities:
        return 0
    with torch.profiler.profile(activities=activities) as profile:
        run()
        framework.synchronize()
    events = profile.events() or ()
    seen: int = sum(event.device_type != torch.autograd.DeviceType.CPU for event in events)
    calls: int = sum(event.name.startswith(_CALLS) for event in events)
    return max(seen, calls)


def _profiler_sees_kernels() -> bool:
    """Say whether the profiler counts at all: drivers may keep their counters from all but the administrator."""
    return _profiled(lambda: torch.ones(1, device=_accelerators()[0])) > 0


def _to_numpy(leaf: torch.Tensor) -> np.ndarray:
    if leaf.is_meta:
        raise LazyOutput("the step returned a tensor on the device 'meta', which has no values: nothing was computed")
    tensor = leaf.detach().cpu().resolve_conj().resolve_neg()
    # NumPy has no bfloat16.
    return np.asarray((tensor.double() if tensor.is_floating_point() else tensor).numpy())


def _peak_bytes(device: str) -> int | None:
    try:
        return int(torch.accelerator.max_memory_allocated(device))
    except RuntimeError:  # Apple's MPS keeps none in older releases
        return None


def _built_for() -> str:
    if torch.version.cuda:
        return f"CUDA {torch.version.cuda}"
    if torch.version.hip:
        return f"HIP {torch.version.hip}"
    return f"XPU {torch.version.xpu}" if torch.version.xpu else "CPU"


def _cudnn() -> str:
    """Return cuDNN's version number, or the sentence by which PyTorch refuses the one that it found."""
    try:
        return str(torch.backends.cudnn.version())
    except RuntimeError as error:
        return str(error)


def _device(label: str) -> Device:
    ask = getattr(torch.get_device_module(label), "get_device_properties", None)  # Apple's MPS has none
    if ask is None:
        return Device(label=label, name=label)
    found = ask(label)
    return Device(label=label, name=str(found.name), memory_bytes=int(found.total_memory))


framework = Torch()
