"""Peak of resident memory during one call, in a pass of its own."""

from __future__ import annotations

import ctypes
import gc
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import psutil

_PROCESS = Path("/proc/self")
_RESET_PEAK = "5"  # what proc(5) says to write to clear_refs so that VmHWM starts over
_SAMPLING_S = 0.002


def peak_rss_rise(call: Callable[[], object]) -> int | None:
    """Return by how many bytes resident memory rose above its start at the highest point of ``call``.

    The kernel's own high-water mark where it can be reset, else samples, which may miss a short peak; None where the
    system tells neither. Memory of child processes is not in it.
    """
    gc.collect()
    _give_free_memory_back()
    if _reset_high_water():
        before_bytes = _status_bytes("VmRSS")
        call()
        return max(0, _status_bytes("VmHWM") - before_bytes)
    with _sampled() as rises:
        call()
    return max(rises, default=None)


def _give_free_memory_back() -> None:
    """Return the heap's free pages to the system, or memory freed earlier would hide a rise. Only glibc can."""
    with suppress(OSError, AttributeError, TypeError):
        ctypes.CDLL(None).malloc_trim(0)


def _reset_high_water() -> bool:
    try:
        (_PROCESS / "clear_refs").write_text(_RESET_PEAK)
        return _status_bytes("VmHWM") > 0
    except OSError:
        return False


def _status_bytes(field: str) -> int:
    for line in (_PROCESS / "status").read_text().splitlines():
        if line.startswith(f"{field}:"):
            return int(line.split()[1]) * 1024
    return 0


@contextmanager
def _sampled() -> Iterator[list[int]]:
    """Fill the list with rises of resident memory, in bytes, until the context is left."""
    rises: list[int] = []
    done = threading.Event()
    process = psutil.Process()

    def resident_bytes() -> int:
        return int(process.memory_info().rss)

    def watch() -> None:
        while not done.wait(_SAMPLING_S):
            rises.append(max(0, resident_bytes() - before_bytes))

    try:
        before_bytes = resident_bytes()
    except psutil.Error:
        yield rises
        return
    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    try:
        yield rises
    finally:
        done.set()
        watcher.join()
        rises.append(max(0, resident_bytes() - before_bytes))
