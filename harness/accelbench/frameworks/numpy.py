"""The adapter of NumPy, and of everything else that runs on the host alone."""

from __future__ import annotations

import tracemalloc

from accelbench.frameworks import host
from accelbench.frameworks.protocol import Framework


class Numpy(Framework):
    """Work on the host: when a call has returned, nothing is still running."""

    name = "numpy"

    def __init__(self) -> None:
        self._is_tracing = False
        self._before_bytes = 0

    def reset_peak_memory(self) -> None:
        """Start tracing allocations, which slows Python code: for the memory pass only."""
        if not tracemalloc.is_tracing():
            tracemalloc.start()
            self._is_tracing = True
        tracemalloc.reset_peak()
        self._before_bytes = tracemalloc.get_traced_memory()[0]

    def peak_memory_bytes(self) -> int | None:
        """Return by how much the memory of Python and NumPy rose since the reset, and stop tracing."""
        if not tracemalloc.is_tracing():
            return None
        peak_bytes = tracemalloc.get_traced_memory()[1]
        self.empty_cache()
        return peak_bytes - self._before_bytes

    def empty_cache(self) -> None:
        """Stop the tracing that a memory pass began; NumPy itself caches nothing."""
        if self._is_tracing:
            tracemalloc.stop()
            self._is_tracing = False

    def describe(self) -> dict[str, str]:
        """Return NumPy's version, vector instructions, BLAS library and threads, and the installed compilers."""
        return host.configuration() | host.versions("numba", "numexpr")


framework = Numpy()
