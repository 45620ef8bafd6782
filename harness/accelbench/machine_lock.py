"""A lock that allows one session at a time to measure on a machine, since two would disturb each other."""

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

from accelbench.errors import BadInput
from accelbench.files import cache_folder

POLL_S = 1.0


def lock_machine(*, wait: bool, say: Callable[[str], None]) -> BaseFileLock | None:
    """Lock the machine for this process; the operating system releases the lock when the process ends, however it ends.

    ``say`` receives a line about the process that it waits for, or the reason why the machine cannot be locked.

    Raises:
        BadInput: another process has the lock, and ``wait`` is false.
    """
    node = re.sub(r"[^\w.-]+", "-", platform.node())  # a home folder may be shared between machines
    file = cache_folder() / f"measuring-on-{node}.lock"
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        lock = FileLock(file)
        _take(lock, file.with_suffix(".json"), wait, say)
        return lock
    except OSError as error:
        say(f"accelbench: {file}: cannot be locked ({error.strerror}); another run at the same time would go unnoticed")
        return None


@contextmanager
def hold_machine(say: Callable[[str], None]) -> Iterator[None]:
    """Wait until no other run is measuring, and hold the machine's lock within the context."""
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
                f"this machine is busy: {_describe(holder)} is measuring; let it end, or wait with --accel-wait"
            ) from None
        say(f"accelbench: waiting for {_describe(holder)}")
        lock.acquire(poll_interval=POLL_S)
    facts = {"pid": os.getpid(), "since": f"{datetime.now():%H:%M}", "command": shlex.join(sys.argv)}
    with suppress(OSError):  # the lock works without the description
        holder.write_text(json.dumps(facts))


def _describe(holder: Path) -> str:
    with suppress(OSError, ValueError, KeyError):
        facts = json.loads(holder.read_text())
        return f"process {facts['pid']} (since {facts['since']}: {facts['command']})"
    return "another process"
