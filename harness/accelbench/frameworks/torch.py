"""The adapter of PyTorch, for the CPU and any accelerator that ``torch.accelerator`` finds."""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass
from functools import cache, partial
from typing import Any

import numpy as np
import torch
from torch.backends import cudnn

from accelbench.errors import LazyOutput, Unavailable
from accelbench.frameworks import host
from accelbench.frameworks.cuda_driver import open_gpus
from accelbench.frameworks.host import ArrayInfo, ArrayMemory, Index
from accelbench.frameworks.protocol import FASTEST_CLOCK_HZ, FLUSH_TIMES, Device, DeviceSpan, Framework, Switch
from accelbench.text import name_type

# The CUDA calls that start work, as the profiler names them. With CUDA 12.6 to 13.0 the profiler loses the first
# kernels of a session, one more in each (https://github.com/pytorch/pytorch/issues/192021), but not the calls. A
# replayed graph is one call and many kernels.
_CALLS = tuple(f"{api}{call}" for api in ("cuda", "cu") for call in ("Launch", "GraphLaunch", "Memcpy", "Memset"))

_SESSIONS = 4  # of the profiler, at most, until one is not blind
_EMPTY_SESSIONS = 2  # must agree that nothing was started

# Errors that are no torch.OutOfMemoryError: of the CPU's allocator on Linux and Windows, of the CUDA driver when it
# allocates pinned memory or a context or loads a Triton kernel, of cuBLAS for its handle, of cuDNN to version 8 and
# from 9.
_OUT_OF_MEMORY = (
    "DefaultCPUAllocator: can't allocate memory",
    "DefaultCPUAllocator: not enough memory",
    "CUDA error: out of memory",
    "HIP error: out of memory",
    "Triton Error [CUDA]: out of memory",
    "CUBLAS_STATUS_ALLOC_FAILED",
    "CUDNN_STATUS_ALLOC_FAILED",
    "CUDNN_STATUS_INTERNAL_ERROR_DEVICE_ALLOCATION_FAILED",
)
# cuDNN's convolutions fail so if no engine gets its workspace, but also if a build or a GPU lacks all engines.
_NO_ENGINE = "unable to find an engine to execute this computation"
# Errors of kernels that count elements with 32 bits: of depthwise convolutions (pytorch#80020), of padding, of pooling
# (pytorch#113833, pytorch#167253), of upsampling in older and in newer releases (pytorch#131252).
_TOO_LARGE = (
    "canUse32BitIndexMath",
    "must fit into 32-bit index math",
    "integer out of range",
    "numeric_limits<int>::max()",
    "numeric_limits<int32_t>::max()",
    "INT_MAX elements",
)
# Errors that have other causes too: of batch normalisation (pytorch#51776), of convolutions, and of kernels whose grid
# is computed with 32 bits (pytorch#185788).
_MAYBE_TOO_LARGE = ("CUDNN_STATUS_NOT_SUPPORTED", _NO_ENGINE, "CUDA error: invalid configuration argument")
_ALIGNMENT = 64  # of the memory of tensors on the host, c10/core/alignment.h
_NEARLY_FULL = 0.25  # a GPU is nearly full if less than this share of its memory is free
# The newer switches of float32's precision, by backend and operation. One of an operation that says "none" follows its
# backend's, and one of a backend that of all. They are set by these names, because the setter of
# torch.backends.mkldnn.fp32_precision sets that of all.
_FLOAT32_BACKENDS = (("generic", "all"), ("cuda", "all"), ("mkldnn", "all"))
_FLOAT32_OPERATIONS = tuple((backend, part) for backend in ("cuda", "mkldnn") for part in ("matmul", "conv", "rnn"))


@cache
def _accelerators() -> tuple[str, ...]:
    found = torch.accelerator.current_accelerator(check_available=True)
    return () if found is None else tuple(f"{found.type}:{i}" for i in range(torch.accelerator.device_count()))


def _open_accelerators() -> list[str]:
    """Return the accelerators on which this process may have launched something."""
    devices = list(_accelerators())
    if not devices or not devices[0].startswith("cuda"):
        return devices
    if not torch.cuda.is_initialized():
        return []
    has_context = torch._C._cuda_hasPrimaryContext  # noqa: SLF001  there is no public function
    return [device for place, device in enumerate(devices) if has_context(place)]


