"""The adapter of NumPy, and of everything else that runs on the host alone."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import numpy as np

from harness.frameworks import host
from harness.frameworks.protocol import Device, DeviceSpan, Index, Leaf


class Numpy:
    """Work on the host: nothing runs on when a call has returned."""

    name = "numpy"

    def __init__(self) -> None:
        self._tracing = False
        self._before_bytes = 0

    def synchronize(self) -> None:
        """Return at once."""

    def to_host(self, output: Any) -> list[np.ndarray]:
        """Return the arrays in ``output`` in float64."""
        return host.arrays(output)

    def leaf(self, array: Any) -> Leaf | None:
        """Describe an array of NumPy's."""
        return host.leaf(array)

    def item(self, array: Any, index: Index) -> Any:
        """Return a copy of one item."""
        return host.item(array, index)

    def put(self, array: Any, index: Index, values: Any) -> Any:
        """Write an item in place, or into a copy of a read-only array."""
        return host.put(array, index, values)

    def kernels(self, run: Callable[[], object]) -> int | None:  # noqa: ARG002  nothing to count
        """Return 0: NumPy knows no accelerator."""
        return 0

    def device_span(self, run: Callable[[], object], *, device: str, held_s: float) -> DeviceSpan | None:  # noqa: ARG002
        """Return None: there is no device with a clock of its own."""
        return None

    def compilations(self) -> int:
        """Return 0: NumPy compiles nothing."""
        return 0

    def is_out_of_memory(self, error: BaseException) -> bool:
        """Say whether the error is Python's MemoryError, which NumPy raises too."""
        return isinstance(error, MemoryError)

    def reset_peak_memory(self) -> None:
        """Start tracing allocations, which slows Python code: for the memory pass only."""
        if not tracemalloc.is_tracing():
            tracemalloc.start()
            self._tracing = True
        tracemalloc.reset_peak()
        self._before_bytes = tracemalloc.get_traced_memory()[0]

    def peak_memory_bytes(self) -> int | None:
        """Return the rise of what Python and NumPy allocated since the reset, and stop tracing."""
        if not tracemalloc.is_tracing():
            return None
        peak_bytes = tracemalloc.get_traced_memory()[1]
        self.free()
        return peak_bytes - self._before_bytes

    def free(self) -> None:
        """Stop the tracing that a memory pass began; NumPy itself caches nothing."""
        if self._tracing:
            tracemalloc.stop()
            self._tracing = False

    def cache_flush(self) -> Callable[[], object]:
        """Return what does nothing: there is no accelerator."""
        return lambda: None

    def wake(self) -> None:
        """Do nothing: there is no accelerator."""

    def seed(self, seed: int) -> None:
        """Seed Python's and NumPy's global generators."""
        host.seed(seed)

    def full_float32(self) -> AbstractContextManager[None]:
        """Change nothing: float32 is computed in float32."""
        return nullcontext()

    def accelerators(self) -> tuple[str, ...]:
        """Return none."""
        return ()

    def devices(self) -> tuple[Device, ...]:
        """Return none."""
        return ()

    def describe(self) -> dict[str, str]:
        """Return NumPy's version, vector instructions, BLAS library and threads, and which compilers are beside it."""
        return host.configuration() | host.versions("numba", "numexpr")


framework = Numpy()
