"""What measuring asks of a framework, and the loader of the adapters."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from importlib import import_module
from typing import Any, cast

import numpy as np

from accelbench.errors import Unavailable, check_choice
from accelbench.frameworks import host
from accelbench.frameworks.host import ArrayInfo, ArrayMemory, Index
from accelbench.schema.reasons import Reason, reason

FRAMEWORKS = ("numpy", "torch", "tensorflow", "cupy")
# The adapter of each package whose objects are a framework's.
ADAPTERS = {"numpy": "numpy", "torch": "torch", "tensorflow": "tensorflow", "keras": "tensorflow", "cupy": "cupy"}
# Frameworks that a program uses if it has imported them. That TensorFlow is imported means little: other packages
# import it too, such as those that write for TensorBoard.
IN_USE_ONCE_IMPORTED = ("torch", "cupy")
# The variables of a framework that name the folders for kernels which were compiled at run time. Every worker has empty
# ones, or its first calls would compile nothing on a machine that has run them before. CuPy's compiler makes machine
# code (https://docs.cupy.dev/en/stable/reference/environment.html); for a GPU that is newer than the compiler it makes
# PTX, which the driver compiles and keeps
# (https://docs.nvidia.com/cuda/cuda-programming-guide/05-appendices/environment-variables.html).
KERNEL_CACHES = {"cupy": ("CUPY_CACHE_DIR", "CUDA_CACHE_PATH")}
FASTEST_CLOCK_HZ = 3e9  # hardly a GPU has a faster clock, so this many cycles last at least a second
FLUSH_TIMES = 2  # a flush writes this multiple of the cache's size, since a cache need not evict the oldest line first


@dataclass(frozen=True, kw_only=True)
class Device:
    """An accelerator; ``label`` is the framework's name for it, such as ``cuda:0``."""

    label: str
    name: str
    memory_bytes: int | None = None


@dataclass(frozen=True, kw_only=True)
class DeviceSpan:
    """How long work took by a device's own clock.

    ``queued`` says whether all of it was launched before the device began; if not, the span includes waiting for the
    host.
    """

    device_s: float
    queued: bool


@dataclass(frozen=True, kw_only=True)
class Switch:
    """A setting that all work in a process shares: what reads it, and what sets it to a value that was read."""

    read: Callable[[], Any]
    write: Callable[[Any], object]