class Torch(Framework):
    """PyTorch on the CPU and every accelerator of the current kind."""

    name = "torch"

    @property
    def profiles(self) -> bool:
        """Whether kernels are counted by the profiler, which stays attached to CUPTI and slows down what follows.

        By 10 to 20 % were seen: https://github.com/pytorch/pytorch/pull/146604.
        """
        return bool(_accelerators())

    def synchronize(self) -> None:
        """Wait for every accelerator that is open; waiting for another one would open it."""
        for device in _open_accelerators():
            torch.accelerator.synchronize(device)

    def to_host(self, output: Any) -> list[np.ndarray]:
        """Return the tensors, arrays and values in ``output`` on the host, numbers in float64.

        Raises:
            LazyOutput: it holds a tensor of a type that computes when it is read, or something else that may.
        """
        return host.arrays(output, _to_numpy, own=(torch.Tensor,))

    def array_info(self, array: Any) -> ArrayInfo | None:
        """Describe a tensor or a NumPy array."""
        if not isinstance(array, torch.Tensor):
            return host.array_info(array)
        dtype = str(array.dtype).removeprefix("torch.")
        return ArrayInfo(device=str(array.device), dtype=dtype, shape=tuple(array.shape), nbytes=array.nbytes)

    def memory_of(self, array: Any) -> ArrayMemory | None:
        """Return the memory of a tensor or a NumPy array; None for tensors with more than numbers and a layout."""
        if not isinstance(array, torch.Tensor):
            return host.memory_of(array)
        if type(array) is not torch.Tensor or array.layout != torch.strided or array.device.type != "cpu":
            return None
        if vars(array) or not array.is_leaf or array.is_quantized or array.is_conj() or array.is_neg():
            return None
        storage = array.untyped_storage()
        layout = array.dtype, array.storage_offset(), tuple(array.shape), array.stride(), array.requires_grad
        memory = host.bytes_at(storage.data_ptr(), storage.nbytes(), storage)
        return ArrayMemory(root=memory, rebuild=_rebuild, arguments=layout, alignment=_ALIGNMENT)

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

    def roll(self, array: Any, shift: int, axis: int) -> Any:
        """Return a copy of a tensor or an array whose elements are moved along an axis."""
        if not isinstance(array, torch.Tensor):
            return super().roll(array, shift, axis)
        return torch.roll(array.detach(), shift, axis)

    def kernels(self, run: Callable[[], object]) -> int | None:
        """Return what the profiler counts on accelerators; None if it sees too little of a test kernel.

        Drivers may reserve their counters to the administrator. A single session may be blind, too, as where the end of
        an earlier one detaches the profiler from it (https://github.com/pytorch/kineto/pull/1554). So each contains a
        test kernel, and only several sessions that saw it, and nothing else, show that ``run`` starts nothing.
        """
        if not _accelerators():
            return 0
        alone = next(filter(None, (_count_profiled(_nothing) for _ in range(_SESSIONS))), 0)
        empty = 0
        for _ in range(_SESSIONS if alone else 0):
            counted = _count_profiled(run)
            if counted > alone:
                return counted - alone
            empty += counted == alone
            if empty == _EMPTY_SESSIONS:
                return 0
        return None

    def time_on_device(self, run: Callable[[], object], *, device: str, held_s: float) -> DeviceSpan | None:
        """Time by CUDA events; return None for other accelerators, whose streams PyTorch cannot hold."""
        if torch.version.cuda is None or not _accelerators() or device != f"cuda:{torch.cuda.current_device()}":
            return None
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        torch.cuda._sleep(round(held_s * FASTEST_CLOCK_HZ))  # noqa: SLF001  no public function holds a stream
        begin.record()
        run()
        end.record()
        queued = not begin.query()
        end.synchronize()
        return DeviceSpan(device_s=begin.elapsed_time(end) / 1000, queued=queued)

    def compilations(self) -> int:
        """Return how many graphs torch.compile has made."""
        dynamo = sys.modules.get("torch._dynamo.utils")
        return int(dynamo.counters["stats"]["unique_graphs"]) if dynamo else 0

    def is_out_of_memory(self, error: BaseException) -> bool:
        """Return whether the host's or an accelerator's allocator ran out of memory."""
        if isinstance(error, torch.OutOfMemoryError | MemoryError):
            return True
        if not isinstance(error, RuntimeError):
            return False
        return any(text in str(error) for text in _OUT_OF_MEMORY) or (_NO_ENGINE in str(error) and _nearly_full())

    def is_too_large(self, error: BaseException, *, smaller_ran: bool) -> bool:
        """Return whether a kernel cannot count the elements of a tensor."""
        texts = (*_TOO_LARGE, *_MAYBE_TOO_LARGE) if smaller_ran else _TOO_LARGE
        return isinstance(error, RuntimeError) and any(text in str(error) for text in texts)

    def reset_peak_memory(self) -> None:
        """Start a new peak on every accelerator that has one."""
        for device in _open_accelerators():
            if _peak_bytes(device):  # before CUDA is initialised there is none, and older releases fail to reset it
                torch.accelerator.reset_peak_memory_stats(device)

    def peak_memory_bytes(self) -> int | None:
        """Return the sum of the accelerators' peaks; None if none keeps a peak or nothing was put on any."""
        return sum(_peak_bytes(device) or 0 for device in _open_accelerators()) or None

    def empty_cache(self) -> None:
        """Drop unreachable cycles, and give the allocators' cached memory back.

        With CUDA, also the workspaces of cuBLAS, one for every stream that ever multiplied, and page-locked memory: the
        next peak would include the former, and not the latter, which would come from the cache. See
        https://docs.pytorch.org/docs/stable/notes/cuda.html#cublas-workspaces.
        """
        gc.collect()
        if torch.cuda.is_initialized():
            torch._C._cuda_clearCublasWorkspaces()  # noqa: SLF001  there is no public function
            torch._C._host_emptyCache()  # noqa: SLF001  public in later releases only
        if _accelerators():
            torch.accelerator.empty_cache()

    def cache_flush(self) -> Callable[[], object]:
        """Return a function that overwrites the current GPU's L2 cache, if PyTorch shows its size (CUDA, ROCm)."""
        if not _accelerators():
            return lambda: None
        if not torch.cuda.is_available():
            raise Unavailable(f"the cache of {_accelerators()[0]} cannot be flushed: PyTorch does not tell its size")
        size_bytes = torch.cuda.get_device_properties().L2_cache_size
        buffer = torch.empty(FLUSH_TIMES * size_bytes, dtype=torch.uint8, device="cuda")
        return lambda: buffer.zero_()

    def warm_up(self, devices: Collection[str]) -> None:
        """Multiply and convolve on these accelerators, which initialises cuBLAS and cuDNN for CUDA."""
        for device in devices:
            square = torch.ones(1, 1, 4, 4, device=device)
            torch.nn.functional.conv2d(square @ square, square)

    def seed(self, seed: int) -> None:
        """Seed the generators of Python, NumPy and every device of PyTorch."""
        host.seed(seed)
        torch.manual_seed(seed)

    def disable_tf32(self) -> AbstractContextManager[None]:
        """Forbid TF32 in convolutions, where cuDNN uses it by default, and in products."""
        return float32_precision("highest")

    def precision_restored(self) -> AbstractContextManager[None]:
        """Put the older and the newer switches of TF32 back."""
        return float32_switches_restored()

    def switches(self) -> Mapping[str, Switch]:
        """Return the defaults, modes, flags and number of threads that hold for the whole process."""
        return _switches()

    def namespaces(self) -> Mapping[str, Any]:
        """Return the modules and classes of which most models consist."""
        return {
            "torch": torch,
            "torch.nn.functional": torch.nn.functional,
            "torch.linalg": torch.linalg,
            "torch.Tensor": torch.Tensor,
            "torch.nn.Module": torch.nn.Module,
            "torch.optim.Optimizer": torch.optim.Optimizer,
        }

    def accelerators(self) -> tuple[str, ...]:
        """Return the accelerators that PyTorch can use."""
        return _accelerators()

    def current_accelerator(self) -> str | None:
        """Return the accelerator that ``torch.accelerator`` is set to."""
        if not _accelerators():
            return None
        return f"{_accelerators()[0].partition(':')[0]}:{torch.accelerator.current_device_index()}"

    def gpu_uuids(self) -> Mapping[str, str]:
        """Return the UUIDs of the open GPUs; none for accelerators of other makers."""
        return open_gpus("cuda") if torch.version.cuda else {}

    def devices(self) -> tuple[Device, ...]:
        """Return the accelerators with their names, and their memory if PyTorch shows it."""
        return tuple(_device(label) for label in _accelerators())

    def describe(self) -> dict[str, str]:
        """Return versions, the platform PyTorch was built for, threads, and the flags of precision and determinism."""
        facts = {
            "torch.version": str(
                torch.__version__
            ),  # its own type is a class of PyTorch, which unpickling would import
            "torch.built_for": _build_target(),
            "torch.cudnn": _cudnn(),
            "torch.architectures": " ".join(torch.cuda.get_arch_list()),
            "torch.cpu_capability": torch.backends.cpu.get_cpu_capability(),
            "torch.threads": str(torch.get_num_threads()),
            "torch.interop_threads": str(torch.get_num_interop_threads()),
            "torch.float32_matmul_precision": "high" if _get_precision("cuda", "matmul") == "tf32" else "highest",
            "torch.cudnn_conv_precision": cudnn.conv.fp32_precision,
            "torch.cudnn_benchmark": str(torch.backends.cudnn.benchmark),
            "torch.deterministic": str(torch.are_deterministic_algorithms_enabled()),
        }
        return facts | host.versions("transformers", "pillow")


