"""This process and its descendants, such as the processes of a data loader."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

import psutil


def members() -> list[psutil.Process]:
    """Return this process and all of its descendants that live at this moment."""
    process = psutil.Process()
    with suppress(psutil.Error):
        return [process, *_descendants(process)]
    return [process]


def _descendants(process: psutil.Process) -> list[psutil.Process]:
    try:
        found = _descendant_ids(process.pid)
    except OSError:  # another system, or a kernel that lists no children: look through all processes of the machine
        return process.children(recursive=True)
    return [member for member in map(_living, found) if member is not None]


def _descendant_ids(pid: int) -> list[int]:
    """Return what the kernel lists under each thread, proc(5), which costs little however many processes there are."""
    listed = [(thread / "children").read_text().split() for thread in Path(f"/proc/{pid}/task").iterdir()]
    children = [int(child) for thread in listed for child in thread]
    for child in list(children):
        with suppress(OSError):  # it has just ended
            children += _descendant_ids(child)
    return children


def _living(pid: int) -> psutil.Process | None:
    with suppress(psutil.Error):
        return psutil.Process(pid)
    return None


def cpu_s(family: Iterable[psutil.Process]) -> float:
    """Return the CPU time of these processes and of their children that have ended."""
    return sum(_cpu_s(member) for member in family)


def rss_bytes(family: Iterable[psutil.Process]) -> int:
    """Return the resident memory of these processes; a page that several share counts once for each of them."""
    return sum(_rss_bytes(member) for member in family)


def _cpu_s(process: psutil.Process) -> float:
    with suppress(psutil.Error):
        times = process.cpu_times()
        return float(times.user + times.system + times.children_user + times.children_system)
    return 0.0


def _rss_bytes(process: psutil.Process) -> int:
    with suppress(psutil.Error):
        return int(process.memory_info().rss)
    return 0
