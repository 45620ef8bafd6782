"""The state of the machine around a visit, beside the best that was ever seen on it.

What is read takes some milliseconds and needs no framework: the latency between two cores, and the time of a piece of
arithmetic. The best readings of all sessions lie in the cache folder.
"""

from __future__ import annotations

import platform
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass

import msgspec
import numpy as np

from accelbench.files import cache_folder, write_atomically
from accelbench.measuring import interference
from accelbench.measuring.core_latency import CoreLatency
from accelbench.schema.reasons import Reason, reason
from accelbench.schema.result import Visit

FAR_TIMES = 1.6  # virtual cores that lie apart took 1.8 to 2 times as long, the same pair varied by a tenth
SLOW_TIMES = 1.25  # on an idle virtual machine, 95 % of the arithmetic took less than 1.1 times its shortest


@dataclass(frozen=True, kw_only=True)
class MachineState:
    """Readings of one moment in seconds, None where nothing can be read."""

    core_latency_s: float | None = None
    arithmetic_s: float | None = None


class StateReader:
    """Reads the machine's state, and remembers the ``best`` of it; ``machine`` is its key."""

    def __init__(self, machine: str, read: Callable[[], MachineState]) -> None:
        self._read = read
        self._file = cache_folder() / "best" / machine / f"{platform.python_version()}-numpy-{np.__version__}.json"
        self.best = MachineState()
        with suppress(OSError, msgspec.MsgspecError):
            self.best = msgspec.json.decode(self._file.read_bytes(), type=MachineState)

    def read(self) -> MachineState:
        """Return the state now."""
        state = self._read()
        best = MachineState(
            core_latency_s=_least(state.core_latency_s, self.best.core_latency_s),
            arithmetic_s=_least(state.arithmetic_s, self.best.arithmetic_s),
        )
        if best != self.best:
            self.best = best
            with suppress(OSError):
                self._file.parent.mkdir(parents=True, exist_ok=True)
                write_atomically(self._file, msgspec.json.encode(best))
        return state

    def visit(self, begun_s: float, before: MachineState, after: MachineState) -> Visit:
        """Return the visit between two readings."""
        latency_s = _greatest(before.core_latency_s, after.core_latency_s)
        arithmetic_s = _greatest(before.arithmetic_s, after.arithmetic_s)
        best_s = self.best.arithmetic_s
        slowdown = arithmetic_s / best_s if arithmetic_s and best_s else None
        return Visit(
            begun_s=begun_s,
            core_latency_s=latency_s,
            slowdown=slowdown,
            odd=list(self._find_odd(latency_s, slowdown)),
        )

    def _find_odd(self, latency_s: float | None, slowdown: float | None) -> Iterator[Reason]:
        best_s = self.best.core_latency_s
        if latency_s and best_s and latency_s > FAR_TIMES * best_s:
            yield reason("cores-far-apart", latency_s=latency_s, best_s=best_s)
        if slowdown and slowdown > SLOW_TIMES:
            yield reason("slower-than-ever", times=slowdown)


def reader_of_cores(latency: CoreLatency) -> Callable[[], MachineState]:
    """Return a function that reads this machine's state."""

    def read() -> MachineState:
        return MachineState(core_latency_s=latency.read_s(), arithmetic_s=interference.reference().arithmetic_s())

    return read


def _least(some_s: float | None, other_s: float | None) -> float | None:
    return min((each for each in (some_s, other_s) if each), default=None)


def _greatest(some_s: float | None, other_s: float | None) -> float | None:
    return max((each for each in (some_s, other_s) if each), default=None)