def _nothing(*_: object) -> None:
    """Do nothing."""


def _count_profiled(run: Callable[[], object]) -> int:
    """Return how many kernels and copies a session of the profiler counts of ``run`` and of one test kernel."""
    activities = torch.profiler.supported_activities() - {torch.profiler.ProfilerActivity.CPU}
    if not activities:
        return 0
    # A session has one cycle, so nothing accumulates; but without ``acc_events`` PyTorch 2.11 warns that nothing does.
    with torch.profiler.profile(activities=activities, acc_events=True) as profile:
        run()
        torch.ones(1, device=_accelerators()[0])
        framework.synchronize()
    events = profile.events() or ()
    seen: int = sum(event.device_type != torch.autograd.DeviceType.CPU for event in events)
    calls: int = sum(event.name.startswith(_CALLS) for event in events)
    return max(seen, calls)


def _to_numpy(leaf: torch.Tensor) -> np.ndarray:
    with torch._C.DisableTorchFunctionSubclass():  # noqa: SLF001  a derived type may compute in its methods
        if leaf.is_meta:
            raise LazyOutput(
                "the step returned a tensor on the device 'meta', which has no values: nothing was computed"
            )
        is_nested = leaf.is_nested
        if not is_nested and type(leaf).__torch_dispatch__ is torch.Tensor.__torch_dispatch__:
            return _numpy_of(torch.Tensor.detach(leaf))
    if not is_nested:
        raise LazyOutput(
            f"the step returned {name_type(leaf)}, a tensor that may compute its values only when it is read, "
            "after the clock has stopped; return a plain tensor"
        )
    return _numpy_of(torch.nested.to_padded_tensor(leaf.detach(), 0))


