"""A fake asynchronous device and its clock, which make the referee's tests deterministic."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Collection
from dataclasses import replace
from typing import Any
from weakref import WeakValueDictionary

import numpy as np

from accelbench.frameworks import host
from accelbench.frameworks.host import ArrayInfo
from accelbench.frameworks.protocol import Device, DeviceSpan, Framework

FLUSH_S = 30e-6  # the time of a flush of its cache


_CLOCKS: WeakValueDictionary[int, FakeClock] = WeakValueDictionary()


def _find_clock(number: int) -> FakeClock:
    return _CLOCKS[number]


class FakeClock:
    """A clock that moves only by ``advance``. What is copied by value goes by the same clock."""

    def __init__(self) -> None:
        self._now_s = 0.0
        _CLOCKS[id(self)] = self

    def __reduce__(self) -> tuple[Callable[[int], FakeClock], tuple[int]]:
        """Return how the clock itself is found again."""
        return _find_clock, (id(self),)

    def __call__(self) -> float:
        """Return the time in seconds."""
        return self._now_s

    def advance(self, seconds: float) -> None:
        """Let time pass."""
        self._now_s += seconds


class OnDevice(np.ndarray):
    """An array that lies on the fake device."""


class FakeDevice(Framework):
    """A device that works through a queue while the host goes on, as a GPU does.

    ``launch_s`` is the cost of a launch for the host, which waits while ``queue_length`` launches are queued, unless
    that is 0. ``noise`` returns the factor by which the next piece of work takes longer than asked, such as
    ``lambda: random.lognormvariate(0, 0.02)``. ``peak_bytes`` is its allocator's peak, ``asleep_s`` the cost of its
    first use, ``events_s`` that of two events.
    """

    name = "fake"

    def __init__(
        self,
        clock: FakeClock | None = None,
        *,
        launch_s: float = 5e-6,
        noise: Callable[[], float] = lambda: 1.0,
        queue_length: int = 0,
    ) -> None:
        self.clock = clock or FakeClock()
        self._launch_s = launch_s
        self._queue_length = queue_length
        self._begin_s: deque[float] = deque()  # of the latest launches, when the device begins each
        self._noise = noise
        self.peak_bytes: int | None = None
        self.asleep_s = 0.0
        self.events_s = 0.0
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

    def array_info(self, array: Any) -> ArrayInfo | None:
        """Describe an array: NumPy's lie on the host, those of :meth:`array` on the device."""
        info = host.array_info(array)
        return replace(info, device="fake:0") if info and isinstance(array, OnDevice) else info

    def kernels(self, run: Callable[[], object]) -> int | None:
        """Return how many launches ``run`` makes."""
        before = self._launches
        run()
        return self._launches - before

    def time_on_device(self, run: Callable[[], object], *, device: str, held_s: float) -> DeviceSpan | None:
        """Time what ``run`` launches by when the current stream reaches it and its end."""
        if device not in self.accelerators():
            return None
        begin_s = self._busy_until_s = max(self._busy_until_s, self.clock()) + held_s
        run()
        queued = self.clock() < begin_s
        end_s = max(self._busy_until_s, self.clock())
        self._wait(end_s)
        return DeviceSpan(device_s=end_s - begin_s + self.events_s, queued=queued)

    def compilations(self) -> int:
        """Return how often :meth:`compile` was called."""
        return self._compilations

    def is_too_large(self, error: BaseException, *, smaller_ran: bool) -> bool:
        """Return whether an array was too large, by a message that says so or by one that may mean other things too."""
        return isinstance(error, OverflowError) or (smaller_ran and "not supported" in str(error))

    def peak_memory_bytes(self) -> int | None:
        """Return the peak that a test has set."""
        return self.peak_bytes

    def cache_flush(self) -> Callable[[], object]:
        """Return a function that keeps the device busy for the time of a flush."""
        return lambda: self.launch(FLUSH_S)

    def warm_up(self, devices: Collection[str] = ("fake:0",)) -> None:
        """Pay for the start of the device, once, if it is among them."""
        if not devices:
            return
        self.clock.advance(self.asleep_s)
        self.asleep_s = 0.0

    def accelerators(self) -> tuple[str, ...]:
        """Return the one fake device."""
        return ("fake:0",)

    def gpu_uuids(self) -> dict[str, str]:
        """Return the UUID by which a driver would know it."""
        return {"fake:0": "fa4e"}

    def devices(self) -> tuple[Device, ...]:
        """Return the one fake device."""
        return (Device(label="fake:0", name="a queue and a clock"),)

    def describe(self) -> dict[str, str]:
        """Return that this is not a real device."""
        return {"fake.device": "a queue and a clock"}

    def _queued(self, until_s: float, seconds: float) -> float:
        """Launch work on a stream that is busy until then, and return until when it is now."""
        self.warm_up()
        self._launches += 1
        self.clock.advance(self._launch_s)
        if self._queue_length and len(self._begin_s) >= self._queue_length:
            self._wait(self._begin_s.popleft())
        self._begin_s.append(max(until_s, self.clock()))
        return self._begin_s[-1] + seconds * self._noise()

    def _wait(self, until_s: float) -> None:
        self.clock.advance(max(0.0, until_s - self.clock()))
