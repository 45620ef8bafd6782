"""Ctrl-C that comes twice at once counts once."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

AT_ONCE_S = 1.0


@contextmanager
def one_ctrl_c(*, clock: Callable[[], float] = time.monotonic) -> Iterator[None]:
    """Ignore a Ctrl-C within a second of another one, which would break into the saving that the first one began.

    `timeout --signal=INT` sends two: to the process, and then to its group.
    """
    before = signal.getsignal(signal.SIGINT)
    if not callable(before) or threading.current_thread() is not threading.main_thread():
        yield
        return
    last_s = -AT_ONCE_S

    def interrupt(number: int, frame: FrameType | None) -> None:
        nonlocal last_s
        now_s = clock()
        again, last_s = now_s - last_s < AT_ONCE_S, now_s
        if not again:
            before(number, frame)

    signal.signal(signal.SIGINT, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