def _numpy_of(tensor: torch.Tensor) -> np.ndarray:
    if tensor.layout != torch.strided:
        tensor = tensor.to_dense()
    elif tensor.is_quantized:
        tensor = tensor.dequantize()
    tensor = tensor.cpu().resolve_conj().resolve_neg()
    # NumPy has no bfloat16.
    return np.asarray((tensor.double() if tensor.is_floating_point() else tensor).numpy())


def _rebuild(
    memory: np.ndarray,
    dtype: torch.dtype,
    offset: int,
    shape: tuple[int, ...],
    strides: tuple[int, ...],
    requires_grad: bool,
) -> torch.Tensor:
    storage = torch.frombuffer(memory, dtype=torch.uint8).untyped_storage()
    return torch.empty(0, dtype=dtype).set_(storage, offset, shape, strides).requires_grad_(requires_grad)


def _peak_bytes(device: str) -> int | None:
    try:
        return int(torch.accelerator.max_memory_allocated(device))
    except RuntimeError:  # Apple's MPS keeps none in older releases
        return None


def _build_target() -> str:
    if torch.version.cuda:
        return f"CUDA {torch.version.cuda}"
    if torch.version.hip:
        return f"HIP {torch.version.hip}"
    return f"XPU {torch.version.xpu}" if torch.version.xpu else "CPU"


def _cudnn() -> str:
    """Return cuDNN's version number, or the error by which PyTorch refuses the installed version."""
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


