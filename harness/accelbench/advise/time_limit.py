"""A limit on the time of a search or an explanation, which ends it as Ctrl-C does."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable
from types import TracebackType
from typing import TypeVar

LONGEST = 1.15  # times the budget of a question about a program, after which what is under way is not waited for

T = TypeVar("T")


class TimeLimit:
    """Interrupts the main thread by SIGINT when its seconds are over. In another thread it does nothing.

    A command that a shell script starts in the background ignores SIGINT; within the limit it does not. ``is_over``
    tells this interruption from a user's own. A ``try`` stands around the ``with``, as in `call`: where no time is
    left, the interruption comes before the block, and where the block ends just in time, right after it.
    """

    def __init__(self, seconds: float) -> None:
        self.is_over = False
        self._ignores = False
        self._main = threading.main_thread()
        self._timer = threading.Timer(max(0.0, seconds), self._end)
        self._timer.daemon = True

    def __enter__(self) -> TimeLimit:
        if threading.current_thread() is self._main:
            self._ignores = signal.getsignal(signal.SIGINT) is signal.SIG_IGN
            if self._ignores:
                signal.signal(signal.SIGINT, signal.default_int_handler)
            self._timer.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            self._timer.cancel()
            if self._timer.is_alive():
                self._timer.join()  # it may be interrupting just now, and does not later
        finally:
            if self._ignores:
                signal.signal(signal.SIGINT, signal.SIG_IGN)

    def call(self, function: Callable[[], T]) -> T | None:
        """Return what a function returns, None where its time is over.

        Raises:
            KeyboardInterrupt: a user's own interruption.
        """
        try:
            with self:
                return function()
        except KeyboardInterrupt:
            if not self.is_over:
                raise
        return None

    def _end(self) -> None:
        self.is_over = True
        signal.pthread_kill(int(self._main.ident or 0), signal.SIGINT)  # wakes it from a wait for a worker
