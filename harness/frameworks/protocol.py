"""What the measuring wing asks of a framework."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from typing import Any, Protocol, cast

import numpy as np

from harness.errors import BadInput, Unavailable

Index = int | tuple[()]  # of an item along the first axis; () where an array has none
FRAMEWORKS = ("numpy", "torch", "tensorflow", "cupy")  # that are installed; "fake" needs nothing
FASTEST_CLOCK_HZ = 3e9  # hardly a GPU has a faster clock: so many cycles last a second or longer
FLUSH_TIMES = 2  # so many times a cache's size is written over it, which need not evict the oldest first


@dataclass(frozen=True, kw_only=True)
class Device:
    """An accelerator as a framework sees it, ``label`` being the framework's word, such as ``cuda:0``."""

    label: str
    name: str
    memory_bytes: int | None = None


@dataclass(frozen=True, kw_only=True)
class Leaf:
    """An array as it lies on its device, ``"cpu"`` for the host or an accelerator's label."""

    device: str
    dtype: str
    shape: tuple[int, ...]
    nbytes: int


@dataclass(frozen=True, kw_only=True)
class DeviceSpan:
    """How long work took by a device's own clock.

    ``queued`` says whether all of it was launched before the device began; else the span holds waiting for the host.
    """

    device_s: float
    queued: bool


class Framework(Protocol):
    """The few things that differ between frameworks. An adapter module holds one as ``framework``."""

    name: str

    def synchronize(self) -> None:
        """Wait until every device of this framework has finished what was launched."""

    def to_host(self, output: Any) -> list[np.ndarray]:
        """Return the arrays in ``output``, however nested in tuples and mappings, as host arrays in float64.

        Raises:
            LazyOutput: it holds something else, which may compute its values when it is read.
        """

    def leaf(self, array: Any) -> Leaf | None:
        """Describe an array of this framework or of NumPy; None for what is none."""

    def item(self, array: Any, index: Index) -> Any:
        """Return a copy of one item of an array, where the array lies."""

    def put(self, array: Any, index: Index, values: Any) -> Any:
        """Return the array with an item of these values: itself, or a copy where arrays cannot be changed."""

    def kernels(self, run: Callable[[], object]) -> int | None:
        """Return how many pieces of work ``run`` starts on accelerators; None where that cannot be counted."""

    def device_span(self, run: Callable[[], object], *, device: str, held_s: float) -> DeviceSpan | None:
        """Time what ``run`` launches on a device's current stream, by events there, and wait for the last of them.

        The stream is held for at least ``held_s`` before, so that what is launched meanwhile waits in its queue. None
        where the device has no such clock, or is not the one that the framework uses now.
        """

    def compilations(self) -> int:
        """Return how many graphs were compiled so far; 0 where the framework does not tell."""

    def is_out_of_memory(self, error: BaseException) -> bool:
        """Say whether the error means that memory ran out, and nothing else."""

    def reset_peak_memory(self) -> None:
        """Start a new peak of the framework's allocator."""

    def peak_memory_bytes(self) -> int | None:
        """Return the allocator's peak since the reset, or None where it keeps none."""

    def free(self) -> None:
        """Give cached memory back, after arms were dropped."""

    def cache_flush(self) -> Callable[[], object]:
        """Return what writes over all that the current accelerator's last-level cache holds, with the memory for it.

        Raises:
            Unavailable: it cannot be told how much that is.
        """

    def wake(self) -> None:
        """Begin to use every accelerator and its libraries, for which else the first arm in a process would pay."""

    def seed(self, seed: int) -> None:
        """Seed the framework's generators."""

    def full_float32(self) -> AbstractContextManager[None]:
        """Return a context in which float32 is computed in no less, also where the framework by itself takes TF32."""

    def accelerators(self) -> tuple[str, ...]:
        """Return the accelerators it can use, such as ``("cuda:0",)``."""

    def devices(self) -> tuple[Device, ...]:
        """Return the same accelerators with their names and memory."""

    def describe(self) -> dict[str, str]:
        """Return the configuration that changes its speed: versions, build, threads, precision flags."""


def load(name: str) -> Framework:
    """Return the adapter of that name.

    Raises:
        BadInput: there is no such adapter.
        Unavailable: the framework is not installed.
    """
    if name not in (*FRAMEWORKS, "fake") or find_spec(f"harness.frameworks.{name}") is None:
        raise BadInput(f"unknown framework {name!r}; expected one of: {', '.join(FRAMEWORKS)}")
    try:
        return cast(Framework, import_module(f"harness.frameworks.{name}").framework)
    except ModuleNotFoundError as error:
        raise Unavailable(f"{error.name} is not installed: pip install 'accelbench[{name}]'") from None