def _nearly_full() -> bool:
    memories = (torch.cuda.mem_get_info(device) for device in _open_accelerators())
    return any(free < _NEARLY_FULL * total for free, total in memories)


@dataclass(frozen=True, kw_only=True)
class Float32Switches:
    """All of PyTorch's switches of float32's precision: the two older ones, and the newer ones by what they switch.

    The getters of the older ones raise where the newer ones say something else
    (https://github.com/pytorch/pytorch/issues/179445), as in every program that follows PyTorch's advice to set only
    those. The newer getters return what an operation inherits instead of "none". So each switch is read while those
    that it depends on are out of the way.
    """

    products: str
    convolutions: bool
    newer: Mapping[tuple[str, str], str]

    @classmethod
    def read(cls) -> Float32Switches:
        """Return the switches as they are."""
        newer = {}
        for switch in (*_FLOAT32_BACKENDS, *_FLOAT32_OPERATIONS):
            newer[switch] = _get_precision(*switch)
            _set_precision(*switch, "none")
        products = torch.get_float32_matmul_precision()
        convolutions = _allows_tf32_in_convolutions()
        found = cls(products=products, convolutions=convolutions, newer=newer)
        found.write()
        return found

    def write(self) -> None:
        """Set all switches."""
        torch.set_float32_matmul_precision(self.products)
        cudnn.allow_tf32 = self.convolutions
        for switch, precision in self.newer.items():
            _set_precision(*switch, precision)


def _get_precision(backend: str, operation: str) -> str:
    return str(torch._C._get_fp32_precision_getter(backend, operation))  # noqa: SLF001  see _FLOAT32_BACKENDS


def _set_precision(backend: str, operation: str, precision: str) -> None:
    torch._C._set_fp32_precision_setter(backend, operation, precision)  # noqa: SLF001  see _FLOAT32_BACKENDS


def _allows_tf32_in_convolutions() -> bool:
    """Return the older switch of convolutions, whose getter raises unless the newer ones, which are "none", agree."""
    with suppress(RuntimeError):
        return bool(cudnn.allow_tf32)
    return True


@contextmanager
def float32_switches_restored() -> Iterator[None]:
    """Put all switches of float32's precision back at the end of the context, whatever was set within it."""
    before = Float32Switches.read()
    try:
        yield
    finally:
        before.write()


@contextmanager
def float32_precision(level: str) -> Iterator[None]:
    """Compute products and convolutions of float32 in float32 (``"highest"``) or TF32 (``"high"``) within the context.

    The older switches are set because PyTorch reads them when it compiles, and the newer ones so that no setting of a
    whole library shows through. If only the newer ones were set, reading the older ones would be an error.
    """
    with float32_switches_restored():
        torch.set_float32_matmul_precision(level)
        cudnn.allow_tf32 = level == "high"
        for switch in _FLOAT32_OPERATIONS:
            _set_precision(*switch, "tf32" if level == "high" else "ieee")
        yield


@contextmanager
def thread_count(count: int) -> Iterator[None]:
    """Let ``count`` threads work on one operation, and restore their number afterwards."""
    before = torch.get_num_threads()
    torch.set_num_threads(count)
    try:
        yield
    finally:
        torch.set_num_threads(before)


