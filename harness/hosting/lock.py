"""One measuring session at a time on a machine: two would measure each other."""

from __future__ import annotations

import json
import os
import platform
import re
import shlex
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import datetime
from pathlib import Path

from filelock import BaseFileLock, FileLock, Timeout

from harness.cache import cache_folder
from harness.errors import BadInput

POLL_S = 1.0


def lock_machine(*, wait: bool, say: Callable[[str], None]) -> BaseFileLock | None:
    """Take the machine for this process; the system lets go of it when the process ends, however it ends.

    ``say`` is told whom it waits for, and why the machine can be taken by another where that cannot be prevented.

    Raises:
        BadInput: another process has it, and ``wait`` is false.
    """
    node = re.sub(r"[^\w.-]+", "-", platform.node())  # a home folder may be shared between machines
    file = cache_folder() / f"measuring-on-{node}.lock"
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        lock = FileLock(file)
        _take(lock, file.with_suffix(".json"), wait, say)
        return lock
    except OSError as error:
        say(f"accelbench: {file}: cannot be locked ({error.strerror}); another run at the same time goes unnoticed")
        return None


@contextmanager
def alone(say: Callable[[str], None]) -> Iterator[None]:
    """Hold the machine, so that no run is measured meanwhile; wait for one that is."""
    lock = lock_machine(wait=True, say=say)
    try:
        yield
    finally:
        if lock is not None:
            lock.release()


def _take(lock: BaseFileLock, holder: Path, wait: bool, say: Callable[[str], None]) -> None:
    try:
        lock.acquire(timeout=0)
    except Timeout:
        if not wait:
            raise BadInput(
                f"this machine is taken: {_described(holder)} is measuring; let it end, or wait with --accel-wait"
            ) from None
        say(f"accelbench: waiting for {_described(holder)}")
        lock.acquire(poll_interval=POLL_S)
    facts = {"pid": os.getpid(), "since": f"{datetime.now():%H:%M}", "command": shlex.join(sys.argv)}
    with suppress(OSError):  # the lock holds without a name too
        holder.write_text(json.dumps(facts))


def _described(holder: Path) -> str:
    with suppress(OSError, ValueError, KeyError):
        facts = json.loads(holder.read_text())
        return f"process {facts['pid']} (since {facts['since']}: {facts['command']})"
    return "another process"
