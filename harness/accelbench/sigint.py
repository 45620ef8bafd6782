"""Requests to stop: Ctrl-C and SIGTERM are one request, and two of them in quick succession count as one."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

TOGETHER_S = 1.0  # two signals within this time are one request


@contextmanager
def stop_once(*, clock: Callable[[], float] = time.monotonic) -> Iterator[None]:
    """Let SIGTERM interrupt like Ctrl-C, so that what was measured is saved; ignore a second signal within a second.

    The second one would interrupt the saving after the first. `timeout` sends two: one to the process, then one to its
    group. A signal that the process ignores, and a SIGTERM that it handles, stay as they are.
    """
    on_ctrl_c, on_sigterm = signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)
    last_s = -TOGETHER_S

    def stop(number: int, frame: FrameType | None) -> None:
        nonlocal last_s
        now_s = clock()
        is_repeated, last_s = now_s - last_s < TOGETHER_S, now_s
        if is_repeated:
            return
        if number == signal.SIGINT and callable(on_ctrl_c):
            on_ctrl_c(number, frame)
        else:
            raise KeyboardInterrupt

    replaced: dict[int, Any] = {signal.SIGINT: on_ctrl_c} if callable(on_ctrl_c) else {}
    replaced |= {signal.SIGTERM: on_sigterm} if on_sigterm == signal.SIG_DFL else {}
    if threading.current_thread() is not threading.main_thread():
        replaced = {}
    for number in replaced:
        signal.signal(number, stop)
    try:
        yield
    finally:
        for number, before in replaced.items():
            signal.signal(number, before)


def leave_ctrl_c_to_the_parent() -> None:
    """Do nothing on SIGINT from now on; other programs that this process starts do as they always would."""
    signal.signal(signal.SIGINT, _do_nothing)


def _do_nothing(number: int, frame: FrameType | None) -> None:
    """Handle a signal by a function: programs that are started would inherit that a signal is ignored."""


def is_ctrl_c(error: BaseException) -> bool:
    """Return whether an exception is the user's Ctrl-C, and not one that the code under test raises.

    A process that leaves Ctrl-C to its parent, or ignores it, never meets one.
    """
    meets_it = signal.getsignal(signal.SIGINT) not in (_do_nothing, signal.SIG_IGN)
    return isinstance(error, KeyboardInterrupt) and meets_it