@cache
def _switches() -> dict[str, Switch]:
    """Return PyTorch's settings that hold for the whole process.

    Inference mode stands before gradients, which it switches, and the default device before the modes, of which it is
    one. Nothing public tells whether the profiler runs.
    """
    found = {
        "torch.get_default_dtype()": Switch(read=torch.get_default_dtype, write=torch.set_default_dtype),
        "torch.get_default_device()": Switch(read=torch.get_default_device, write=_set_default_device),
        "torch.overrides.TorchFunctionMode": Switch(read=_function_modes, write=_leave_function_modes),
        "torch.is_inference_mode_enabled()": Switch(read=torch.is_inference_mode_enabled, write=_set_inference_mode),
        "torch.is_grad_enabled()": Switch(read=torch.is_grad_enabled, write=torch.set_grad_enabled),
        "torch.is_anomaly_enabled()": Switch(
            read=torch.is_anomaly_enabled, write=lambda wanted: torch.autograd.set_detect_anomaly(wanted)
        ),
        "torch.get_deterministic_debug_mode()": Switch(
            read=torch.get_deterministic_debug_mode, write=torch.set_deterministic_debug_mode
        ),
        "torch.get_num_threads()": Switch(read=torch.get_num_threads, write=torch.set_num_threads),
        "the precision of float32": Switch(read=Float32Switches.read, write=Float32Switches.write),
        "torch.is_autocast_cache_enabled()": Switch(
            read=torch.is_autocast_cache_enabled, write=torch.set_autocast_cache_enabled
        ),
        "torch.set_flush_denormal()": Switch(read=_flushes_denormal, write=torch.set_flush_denormal),
        "the profiler of torch.autograd": Switch(read=torch._C._autograd._profiler_enabled, write=_nothing),  # noqa: SLF001
        "the hooks of all torch.nn.Module": Switch(read=_read_hooks, write=_write_hooks),
    }
    if _accelerators():
        found["torch.accelerator.current_device_index()"] = Switch(
            read=torch.accelerator.current_device_index, write=torch.accelerator.set_device_index
        )
    for kind in ("cpu", *{device.partition(":")[0] for device in _accelerators()}):
        found[f"torch.is_autocast_enabled({kind!r})"] = Switch(
            read=partial(torch.is_autocast_enabled, kind), write=partial(torch.set_autocast_enabled, kind)
        )
        found[f"torch.get_autocast_dtype({kind!r})"] = Switch(
            read=partial(torch.get_autocast_dtype, kind), write=partial(torch.set_autocast_dtype, kind)
        )
    for kernel in ("flash", "mem_efficient", "math", "cudnn"):
        found[f"torch.backends.cuda.{kernel}_sdp_enabled()"] = Switch(
            read=getattr(torch.backends.cuda, f"{kernel}_sdp_enabled"),
            write=getattr(torch.backends.cuda, f"enable_{kernel}_sdp"),
        )
    products = "allow_fp16_reduced_precision_reduction", "allow_bf16_reduced_precision_reduction"
    flags = [
        *(("torch.backends.cudnn", cudnn, name) for name in ("enabled", "benchmark", "deterministic")),
        *(("torch.backends.cuda.matmul", torch.backends.cuda.matmul, name) for name in products),
        ("torch.backends.mkldnn", torch.backends.mkldnn, "enabled"),
        ("torch.backends.opt_einsum", torch.backends.opt_einsum, "enabled"),
        ("torch.utils.deterministic", torch.utils.deterministic, "fill_uninitialized_memory"),
    ]
    for place, owner, name in flags:
        if hasattr(owner, name):  # older releases lack some
            found[f"{place}.{name}"] = Switch(read=partial(getattr, owner, name), write=partial(setattr, owner, name))
    return found


def _set_default_device(device: torch.device) -> None:
    """Set the default device; that of the CPU is none, since a default that is set costs time in every call."""
    torch.set_default_device(None if device == torch.device("cpu") else device)


def _function_modes() -> int:
    """Return how many modes look at every call of a function of PyTorch; a default device is one of them."""
    return int(torch._C._len_torch_function_stack())  # noqa: SLF001  there is no public function


def _leave_function_modes(count: int) -> None:
    if _function_modes() > count and torch.get_default_device() == torch.device("cpu"):
        torch.set_default_device(None)
    while _function_modes() > count:
        torch._C._pop_torch_function_stack()  # noqa: SLF001  see _function_modes


_open_guards: list[Any] = []  # an inference mode ends when its object is deleted


def _set_inference_mode(enabled: bool) -> None:
    guard = torch.inference_mode(enabled)
    guard.__enter__()
    _open_guards.append(guard)


def _read_hooks() -> dict[str, dict[int, Any]]:
    """Return the hooks that every module calls, by the dictionary that holds them."""
    held = vars(torch.nn.modules.module)
    return {
        name: dict(hooks) for name, hooks in held.items() if name.startswith("_global_") and isinstance(hooks, dict)
    }


def _write_hooks(wanted: Mapping[str, Mapping[int, Any]]) -> None:
    for name, hooks in wanted.items():
        held = vars(torch.nn.modules.module)[name]
        held.clear()
        held.update(hooks)


def _flushes_denormal() -> bool:
    """Return whether this thread computes with zero in place of numbers that are too small for full precision."""
    return sys.float_info.min / 2 == 0.0


framework = Torch()