class Framework:
    """What differs between frameworks. An adapter module holds an instance as ``framework``.

    The default bodies suit a framework that computes with NumPy's arrays on the host and has no accelerator.
    """

    name: str

    @property
    def profiles(self) -> bool:
        """Whether counting kernels attaches a profiler to this process, which may slow down what follows."""
        return False

    def synchronize(self) -> None:
        """Wait until every device on which this framework launched something has finished; start no other device."""

    def to_host(self, output: Any) -> list[np.ndarray]:
        """Return the arrays and values in ``output``, however nested, on the host: numbers in float64.

        What else there may be, such as texts, is described at :func:`accelbench.frameworks.host.arrays`.

        Raises:
            LazyOutput: it holds something that may compute its values when it is read.
            BadInput: it holds something that cannot be compared.
        """
        return host.arrays(output)

    def array_info(self, array: Any) -> ArrayInfo | None:
        """Describe an array of this framework or of NumPy; return None for anything else."""
        return host.array_info(array)

    def memory_of(self, array: Any) -> ArrayMemory | None:
        """Return the memory of an array of this framework or of NumPy that lies on the host; None for anything else."""
        return host.memory_of(array)

    def item(self, array: Any, index: Index) -> Any:
        """Return a copy of one item of an array, on the array's device."""
        return host.item(array, index)

    def put(self, array: Any, index: Index, values: Any) -> Any:
        """Write these values into an item; return the array, or a copy if the array cannot be changed."""
        return host.put(array, index, values)

    def roll(self, array: Any, shift: int, axis: int) -> Any:
        """Return a copy of an array whose elements are moved along an axis, those beyond its end to its beginning."""
        return np.roll(array, shift, axis)

    def kernels(self, run: Callable[[], object]) -> int | None:  # noqa: ARG002  the body of a host
        """Return how many pieces of work ``run`` starts on accelerators; None if they cannot be counted."""
        return None if self.accelerators() else 0

    def allocations(self, run: Callable[[], object]) -> list[str]:  # noqa: ARG002
        """Run, and return the accelerators on which ``run`` allocates memory.

        A framework that counts kernels, or whose allocator does not show it, returns none without running.
        """
        return []

    def time_on_device(self, run: Callable[[], object], *, device: str, held_s: float) -> DeviceSpan | None:  # noqa: ARG002
        """Time what ``run`` launches on a device's current stream, by events there, and wait for the last of them.

        The stream is held for at least ``held_s`` first, so that what is launched meanwhile waits in its queue. Return
        None if the device has no such clock, or is not the framework's current device.
        """
        return None

    def compilations(self) -> int:
        """Return how many graphs were compiled so far; 0 if the framework does not count them."""
        return 0

    def is_out_of_memory(self, error: BaseException) -> bool:
        """Return whether the error means that memory ran out, and nothing else."""
        return isinstance(error, MemoryError)

    def why_unavailable(self, error: BaseException) -> Reason | None:  # noqa: ARG002  the body of a host
        """Return why the framework cannot compute here, if an error of its own means that; None for other errors."""
        return None

    def is_too_large(self, error: BaseException, *, smaller_ran: bool) -> bool:  # noqa: ARG002  the body of a host
        """Return whether the error means that a kernel cannot count the elements of an array, as from 2**31 on.

        A message that may have other causes counts only if the same work ran with smaller arrays.
        """
        return False

    def reset_peak_memory(self) -> None:
        """Start a new peak of the framework's allocator."""

    def peak_memory_bytes(self) -> int | None:
        """Return the allocator's peak since the reset, or None if it keeps none."""
        return None

    def empty_cache(self) -> None:
        """Give cached memory back, after arms were dropped."""

    def cache_flush(self) -> Callable[[], object]:
        """Return a function that overwrites the current accelerator's last-level cache, and holds the memory for it.

        Raises:
            Unavailable: the size of the cache is unknown.
        """
        return lambda: None

    def warm_up(self, devices: Collection[str]) -> None:
        """Initialise these accelerators and their libraries; otherwise the first arm on each pays for that."""

    def seed(self, seed: int) -> None:
        """Seed the framework's generators, and those of Python and NumPy."""
        host.seed(seed)

    def disable_tf32(self) -> AbstractContextManager[None]:
        """Return a context in which float32 is computed in float32, even if the framework uses TF32 by default."""
        return nullcontext()

    def precision_restored(self) -> AbstractContextManager[None]:
        """Return a context after which the switches of float32's precision are as they were before."""
        return nullcontext()

    def switches(self) -> Mapping[str, Switch]:
        """Return the framework's settings that all work in this process shares, by what shows them to users.

        Reading them starts nothing. They are set in their order, since some set others with them.
        """
        return {}

    def namespaces(self) -> Mapping[str, Any]:
        """Return the modules and classes whose functions most work calls, by their names."""
        return {}

    def accelerators(self) -> tuple[str, ...]:
        """Return the accelerators it can use, such as ``("cuda:0",)``."""
        return ()

    def current_accelerator(self) -> str | None:
        """Return the accelerator on which work runs that names none; None without one."""
        return next(iter(self.accelerators()), None)

    def gpu_uuids(self) -> Mapping[str, str]:
        """Return the UUIDs of the NVIDIA GPUs that this process has opened, by the accelerators' labels."""
        return {}

    def devices(self) -> tuple[Device, ...]:
        """Return the same accelerators with their names and memory."""
        return ()

    def describe(self) -> dict[str, str]:
        """Return the configuration that changes its speed: versions, build, threads, precision flags."""
        return host.configuration()


def load(name: str) -> Framework:
    """Return the adapter of that name.

    Raises:
        BadInput: there is no such adapter.
        Unavailable: the framework is not installed.
    """
    check_choice(name, FRAMEWORKS, "framework")
    try:
        return cast(Framework, import_module(f"accelbench.frameworks.{name}").framework)
    except ModuleNotFoundError as error:
        raise Unavailable(reason("not-installed", package=str(error.name), install=f"'accelbench[{name}]'")) from None
