"""A fake asynchronous device and its clock: what the engine's tests are driven with."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from typing import Any

import numpy as np

from harness.frameworks import host
from harness.frameworks.protocol import Device, DeviceSpan, Index, Leaf

FLUSH_S = 30e-6  # what writing over its cache takes the fake device


class FakeClock:
    """A clock that moves when it is told to."""

    def __init__(self) -> None:
        self._now_s = 0.0

    def __call__(self) -> float:
        """Return the time in seconds."""
        return self._now_s

    def advance(self, seconds: float) -> None:
        """Let time pass."""
        self._now_s += seconds


class OnDevice(np.ndarray):
    """An array that lies on the fake device."""


class FakeDevice:
    """A device that works through a queue while the host goes on, as a GPU does.

    ``launch_s`` is what a launch costs the host. ``noise`` returns the factor by which the next piece of work takes
    longer than asked, such as ``lambda: random.lognormvariate(0, 0.02)``. ``peak_bytes`` is what its allocator says,
    ``asleep_s`` what its first use will cost.
    """

    name = "fake"

    def __init__(
        self, clock: FakeClock | None = None, *, launch_s: float = 5e-6, noise: Callable[[], float] = lambda: 1.0
    ) -> None:
        self.clock = clock or FakeClock()
        self._launch_s = launch_s
        self._noise = noise
        self.peak_bytes: int | None = None
        self.asleep_s = 0.0
        self._busy_until_s = 0.0
        self._beside_until_s = 0.0
        self._unseen_until_s = 0.0
        self._launches = 0
        self._compilations = 0

    def launch(self, seconds: float) -> None:
        """Queue work that takes the device that long, and return before it is done."""
        self._busy_until_s = self._queued(self._busy_until_s, seconds)

    def launch_beside(self, seconds: float) -> None:
        """Queue work on another stream, which ``synchronize`` waits for as for any, and the current stream does not."""
        self._beside_until_s = self._queued(self._beside_until_s, seconds)

    def launch_unseen(self, seconds: float) -> None:
        """Queue work beside, for which only a copy to the host waits: a stream that nobody synchronises."""
        self._unseen_until_s = self._queued(self._unseen_until_s, seconds)

    def compile(self, seconds: float) -> None:
        """Let the host compile a graph for that long."""
        self._compilations += 1
        self.clock.advance(seconds)

    def array(self, values: Any) -> OnDevice:
        """Return an array that lies on the device."""
        return np.array(values).view(OnDevice)

    def synchronize(self) -> None:
        """Let time pass until all streams but the unseen one are empty."""
        self._wait(max(self._busy_until_s, self._beside_until_s))

    def to_host(self, output: Any) -> list[np.ndarray]:
        """Wait for everything, as a copy from a device does, and return the arrays in ``output`` in float64."""
        self._wait(max(self._busy_until_s, self._beside_until_s, self._unseen_until_s))
        return host.arrays(output)

    def leaf(self, array: Any) -> Leaf | None:
        """Describe an array: one of NumPy's lies on the host, one of :meth:`array` on the device."""
        found = host.leaf(array)
        return replace(found, device="fake:0") if found and isinstance(array, OnDevice) else found

    def item(self, array: Any, index: Index) -> Any:
        """Return a copy of one item."""
        return host.item(array, index)

    def put(self, array: Any, index: Index, values: Any) -> Any:
        """Write an item in place, or into a copy of a read-only array."""
        return host.put(array, index, values)

    def kernels(self, run: Callable[[], object]) -> int | None:
        """Return how many launches ``run`` makes."""
        before = self._launches
        run()
        return self._launches - before

    def device_span(self, run: Callable[[], object], *, device: str, held_s: float) -> DeviceSpan | None:
        """Time what ``run`` launches by when the current stream reaches it and its end."""
        if device not in self.accelerators():
            return None
        begin_s = self._busy_until_s = max(self._busy_until_s, self.clock()) + held_s
        run()
        queued = self.clock() < begin_s
        end_s = max(self._busy_until_s, self.clock())
        self._wait(end_s)
        return DeviceSpan(device_s=end_s - begin_s, queued=queued)

    def compilations(self) -> int:
        """Return how often :meth:`compile` was called."""
        return self._compilations

    def is_out_of_memory(self, error: BaseException) -> bool:
        """Say whether the error is a MemoryError."""
        return isinstance(error, MemoryError)

    def reset_peak_memory(self) -> None:
        """Keep no peak."""

    def peak_memory_bytes(self) -> int | None:
        """Return the peak that a test has set."""
        return self.peak_bytes

    def free(self) -> None:
        """Give nothing back: the device caches nothing."""

    def cache_flush(self) -> Callable[[], object]:
        """Return what keeps the device busy for a while."""
        return lambda: self.launch(FLUSH_S)

    def wake(self) -> None:
        """Pay for the start of the device, if nobody did."""
        self.clock.advance(self.asleep_s)
        self.asleep_s = 0.0

    def seed(self, seed: int) -> None:
        """Seed Python's and NumPy's global generators."""
        host.seed(seed)

    def full_float32(self) -> AbstractContextManager[None]:
        """Change nothing: float32 is computed in float32."""
        return nullcontext()

    def accelerators(self) -> tuple[str, ...]:
        """Return the one fake device."""
        return ("fake:0",)

    def devices(self) -> tuple[Device, ...]:
        """Return the one fake device."""
        return (Device(label="fake:0", name="a queue and a clock"),)

    def describe(self) -> dict[str, str]:
        """Return that this is not a real device."""
        return {"fake.device": "a queue and a clock"}

    def _queued(self, until_s: float, seconds: float) -> float:
        """Launch work on a stream that is busy until then, and return until when it is now."""
        self.wake()
        self._launches += 1
        self.clock.advance(self._launch_s)
        return max(until_s, self.clock()) + seconds * self._noise()

    def _wait(self, until_s: float) -> None:
        self.clock.advance(max(0.0, until_s - self.clock()))


framework = FakeDevice()
