"""This process and its descendants, such as the processes of a data loader."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress

import psutil


def members() -> list[psutil.Process]:
    """Return this process and all of its descendants that live at this moment."""
    process = psutil.Process()
    with suppress(psutil.Error):
        return [process, *process.children(recursive=True)]
    return [process]


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
